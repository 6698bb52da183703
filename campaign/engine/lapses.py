"""What hosts did by themselves, once the lease of their operator was over."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from campaign.engine.lived import Lived
from playbooks.hosts.files import PutBack
from playbooks.hosts.lapse import Lapse


class HostLapse(Struct, frozen=True):
    """A lapse, and on which host."""

    host: str
    lapse: Lapse


def with_lapses(result: PutBack, lapses: Sequence[Lapse]) -> PutBack:
    """What putting back came to, with what the host had put back before."""
    return replace(
        result,
        restored=(*(path for one in lapses for path in one.restored), *result.restored),
        undone=(*(command for one in lapses for command in one.undone), *result.undone),
    )


def lived_by(lapses: Sequence[HostLapse]) -> Iterator[Lived]:
    """The restart cycles of hosts that put themselves back."""
    for one in lapses:
        cycle = one.lapse.cycle
        if cycle is not None:
            yield Lived(
                services=cycle.services,
                chains=(),
                requested_at=cycle.requested_at,
                down_at=cycle.requested_at,
                ended_at=one.lapse.ended_at,
                stopped=dict(cycle.stopped),
                started=dict(cycle.started),
                healthy=dict(cycle.healthy),
            )
