"""Outside a workspace: what a person can do from here."""

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from campaign.errors import CampaignError
from campaign.operations import init as initialising
from campaign.tui.demo import open_demo
from campaign.tui.the_app import app_of
from campaign.tui.widgets.empty import Empty
from campaign.tui.widgets.keys import Keys
from campaign.workspace import Workspace

TEXT = """\
There is no campaign.yaml in this folder or above it:

  {folder}

  i   make a workspace of this folder           campaign init
  d   see it all on a small real system         campaign demo --no-run
  q   leave, and start it in another folder     campaign -w FOLDER tui
"""


class OutsideScreen(Screen[None]):
    """Says where we are, and makes a workspace or the demo."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "init", "Make a workspace", tooltip="Make this folder a workspace"),
        Binding("d", "demo", "The demo", tooltip="Make and open the demo"),
    ]

    def compose(self) -> ComposeResult:
        yield Empty(TEXT.format(folder=app_of(self).folder))
        yield Keys()

    def action_init(self) -> None:
        """Makes the folder a workspace, as `campaign init` does, and opens it."""
        app = app_of(self)
        try:
            initialising.init(app.folder)
        except CampaignError as error:
            app.tell(str(error))
        else:
            app.open_workspace(Workspace.find(app.folder))

    def action_demo(self) -> None:
        """Makes the demo in this folder and opens it."""
        open_demo(app_of(self))
