"""What runs keep changed on the hosts, on purpose."""

from rich.text import Text
from textual.widgets import Static

from campaign.cli.text import count, shown, when
from campaign.ledger.stack import Staying
from campaign.tui.colours import colour
from campaign.tui.the_app import app_of


class KeptBar(Static):
    """One line for each run that keeps what it changed: nothing is wrong, but it is there."""

    def __init__(self) -> None:
        super().__init__(markup=False)

    def on_mount(self) -> None:
        self.watch(self.app, "overview", self._draw)
        self.watch(self.app, "theme", self._draw, init=False)

    def _draw(self) -> None:
        overview = app_of(self).overview
        kept = overview.kept if overview is not None else ()
        self.display = bool(kept)
        lines = [Text(shown(kept_line(one)), colour(self.app, "quiet")) for one in kept]
        self.update(Text("\n").join(lines))


def kept_line(kept: Staying) -> str:
    """What a run keeps, where and since when."""
    hosts = ", ".join(dict.fromkeys(host for host, _ in kept.paths))
    names = f" for {', '.join(kept.hypotheses)}" if kept.hypotheses else ""
    files = count(len(kept.paths), "file")
    since = f"{files} on {hosts} since {when(kept.kept_at)}"
    return f"KEPT  {kept.run}{names}: {since}; K puts it back (campaign recover {kept.run})"
