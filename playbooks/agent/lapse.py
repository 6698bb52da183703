"""What an agent did by itself, once the lease of its operator was over."""

from typing import Any, Dict, NamedTuple, Optional, Tuple


class Cycle(NamedTuple):
    """A restart that it took; by service what came of stopping, starting and waiting for it.

    Times are seconds since the epoch. `batch` is which one of a rollout it was, if any; `failed`
    says what kept it from a good end.
    """

    services: Tuple[str, ...]
    requested_at: float
    stopped: Dict[str, Any]
    started: Dict[str, Any]
    healthy: Dict[str, Any]
    batch: Optional[int] = None
    failed: str = ""


class Lapse(NamedTuple):
    """Kept in the journal until an operator has learnt of it.

    `agent` is the pid of the agent that put back the changes of `run` by `who`, heard last at
    `heard_at`; `ended_at` is None where it did not get to its end. Seconds since the epoch.
    """

    agent: int
    run: str
    who: str
    heard_at: float
    began_at: float
    ended_at: Optional[float] = None
    restored: Tuple[str, ...] = ()
    undone: Tuple[str, ...] = ()
    cycles: Tuple[Cycle, ...] = ()

    def as_json(self) -> Dict[str, Any]:
        return {**self._asdict(), "cycles": [one._asdict() for one in self.cycles]}


def from_json(fields: Dict[str, Any]) -> Lapse:
    """A lapse from its JSON."""
    cycles = (Cycle(**one) for one in fields["cycles"])
    made = Lapse(**{**fields, "cycles": ()})
    return made._replace(
        restored=tuple(made.restored),
        undone=tuple(made.undone),
        cycles=tuple(one._replace(services=tuple(one.services)) for one in cycles),
    )
