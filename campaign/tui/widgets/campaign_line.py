"""The first line of every mode: campaign, target, state, spend, ledger."""

from rich.text import Text
from textual.widgets import Static

from campaign.cli.text import count, money, seconds, shown
from campaign.operations.status import Status
from campaign.tui.the_app import app_of


class CampaignLine(Static):
    """Follows the app's `overview` and `problem`."""

    def __init__(self) -> None:
        super().__init__(markup=False)

    def on_mount(self) -> None:
        self.watch(self.app, "overview", self._show)
        self.watch(self.app, "problem", self._show)

    def _show(self) -> None:
        app = app_of(self)
        name = app.workspace.root.name if app.workspace else "no workspace here"
        parts = [name] if app.overview is None else list(_parts(app.overview))
        if app.problem:
            parts.append(app.problem)
        self.update(Text(shown(" | ".join(parts)), no_wrap=True, overflow="ellipsis"))


def _parts(status: Status) -> list[str]:
    campaign = status.campaign
    parts = [campaign.name if campaign else "(not run yet)", _state(status)]
    spent = [f"down {seconds(status.total.downtime_s)}", count(status.total.restarts, "restart")]
    if campaign and campaign.currency:
        spent.append(money(status.total.money, campaign.currency))
    return [*parts, ", ".join(spent)]


def _state(status: Status) -> str:
    if status.running:
        more = len(status.running) - 1
        return f"running {status.running[0].id}" + (f" and {more} more" if more else "")
    if any(run.state == "dirty" for run in status.left):
        return "dirty"
    return "interrupted" if status.left else "idle"
