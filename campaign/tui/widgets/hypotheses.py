"""The table of hypotheses: standing, counts, rate and cost, sorted and filtered."""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from campaign.cli.text import money, seconds
from campaign.ledger.costs import HypothesisCosts
from campaign.operations.status import Overview
from campaign.tui.colours import STANDINGS
from campaign.tui.figures import axis, bar, cut, rate_short, top_of
from campaign.tui.widgets.pane import Pane
from campaign.tui.widgets.table import Cell, Column, Row, Table
from hypotheses.hypothesis import GLYPHS
from hypotheses.observation import Counts

NONE = "(none)"
"""The row of the runs that speak to no hypothesis, as the ledger's view names it."""

_BAR = 24
_SLUG = 28
_AROUND = 3
"""Lines of the frame and of the heads."""


class Order(StrEnum):
    """What the hypotheses are sorted by."""

    ADDED = "as added"
    STANDING = "by standing"
    RATE = "by failure rate"
    COST = "by cost"
    NAME = "by name"


class HypothesesPane(Pane):
    """The hypotheses of the campaign; says which one the cursor is on."""

    HELP = """
Hypotheses: what may be the cause. Each row says where a hypothesis stands (glyph and word), how
many trials of its runs failed, the rate with its 95% interval, and what its runs cost. The row
(none) has the runs that speak to no hypothesis, such as baselines. Counts are those of completed,
valid runs; (0-9) is an interval in percent.
"""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("down", "to_rows", "Down", show=False)]

    class Focused(Message):
        """The cursor is on another hypothesis; `slug` None: on the runs that speak to none."""

        def __init__(self, slug: str | None) -> None:
            super().__init__()
            self.slug = slug

    def __init__(self) -> None:
        self.table = Table(id="hypotheses-table")
        self.filter = Input(placeholder="filter: part of a name or a standing", id="filter")
        super().__init__("Hypotheses", self.table, id="hypotheses")
        self._rows: Sequence[HypothesisCosts] = ()
        self._currency = ""
        self._summed = False
        self._order = Order.ADDED
        self._wanted = ""

    def compose(self) -> ComposeResult:
        yield self.filter
        yield from super().compose()

    def on_mount(self) -> None:
        super().on_mount()
        self.filter.display = False

    def action_to_rows(self) -> None:
        """From the filter to what it has found."""
        self.table.focus()

    @property
    def slug(self) -> str | None:
        """The hypothesis under the cursor; None on the row of runs that speak to none."""
        key = self.table.focused_key
        return None if key == NONE else key

    def show(self, overview: Overview) -> None:
        """Shows the hypotheses, in the order and with the filter that are set."""
        self._rows, self._summed = overview.hypotheses, overview.total is not None
        self._currency = overview.campaign.currency if overview.campaign else ""
        self._fill()

    def go_to(self, slug: str) -> None:
        """Puts the cursor on a hypothesis, once it is there."""
        self._wanted = slug
        self._fill()

    def next_order(self) -> None:
        """Sorts by the next of the orders."""
        orders = list(Order)
        self._order = orders[(orders.index(self._order) + 1) % len(orders)]
        self._fill()

    def open_filter(self) -> None:
        self.filter.display = True
        self._fit(self.table.count)
        self.screen.set_focus(self.filter)

    def close_filter(self) -> None:
        """Shows all again; the focus goes back to the table."""
        self.filter.value = ""
        self.filter.display = False
        self._fit(self.table.count)
        self.table.focus()

    @on(Input.Changed, "#filter")
    def _filtered(self) -> None:
        self._fill()

    @on(Input.Submitted, "#filter")
    def _to_table(self) -> None:
        self.table.focus()

    @on(Table.Focused)
    def _moved(self) -> None:
        self.post_message(self.Focused(self.slug))

    def _fill(self) -> None:
        before = self.table.focused_key
        found = self._sorted([one for one in self._rows if self._passes(one)])
        top = top_of([_counts(one) for one in found])
        self.table.fill(_columns(top), [self._row(one, top) for one in found])
        if self._wanted in [one.hypothesis for one in found]:
            self.table.move_to_key(self._wanted)
            self._wanted = ""
        self.entitle(self._title(len([one for one in found if one.standing])))
        self._fit(len(found))
        self.say("" if found or not self._rows else "Nothing fits the filter.  Esc shows all again")
        if self.table.focused_key != before:
            self._moved()

    def _fit(self, rows: int) -> None:
        """As high as its rows take; where that is more than there is room for, they scroll."""
        self.styles.height = rows + _AROUND + self.filter.display

    def _row(self, one: HypothesisCosts, top: float) -> Row:
        sums = _sums(one, self._currency, top) if self._summed else _YET_TO_BE_READ
        return Row(one.hypothesis, (*_names(one), *sums))

    def _passes(self, one: HypothesisCosts) -> bool:
        wanted = self.filter.value.strip().lower()
        return wanted in one.hypothesis.lower() or wanted in (one.standing or "")

    def _sorted(self, rows: Sequence[HypothesisCosts]) -> list[HypothesisCosts]:
        """In the order that is set; the runs that speak to none come last."""
        listed = [one for one in rows if one.standing]
        if self._order in _KEYS:
            listed.sort(key=_KEYS[self._order])
        return listed + [one for one in rows if not one.standing]

    def _title(self, found: int) -> str:
        total = sum(1 for one in self._rows if one.standing)
        counts = f"{found} of {total}" if self.filter.value.strip() else str(total)
        order = "" if self._order is Order.ADDED else f", {self._order}"
        return f"Hypotheses ({counts}){order}"


_RANK = ("confirmed", "supported", "leading", "open", "refuted", "abandoned")

_KEYS: dict[Order, Callable[[HypothesisCosts], tuple[float, float] | str]] = {
    Order.STANDING: lambda one: (_RANK.index(one.standing or "open"), 0),
    Order.RATE: lambda one: (-one.fail / one.n if one.n else 1, 0),
    Order.COST: lambda one: (-one.money, -one.downtime_s),
    Order.NAME: lambda one: one.hypothesis,
}


def _counts(one: HypothesisCosts) -> Counts:
    return Counts(one.fail, one.n - one.fail)


def _columns(top: float) -> list[Column]:
    return [
        Column(""),
        Column("hypothesis"),
        Column("standing"),
        Column("fail/n", right=True),
        Column("rate 95%", right=True, need=3),
        Column("cost", right=True, need=2),
        Column(axis(_BAR, top), need=1),
    ]


_YET_TO_BE_READ = (Cell("…"),) * 3 + (Cell(""),)


def _names(one: HypothesisCosts) -> tuple[Cell, ...]:
    standing = one.standing or ""
    tint = STANDINGS.get(standing, "")
    return (
        Cell(GLYPHS.get(standing, " "), tint),
        Cell(cut(one.hypothesis, _SLUG)),
        Cell(standing, tint),
    )


def _sums(one: HypothesisCosts, currency: str, top: float) -> tuple[Cell, ...]:
    counts = _counts(one)
    return (
        Cell(str(counts) if counts.n else "-"),
        Cell(rate_short(counts) or "-"),
        Cell(_cost(one, currency)),
        Cell(bar(counts, _BAR, top)),
    )


def _cost(one: HypothesisCosts, currency: str) -> str:
    """Money where there are rates, the downtime otherwise; "-" where nothing was restarted."""
    if not one.restarts:
        return "-"
    return money(one.money, currency) if currency else f"{seconds(one.downtime_s)} down"
