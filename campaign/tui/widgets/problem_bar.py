"""Why the ledger cannot be read, in full, while that is so."""

from rich.text import Text
from textual.widgets import Static

from campaign.cli.text import shown
from campaign.tui.colours import colour
from campaign.tui.the_app import app_of


class ProblemBar(Static):
    """Stays until the ledger can be read; whatever else is shown is as it was before."""

    def __init__(self) -> None:
        super().__init__(markup=False)

    def on_mount(self) -> None:
        self.watch(self.app, "problem", self._draw)
        self.watch(self.app, "theme", self._draw, init=False)

    def _draw(self) -> None:
        problem = app_of(self).problem
        self.display = bool(problem)
        self.update(Text(shown(problem), f"bold {colour(self.app, 'error')}".strip()))
