"""The cost meter: what this boot, the hypothesis and the campaign have cost so far."""

import time
from collections.abc import Iterator

from rich.text import Text

from campaign.cli.text import Spent, money, seconds, shown
from campaign.ledger.costs import Costs
from campaign.operations.live import Live
from campaign.operations.status import Overview
from campaign.tui.colours import colour
from campaign.tui.figures import cut
from campaign.tui.the_app import app_of
from campaign.tui.widgets.lines import aligned
from campaign.tui.widgets.pane import Pane
from campaign.tui.widgets.written import Written

_HEADS = ("", "restarts", "down", "occupied", "cost")
_LEAST = 6


class MeterPane(Pane):
    """Restarts, time down, time occupied and money: of the boot under way, and in all."""

    HELP = """
Cost: of the boot under way so far, of the hypotheses that this run speaks to, and of the whole
campaign. A restart is in the sums at once, the time that a boot occupies the system once it has
ended. Money is the downtime and the occupied time at their rates.
"""

    def __init__(self) -> None:
        self.text = Written()
        super().__init__("Cost", self.text, id="meter")
        self._live: Live | None = None

    def on_mount(self) -> None:
        super().on_mount()
        self.watch(self.app, "overview", self.draw)
        self.set_interval(1, self.draw)

    def show(self, live: Live) -> None:
        """Shows an invocation as it stands now."""
        self._live = live
        self.draw()

    def draw(self) -> None:
        """Draws again, at the time it is now."""
        overview = app_of(self).overview
        if overview is None or self._live is None:
            return
        rows = [
            (shown(name), *self._cells(costs, overview))
            for name, costs in self._rows(self._live, overview)
        ]
        rest = sum(max(len(row[index]) for row in (_HEADS, *rows)) + 1 for index in range(1, 5))
        room = max(_LEAST, self.text.size.width - rest)
        heads = [Text(head, colour(self.app, "quiet")) for head in _HEADS]
        cells = [[Text(cut(name, room)), *map(Text, numbers)] for name, *numbers in rows]
        self.text.write(Text("\n").join(aligned([heads, *cells], "lrrrr", gap=1)))

    def _rows(self, live: Live, overview: Overview) -> Iterator[tuple[str, Spent]]:
        yield from self._boot(live)
        if overview.total is None:
            return
        for row in overview.hypotheses:
            if row.hypothesis in live.hypotheses:
                yield row.hypothesis, row
        yield "campaign", overview.total

    def _boot(self, live: Live) -> Iterator[tuple[str, Spent]]:
        """The boot that has not ended yet, or is kept up by a pause, as far as it has come."""
        boot = live.boots[-1] if live.boots and live.run.status == "running" else None
        held = live.pause is not None and live.pause.began_at is not None
        if boot is None or (boot.ended_at is not None and not held):
            return
        cycles = [one for one in live.cycles if one.boot == boot.id]
        occupied = time.time() - boot.started_at
        down = sum(one.downtime_s for one in cycles)
        system = app_of(self).system
        price = system.cost.money(down, occupied) if system else sum(one.money for one in cycles)
        yield "this boot", Costs(len(cycles), down, occupied, price)

    def _cells(self, costs: Spent, overview: Overview) -> tuple[str, str, str, str]:
        currency = overview.campaign.currency if overview.campaign else ""
        return (
            f"{costs.restarts}",
            seconds(costs.downtime_s),
            seconds(costs.occupied_s),
            money(costs.money, currency),
        )
