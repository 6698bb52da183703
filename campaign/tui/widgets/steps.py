"""The steps of a run as they happen, with their times and how they go back."""

import time
from collections.abc import Iterator

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from campaign.cli.text import seconds, shown
from campaign.ledger import records
from campaign.operations.live import Live
from campaign.tui.colours import colour
from campaign.tui.figures import cut
from campaign.tui.widgets.lines import Lines
from campaign.tui.widgets.pane import Pane

MARKS = {
    "running": ("▸", "running", "primary"),
    "completed": ("✓", "ok", "success"),
    "failed": ("✗", "FAILED", "error"),
    "aborted": ("◌", "aborted", "warning"),
}
"""A step's status: glyph, word, and the colour of both."""

_TO_UNDO, _UNDONE, _NO_UNDO = "↶ to undo", "✓ put back", "! no undo"
_UNDO_TINTS = {_TO_UNDO: "primary", _NO_UNDO: "warning"}

_FIXED, _INDENT, _ENOUGH = 34, 13, 30
"""Columns of a line without the step's name; before what came of it; that suffice for that."""


class StepsPane(Pane):
    """The steps of an invocation, boot by boot, the way back last; stays at the newest."""

    HELP = """
The steps of the run, as they happen: what each did and how long it took. The mark before the last
column says how a step goes back: to undo, put back, or no undo. On the way back the undos are steps
of their own, the last change first. Scrolls; the newest step is kept in sight.
"""

    def __init__(self) -> None:
        self.scroll = Lines(id="steps-scroll")
        super().__init__("Steps", self.scroll, id="steps")
        self._live: Live | None = None
        self._follows = True

    def on_mount(self) -> None:
        super().on_mount()
        self.watch(self.scroll, "scroll_y", self._scrolled)
        self.set_interval(0.5, self._tick)

    def show(self, live: Live) -> None:
        """Shows an invocation as it stands now."""
        self._live = live
        self.draw()
        self._stay()

    def _scrolled(self) -> None:
        self._follows = self.scroll.scroll_y >= self.scroll.max_scroll_y

    def _stay(self) -> None:
        """Keeps the newest step in sight, where that was so."""
        if self._follows:
            self.call_after_refresh(self.scroll.scroll_end, animate=False)

    def _tick(self) -> None:
        """The time of the step under way goes on."""
        if self._live is not None and any(one.ended_at is None for one in self._live.steps):
            self.draw()

    def on_resize(self) -> None:
        self._stay()

    def draw(self) -> None:
        """Draws again, at the time it is now."""
        live = self._live
        if live is not None:
            self.entitle(f"Steps ({len(live.steps)})")
            self.scroll.show(lambda: self._boots(live))

    def _boots(self, live: Live) -> Iterator[Text]:
        names = {run.id: run.playbook for run in live.runs}
        for boot in live.boots:
            yield Text(shown(_title(boot, names)), "bold")
            for step in live.steps:
                if step.boot == boot.id:
                    yield from self._lines(live, step)
            if live.pause is not None and live.pause.boot == boot.id:
                tint = colour(self.app, "warning")
                yield Text(f"paused since {_clock(live.pause.began_at)}", tint)

    def _lines(self, live: Live, step: records.Step) -> Iterator[Text]:
        """A step in one line; what came of it in the next, where there is no room for it."""
        width = self.scroll.columns
        line, detail = self._line(live, step, width), shown(step.detail).replace("\n", " ")
        room = width - line.cell_len - 1
        quiet = colour(self.app, "error" if step.status == "failed" else "quiet")
        if cell_len(detail) <= room or room >= _ENOUGH:
            yield Text.assemble(line, " ", (cut(detail, room), quiet))
            return
        yield line
        if not self.screen.has_class("-narrow") or step.status == "failed":
            yield Text(" " * _INDENT + cut(detail, width - _INDENT), quiet)

    def _line(self, live: Live, step: records.Step, width: int) -> Text:
        glyph, word, tint = MARKS.get(step.status, ("?", step.status, ""))
        took = seconds((step.ended_at or time.time()) - step.started_at)
        if live.run.status != "running" and step.ended_at is None:
            glyph, word, tint, took = "?", "cut off", "warning", "-"
        undo = undo_state(live, step)
        room = max(12, min(self._longest(live), width - _FIXED))
        return Text.assemble(
            (f"{step.position:>2} ", colour(self.app, "quiet")),
            (f"{glyph} {word:<8}", colour(self.app, tint)),
            set_cell_size(cut(shown(step.name), room), room),
            f"{took:>9}  ",
            (f"{undo:<10}", colour(self.app, _UNDO_TINTS.get(undo, "quiet"))),
        )

    def _longest(self, live: Live) -> int:
        return max((cell_len(shown(step.name)) for step in live.steps), default=0)


def undo_state(live: Live, step: records.Step) -> str:
    """What becomes of what a step changed, as a glyph and words; empty where it changed nothing."""
    if not step.undo or step.kind in ("restart", "reload"):
        return ""
    if step.undo.startswith("none"):
        return _NO_UNDO
    last = [boot.id for boot in live.boots if boot.run is not None][-1:]
    name = f"undo: {step.name}"
    undone = any(
        one.kind in ("undo", "hook") and one.status == "completed" and one.name.startswith(name)
        for one in live.steps
    )
    return _TO_UNDO if [step.boot] == last and not undone else _UNDONE


def _title(boot: records.Boot, names: dict[str, str]) -> str:
    if boot.run is None:
        return "put back"
    return f"{boot.position + 1}  {names[boot.run]} {boot.arm}".rstrip()


def _clock(at: float | None) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
