"""How long the services' restarts took in other campaigns, for a ledger that has none yet."""

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from msgspec import Struct

from campaign.errors import CampaignError, Exit
from campaign.ledger.history import RestartTimes
from campaign.ledger.reads import Ledger
from playbooks.system import System


class Elsewhere(Struct, frozen=True):
    """Healthy restarts of exactly `services`, in one cycle: how many, and their mean downtime."""

    services: frozenset[str]
    restarts: int
    downtime_s: float
    ledgers: tuple[Path, ...]

    def __str__(self) -> str:
        times = "a restart" if self.restarts == 1 else f"{self.restarts} restarts"
        found = ", ".join(map(str, self.ledgers))
        names = ", ".join(sorted(self.services))
        return f"{names}: {self.downtime_s:.1f} s down by {times} in {found}"


def elsewhere(system: System, services: Iterable[str], batch: int = 0) -> Elsewhere | None:
    """What restarts of `services` took in the ledgers that `history` names; None: there are none.

    By `batch` replicas at a time; 0: all at once.
    Errors: CampaignError (USAGE where one is not there, REFUSED where it cannot be read).
    """
    wanted = frozenset(services)
    if not wanted:
        return None
    times = ((path, one) for place in system.history for path, one in _times(place, wanted))
    found = [(path, one) for path, one in times if one.batch == batch]
    restarts = sum(_healthy(one) for _, one in found)
    if not restarts:
        return None
    downtime = sum((one.downtime_s or 0.0) * _healthy(one) for _, one in found) / restarts
    return Elsewhere(wanted, restarts, downtime, tuple(dict.fromkeys(path for path, _ in found)))


def _times(place: Path, services: Collection[str]) -> Iterator[tuple[Path, RestartTimes]]:
    path = place / "campaign.db" if place.is_dir() else place
    if not path.exists():
        what = f"campaign.yaml names {place} as history, and there is no ledger"
        raise CampaignError(Exit.USAGE, what, "name a ledger or its workspace, or take it out")
    with Ledger.open(path) as ledger:
        for one in ledger.restart_times():
            if {*one.services.split()} == services and _healthy(one):
                yield path, one


def _healthy(one: RestartTimes) -> int:
    return one.restarts - one.failed
