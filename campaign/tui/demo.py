"""Making the demo, or opening the one that was made before."""

from campaign.tui.reading import Reading
from campaign.tui.the_app import TheApp
from campaign.workspace import Workspace

FOLDER = "demo-campaign"


def is_demo_open(app: TheApp) -> bool:
    """Whether the workspace that is open is one of the demo."""
    from campaign.operations.demo import is_demo

    return app.workspace is not None and is_demo(app.workspace.root)


def open_demo(app: TheApp) -> None:
    """Opens the demo in the folder the app was started in; makes it there first if need be."""

    def make() -> Workspace:
        from campaign.operations.demo import is_demo, write

        folder = app.folder / FOLDER
        return Workspace(folder) if is_demo(folder) else write(folder, fresh=False)

    Reading(app, app.open_workspace, app.tell).ask(make)
