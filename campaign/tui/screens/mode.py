"""What the screens of all modes share: the campaign line, what is left on hosts, the keys."""

from abc import abstractmethod

from textual.app import ComposeResult
from textual.screen import Screen

from campaign.tui.the_app import app_of
from campaign.tui.widgets.campaign_line import CampaignLine
from campaign.tui.widgets.dirty_bar import DirtyBar
from campaign.tui.widgets.kept_bar import KeptBar
from campaign.tui.widgets.keys import Keys
from campaign.tui.widgets.problem_bar import ProblemBar

UNREADABLE = "The ledger cannot be read."
AGAIN_S = 1.0
"""Until what could not be read is read again."""


class ModeScreen(Screen[None]):
    """A mode's screen. It reads when it is looked at and the ledger has changed since."""

    def __init__(self) -> None:
        super().__init__()
        self._stale = True

    @abstractmethod
    def compose_body(self) -> ComposeResult:
        """The mode's own widgets."""

    @abstractmethod
    def read(self, *, fills: bool = False) -> None:
        """Asks for all that is shown (see `Reading`); the ledger has changed, or is new.

        It `fills` the screen where that is only now looked at.
        """

    def compose(self) -> ComposeResult:
        yield CampaignLine()
        yield ProblemBar()
        yield DirtyBar()
        yield KeptBar()
        yield from self.compose_body()
        yield Keys()

    def ledger_changed(self) -> None:
        """Reads now where this screen is shown, also below a dialog; otherwise when it is."""
        self._stale = True
        if self.app.screen_stack and self.app.screen_stack[0] is self:
            self._read()

    def on_resize(self) -> None:
        """Which keys do something depends on the room there is."""
        self.call_after_refresh(self.refresh_bindings)

    def on_screen_resume(self) -> None:
        if self._stale:
            self._read(fills=True)

    def _read(self, *, fills: bool = False) -> None:
        if app_of(self).workspace is not None:
            self._stale = False
            self.read(fills=fills)
