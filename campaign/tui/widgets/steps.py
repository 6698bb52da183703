"""The steps of a run as they happen, with their times and how they go back."""

import time
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from campaign.cli.text import seconds, shown
from campaign.ledger import records
from campaign.operations.live import Live
from campaign.tui.colours import colour
from campaign.tui.figures import cut
from campaign.tui.widgets.pane import Pane

MARKS = {
    "running": ("▸", "running", "primary"),
    "completed": ("✓", "ok", "success"),
    "failed": ("✗", "FAILED", "error"),
    "aborted": ("◌", "aborted", "warning"),
}
"""A step's status: glyph, word, and the colour of both."""

_NO_UNDO = "none"


class StepsPane(Pane):
    """The steps of an invocation, boot by boot, the way back last; stays at the newest."""

    HELP = """
The steps of the run, as they happen: what each did and how long it took. The mark before the last
column says how a step goes back: to undo, put back, or no undo. On the way back the undos are steps
of their own, the last change first. Scrolls; the newest step is kept in sight.
"""

    def __init__(self) -> None:
        self.text = Static("", markup=False)
        self.scroll = VerticalScroll(self.text, id="steps-scroll")
        super().__init__("Steps", self.scroll, id="steps")
        self._live: Live | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.set_interval(0.5, self._tick)

    def show(self, live: Live) -> None:
        """Shows an invocation as it stands now."""
        follows = self.scroll.scroll_offset.y >= self.scroll.max_scroll_y
        self._live = live
        self.draw()
        if follows:
            self.call_after_refresh(self.scroll.scroll_end, animate=False)

    def _tick(self) -> None:
        """The time of the step under way goes on."""
        if self._live is not None and any(one.ended_at is None for one in self._live.steps):
            self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Draws again, at the time it is now."""
        if self._live is not None:
            self.entitle(f"Steps ({len(self._live.steps)})")
            self.text.update(Group(*self._boots(self._live)))

    def _boots(self, live: Live) -> Iterator[RenderableType]:
        names = {run.id: run.playbook for run in live.runs}
        for boot in live.boots:
            yield Text(shown(_title(boot, names)), "bold")
            yield self._grid(live, boot)
        if live.pause is not None and live.pause.began_at is not None:
            yield Text(f"paused since {_clock(live.pause.began_at)}", colour(self.app, "warning"))

    def _grid(self, live: Live, boot: records.Boot) -> Grid:
        grid = Grid.grid(padding=(0, 1, 0, 0))
        for right in (True, False, False, True, False, False):
            grid.add_column(justify="right" if right else "left", no_wrap=True)
        for step in live.steps:
            if step.boot == boot.id:
                grid.add_row(*self._cells(live, step))
        return grid

    def _cells(self, live: Live, step: records.Step) -> Iterator[Text]:
        glyph, word, tint = MARKS.get(step.status, ("?", step.status, ""))
        gone = live.run.status != "running" and step.ended_at is None
        if gone:
            glyph, word, tint = "?", "cut off", "warning"
        yield Text(f"{step.position}", colour(self.app, "quiet"))
        yield Text(f"{glyph} {word}", colour(self.app, tint))
        yield Text(cut(shown(step.name), self._name_width()))
        yield Text("-" if gone else seconds((step.ended_at or time.time()) - step.started_at))
        yield self._undo(live, step)
        yield Text(shown(step.detail).replace("\n", " "), colour(self.app, "quiet"))

    def _name_width(self) -> int:
        return max(12, self.scroll.scrollable_content_region.width // 3)

    def _undo(self, live: Live, step: records.Step) -> Text:
        state = undo_state(live, step)
        tint = {"no undo": "warning", "to undo": "primary"}.get(state, "quiet")
        return Text(state, colour(self.app, tint))


def undo_state(live: Live, step: records.Step) -> str:
    """What becomes of what a step changed: "to undo", "put back", "no undo"; empty for nothing."""
    if not step.undo or step.kind == "restart":
        return ""
    if step.undo.startswith(_NO_UNDO):
        return "! no undo"
    standing = [boot.id for boot in live.boots if boot.run is not None][-1:]
    undone = any(
        one.kind == "undo"
        and one.status == "completed"
        and one.name.startswith(f"undo: {step.name}")
        for one in live.steps
    )
    return "↶ to undo" if [step.boot] == standing and not undone else "✓ put back"


def _title(boot: records.Boot, names: dict[str, str]) -> str:
    if boot.run is None:
        return "put back"
    return f"{boot.position + 1}  {names[boot.run]} {boot.arm}".rstrip()


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(at))
