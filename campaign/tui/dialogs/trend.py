"""Plots: a playbook's rate over its restarts, and the campaign's spending over time."""

from collections.abc import Iterator

from rich.cells import cell_len
from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Static

from campaign.cli.text import count, money, seconds, shown, when
from campaign.operations.trend import Trend
from campaign.tui.dialog import Dialog
from campaign.tui.figures import top_of
from campaign.tui.plots import rate_plot, sum_plot
from campaign.tui.widgets.keys import Keys

_HEIGHT, _MARGIN = 7, 8


class TrendDialog(Dialog[None]):
    """Shows a trend in as many columns as there are."""

    BINDINGS = [("escape,q,enter", "dismiss", "Close")]  # noqa: RUF012 - as the base class has it

    def __init__(self, trend: Trend) -> None:
        super().__init__()
        self._trend = trend
        self._text = Static("", markup=False)

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog", id="trend") as box:
            box.border_title = Text(shown(f"{self._trend.playbook}: rate and spending"))
            box.border_subtitle = "campaign report -o campaign.html draws it, too"
            yield self._text
        yield Keys()

    def on_mount(self) -> None:
        self.call_after_refresh(self._draw)

    def on_resize(self) -> None:
        self.call_after_refresh(self._draw)

    def _draw(self) -> None:
        width = max(20, self._text.size.width - _MARGIN)
        lines = (*self._rates(width), "", *self._spent(width))
        self._text.update(Text("\n".join(lines), no_wrap=True))

    def _rates(self, width: int) -> Iterator[str]:
        points = self._trend.restarts
        if not points:
            yield f"No trials of {shown(self._trend.playbook)} are evidence yet."
            return
        number = len(points)
        each = self._trend.together * max(1, -(-number // width))
        what = "a restart" if each == 1 else f"{each} restarts"
        yield f"rate with its 95% interval, a column {what}, oldest first"
        top = top_of(list(points))
        yield from _framed(rate_plot(points, top, width, _HEIGHT), f"{top:.0%}", "0%")
        total = sum((one.n for one in points), 0)
        yield f"{' ' * _MARGIN}{count(total, 'trial')} in all"

    def _spent(self, width: int) -> Iterator[str]:
        spending, currency = self._trend.spending, self._trend.currency
        values = spending.money if any(spending.money) else spending.downtime_s
        if not any(values):
            yield "Nothing was spent yet."
            return
        priced = values is spending.money
        top = money(values[-1], currency) if priced else seconds(values[-1])
        yield f"{'money' if priced else 'downtime'} spent by the whole campaign: {top}"
        digits = 2 if values[-1] < 1000 else 0
        short = f"{values[-1]:.{digits}f}" if priced else top.replace(" ", "")
        yield from _framed(sum_plot(values, width, _HEIGHT), short, "0")
        began, ended = when(spending.began)[:16], when(spending.ended)[:16]
        gap = " " * max(1, width - cell_len(began) - cell_len(ended))
        yield f"{' ' * _MARGIN}{began}{gap}{ended}"


def _framed(lines: list[str], top: str, bottom: str) -> Iterator[str]:
    """The lines behind an axis with its ends named."""
    names = {0: top, len(lines) - 1: bottom}
    for row, line in enumerate(lines):
        yield (
            f"{names.get(row, ''):>{_MARGIN - 2}} ┤{line}"
            if row in names
            else (f"{'':>{_MARGIN - 2}} │{line}")
        )
