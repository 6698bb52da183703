"""A run as it happens: a live line on a terminal, plain lines otherwise; always on stderr."""

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING

from campaign.cli.text import seconds, shown, tell
from campaign.engine.events import (
    BootStarted,
    Event,
    Note,
    StandingMoved,
    StepEnded,
    StepStarted,
    TrialsSeen,
    VerdictGiven,
)
from hypotheses.rates import rate_text

if TYPE_CHECKING:
    from rich.live import Live

MARKS = {"completed": "ok", "failed": "FAILED", "aborted": "aborted"}


class Progress:
    """Prints the events of a run. On a terminal the step under way is a line that moves."""

    def __init__(self) -> None:
        self._live: Live | None = None
        self._step = ""
        self._started = 0.0
        self._counts = ""

    def __enter__(self) -> "Progress":
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            console = Console(file=sys.stderr, highlight=False)
            self._live = Live(
                get_renderable=self._moving, console=console, transient=True, refresh_per_second=8
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            with suppress(OSError):
                self._live.stop()
            self._live = None

    def __call__(self, event: Event) -> None:
        match event:
            case BootStarted():
                run = f"  {event.run}" if event.run else ""
                of = f"/{event.total}" if event.total is not None else ""
                self.line(f"\n[{event.position}{of}] {event.title}{run}")
            case StepStarted():
                self._step, self._started = f"{event.position:>3}  {event.name}", time.monotonic()
                self._counts = ""
            case TrialsSeen():
                self._counts = f"  failed {rate_text(event.counts)}"
            case StepEnded():
                self._ended(event)
            case VerdictGiven():
                self._verdict(event)
            case StandingMoved():
                by = f"  (after {event.run})" if event.run else ""
                moved = f"{event.hypothesis}: {event.before} -> {event.after}"
                self.line(f"     {moved}; {event.reason}{by}")
            case Note():
                self.line(f"     {'! ' if event.warn else ''}{event.text}")

    def line(self, text: str) -> None:
        """One line of its own, above the moving one. A terminal that is gone stops no run."""
        if self._live is None:
            tell(shown(text))
            return
        from rich.text import Text

        with suppress(OSError):
            self._live.console.print(Text(shown(text)), soft_wrap=True)

    def _ended(self, event: StepEnded) -> None:
        self._step = ""
        mark = MARKS[event.status]
        detail = f"  {event.detail}" if event.detail else ""
        self.line(f"{event.position:>3}  {event.name}  {mark}  {seconds(event.seconds)}{detail}")

    def _verdict(self, event: VerdictGiven) -> None:
        about = f" ({event.hypothesis})" if event.hypothesis else ""
        self.line(f"     verdict{about}: {event.verdict}")
        for reason in event.verdict.reasons:
            self.line(f"       - {reason}")
        if event.verdict.still_needed:
            self.line(f"       still needed: {event.verdict.still_needed}")

    def _moving(self) -> str:
        if not self._step:
            return ""
        return shown(f"{self._step}  {seconds(time.monotonic() - self._started)}{self._counts}")
