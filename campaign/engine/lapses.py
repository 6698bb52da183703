"""What hosts did by themselves, once the lease of their operator was over."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from campaign.engine.lived import Lived, joined
from playbooks.hosts.files import PutBack
from playbooks.hosts.lapse import Lapse, LapseCycle
from playbooks.system import Service


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


def lived_by(lapses: Sequence[HostLapse], services: Mapping[str, Service]) -> tuple[Lived, ...]:
    """The restart cycles of hosts that put themselves back, those that ended well as one.

    `services` are those of campaign.yaml: the replicas of one may be on several of the hosts.
    """
    cycles = [
        _lived(cycle, one.lapse.ended_at, services) for one in lapses for cycle in one.lapse.cycles
    ]
    well = [one for one in cycles if one.healthy_at is not None]
    ill = [one for one in cycles if one not in well]
    return (*ill, *([joined(well)] if well else []))


def _lived(cycle: LapseCycle, ended_at: float | None, services: Mapping[str, Service]) -> Lived:
    known = tuple(services[name] for name in cycle.services if name in services)
    chains = (known,) if len(known) == len(cycle.services) else ()
    lived = Lived(
        services=cycle.services,
        chains=chains,
        requested_at=cycle.requested_at,
        down_at=cycle.requested_at,
        ended_at=ended_at,
        stopped=dict(cycle.stopped),
        started=dict(cycle.started),
        healthy=dict(cycle.healthy),
    )
    return lived if cycle.batch is None else replace(lived, batches=(chains,), parts=[lived])
