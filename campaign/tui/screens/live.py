"""The live screen: the run under way."""

from textual.app import ComposeResult

from campaign.tui.screens.mode import ModeScreen
from campaign.tui.widgets.empty import Empty

NOTHING = """\
Nothing is running.

A run that anyone starts in this workspace appears here: its steps with their times, its output,
failures as they are counted, and what it costs.

  1   choose what to run, on the Campaign screen
      or, in another terminal:  campaign run PLAYBOOK
"""


class LiveScreen(ModeScreen):
    """Follows the newest run under way, whoever started it."""

    def compose_body(self) -> ComposeResult:
        yield Empty(NOTHING)

    def read(self) -> None:
        """There is nothing of its own to read yet."""
