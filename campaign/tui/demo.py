"""Making the demo, or opening the one that was made before."""

from campaign.operations import demo
from campaign.tui.reading import Reading
from campaign.tui.the_app import TheApp
from campaign.workspace import Workspace

FOLDER = "demo-campaign"


def is_demo_open(app: TheApp) -> bool:
    """Whether the workspace that is open is one of the demo."""
    return app.workspace is not None and demo.is_demo(app.workspace.root)


def open_demo(app: TheApp) -> None:
    """Opens the demo in the folder the app was started in; makes it there first if need be."""

    def make() -> Workspace:
        folder = app.folder / FOLDER
        return Workspace(folder) if demo.is_demo(folder) else demo.write(folder, fresh=False)

    Reading(app, app.open_workspace, app.tell).ask(make)
