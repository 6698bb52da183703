"""The history screen: every run there was."""

from textual.app import ComposeResult

from campaign.tui.screens.mode import ModeScreen
from campaign.tui.widgets.empty import Empty

NOTHING = """\
No runs yet.

Every run is kept here with its steps, changes, proof, outcomes and cost.

  1   choose what to run, on the Campaign screen
      or, in another terminal:  campaign run PLAYBOOK
"""


class HistoryScreen(ModeScreen):
    """All runs, the newest first."""

    def compose_body(self) -> ComposeResult:
        yield Empty(NOTHING)

    def read(self) -> None:
        """There is nothing of its own to read yet."""
