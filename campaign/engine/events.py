"""What a run tells whoever watches it."""

from collections.abc import Callable
from dataclasses import dataclass

from hypotheses.hypothesis import Standing
from hypotheses.observation import Counts
from hypotheses.verdict import Verdict


@dataclass(frozen=True)
class BootStarted:
    """`position` counts from 1, to `total` where that is known; `run` is None on the way back."""

    position: int
    total: int | None
    title: str
    run: str | None


@dataclass(frozen=True)
class StepStarted:
    position: int
    name: str
    kind: str


@dataclass(frozen=True)
class StepEnded:
    """`status`: completed, failed or aborted."""

    position: int
    name: str
    status: str
    seconds: float
    detail: str


@dataclass(frozen=True)
class TrialsSeen:
    counts: Counts


@dataclass(frozen=True)
class VerdictGiven:
    run: str
    playbook: str
    hypothesis: str | None
    verdict: Verdict


@dataclass(frozen=True)
class StandingMoved:
    """`run` is the one whose end has moved it; empty where something else has."""

    hypothesis: str
    before: Standing
    after: Standing
    reason: str
    run: str = ""


@dataclass(frozen=True)
class Note:
    """Something a person should read; `warn` marks what they should not miss."""

    text: str
    warn: bool = False


Event = BootStarted | StepStarted | StepEnded | TrialsSeen | VerdictGiven | StandingMoved | Note
Emit = Callable[[Event], None]
