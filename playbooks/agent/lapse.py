"""What an agent did by itself, once the lease of its operator was over."""

from typing import Any, Dict, NamedTuple, Optional, Tuple


class Cycle(NamedTuple):
    """The restart that it took; by service what came of stopping, starting and waiting for it.

    Times are seconds since the epoch. `failed` says what kept it from a good end.
    """

    services: Tuple[str, ...]
    requested_at: float
    stopped: Dict[str, Any]
    started: Dict[str, Any]
    healthy: Dict[str, Any]
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
    cycle: Optional[Cycle] = None

    def as_json(self) -> Dict[str, Any]:
        return {**self._asdict(), "cycle": self.cycle and self.cycle._asdict()}


def from_json(fields: Dict[str, Any]) -> Lapse:
    """A lapse from its JSON."""
    cycle = fields["cycle"] and Cycle(**fields["cycle"])
    made = Lapse(**{**fields, "cycle": cycle and cycle._replace(services=tuple(cycle.services))})
    return made._replace(restored=tuple(made.restored), undone=tuple(made.undone))
