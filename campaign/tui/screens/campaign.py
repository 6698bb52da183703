"""The campaign screen: what is believed, why, and what it cost."""

from textual.app import ComposeResult

from campaign.tui.screens.mode import ModeScreen
from campaign.tui.widgets.empty import Empty

WELCOME = """\
No hypotheses and no runs yet.
"""


class CampaignScreen(ModeScreen):
    """Hypotheses, the evidence for the focused one, and its runs."""

    def compose_body(self) -> ComposeResult:
        yield Empty(WELCOME)

    def read(self) -> None:
        """There is nothing of its own to read yet."""
