"""Making the demo, or opening the one that was made before."""

from typing import TYPE_CHECKING

from campaign.operations import demo
from campaign.tui.reading import Reading
from campaign.workspace import Workspace

if TYPE_CHECKING:
    from campaign.tui.app import CampaignApp

FOLDER = "demo-campaign"


def open_demo(app: "CampaignApp") -> None:
    """Opens the demo in the folder the app was started in; makes it there first if need be."""

    def make() -> Workspace:
        folder = app.folder / FOLDER
        return Workspace(folder) if demo.is_demo(folder) else demo.write(folder, fresh=False)

    Reading(app, app.open_workspace, app.tell).ask(make)
