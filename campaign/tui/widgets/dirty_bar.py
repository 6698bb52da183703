"""What is left to do where a run could not be put back, or was interrupted."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from campaign.cli.text import shown
from campaign.ledger.records import Run
from campaign.tui.colours import colour
from campaign.tui.the_app import app_of

_UNDER_WAY = (
    "RECOVERING  everything is being put back; what ran a change is restarted, which may take a"
    " while"
)


class DirtyBar(VerticalScroll):
    """Stays until the ledger says that everything was put back; scrolls where that is much."""

    HELP = """
A run could not be put back whole, or its process has gone. Recovering puts every host back from
its own journal, restarts what ran a change, and verifies; a second time finds nothing to do.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "app.recover", "Recover", show=False),
        Binding("c", "copy", "Copy", tooltip="Copy what is left to do"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._text = Static(markup=False)

    def compose(self) -> ComposeResult:
        yield self._text

    def on_mount(self) -> None:
        self.watch(self.app, "overview", self._draw)
        self.watch(self.app, "outstanding", self._draw)
        self.watch(self.app, "recovering", self._draw, init=False)
        self.watch(self.app, "theme", self._draw, init=False)

    def _draw(self) -> None:
        overview = app_of(self).overview
        self.display = app_of(self).recovering or bool(overview and overview.left)
        if self.display:
            first, *others = (Text(shown(line)) for line in self.lines())
            first.stylize(f"bold {colour(self.app, 'error')}".strip())
            self._text.update(Text("\n").join([first, *others]))

    def lines(self) -> list[str]:
        """What was left, and what is to be done about it."""
        app = app_of(self)
        left = app.overview.left if app.overview is not None else ()
        if app.recovering:
            return [_UNDER_WAY]
        return [*map(_what, left), *(f"  {one}" for one in app.outstanding)]

    def action_copy(self) -> None:
        """Copies what is left to do."""
        app_of(self).copy("\n".join([*self.lines(), "campaign recover"]))


def _what(run: Run) -> str:
    if run.state == "dirty":
        return f"DIRTY  {run.id} could not be put back whole: R recovers (campaign recover)"
    return f"INTERRUPTED  the process of {run.id} is gone: R recovers (campaign recover)"
