"""What a run tells whoever watches it."""

from collections.abc import Callable

from msgspec import Struct

from hypotheses.hypothesis import Standing
from hypotheses.observation import Counts
from hypotheses.verdict import Verdict


class BootStarted(Struct, frozen=True):
    """`position` counts from 1, to `total` where that is known; `run` is None on the way back."""

    position: int
    total: int | None
    title: str
    run: str | None


class StepStarted(Struct, frozen=True):
    position: int
    name: str
    kind: str


class StepEnded(Struct, frozen=True):
    """`status`: completed, failed or aborted."""

    position: int
    name: str
    status: str
    seconds: float
    detail: str


class TrialsSeen(Struct, frozen=True):
    counts: Counts


class VerdictGiven(Struct, frozen=True):
    run: str
    playbook: str
    hypothesis: str | None
    verdict: Verdict


class StandingMoved(Struct, frozen=True):
    """`run` is the one whose end has moved it; empty where something else has."""

    hypothesis: str
    before: Standing
    after: Standing
    reason: str
    run: str = ""


class Note(Struct, frozen=True):
    """Something a person should read; `warn` marks what they should not miss."""

    text: str
    warn: bool = False


Event = BootStarted | StepStarted | StepEnded | TrialsSeen | VerdictGiven | StandingMoved | Note
Emit = Callable[[Event], None]
