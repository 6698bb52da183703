"""In which batches an agent without an operator restarts what ran a change, and when.

The journal holds the batches of a rollout over all hosts, but the agents there do not know of each
other. So each leaves those before its own as much time as they may take, from the end of the lease
on: all of them lost their operator, and wait for the same length of time.
"""

from typing import Any, List, NamedTuple, Optional, Sequence

from playbooks.agent import restart
from playbooks.agent.journal import Journal


class Turn(NamedTuple):
    """Services that restart together, at the earliest `after_s` seconds after the lease.

    `batch` counts from 0; None where they are in no batch.
    """

    batch: Optional[int]
    services: Sequence[restart.Known]
    after_s: float = 0.0


def turns(journal: Journal, due: Sequence[restart.Known]) -> List[Turn]:
    """The turns of the services that are `due`: those of no batch, ill ones, then all others.

    A replica that is ill waits for no other, as none must go down while it is.
    """
    batches: List[List[str]] = (journal.specs or {}).get("batches", [])
    placed = {name for batch in batches for name in batch}
    found = [Turn(None, [one for one in due if one.name not in placed])]
    here = {one.name for one in restart.known(journal)}
    longest = max((_may_take(one.said) for one in due), default=0.0)
    for number, batch in enumerate(batches):
        away = [one for one in batches[:number] if not here.issuperset(one)]
        own = [one for one in due if one.name in batch]
        well = all(restart.is_well(one) for one in own)
        found.append(Turn(number, own, longest * len(away) if well else 0.0))
    return sorted((one for one in found if one.services), key=lambda one: one.after_s)


def _may_take(said: Any) -> float:
    """For how long a restart of a service may go on before it has failed, in seconds."""
    health = max((one["timeout_s"] for one in said["health"]), default=0.0)
    ports = restart.PORTS_FREE_S if said["ports"] else 0.0
    return float(said["stop_timeout_s"]) + ports + float(health)
