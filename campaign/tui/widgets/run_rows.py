"""A run as a line of a list: its columns, and which of them there is room for."""

from collections.abc import Callable

from msgspec import Struct
from rich.cells import cell_len, set_cell_size
from rich.text import Text

from campaign.cli.text import money, seconds, shown, when
from campaign.operations.runs import Listed
from campaign.tui.figures import cut, rate_short
from campaign.tui.widgets.runs import glyph_of, outcome, short_id

_GAP, _LEAST_NAME = 2, 18


class _Column(Struct, frozen=True):
    """A column: its head, its width, what is in it, and how much it is needed."""

    head: str
    width: int
    text: Callable[[Listed], str]
    need: int = 9
    right: bool = True


def _down(one: Listed) -> str:
    return seconds(one.costs.downtime_s) if one.costs.restarts else "-"


_COLUMNS = (
    _Column("verdict", 22, lambda one: outcome(one)[0], right=False),
    _Column("fail/n", 8, lambda one: str(one.counts) if one.counts.n else "-"),
    _Column("rate 95%", 13, lambda one: rate_short(one.counts) or "-", need=5),
    _Column("restarts", 8, lambda one: str(one.costs.restarts), need=2),
    _Column("down", 9, _down, need=3),
    _Column("cost", 13, lambda one: money(one.costs.money, one.currency), need=1),
    _Column("started", 16, lambda one: when(one.run.started_at)[:16], need=4),
)


def columns_for(width: int) -> tuple[_Column, ...]:
    """The columns beside the run's name that there is room for."""
    chosen = list(_COLUMNS)
    while sum(one.width + _GAP for one in chosen) > width - _LEAST_NAME - 2 and len(chosen) > 2:
        chosen.remove(min(chosen, key=lambda one: one.need))
    return tuple(chosen)


def head_line(width: int) -> str:
    """The heads of the columns."""
    chosen = columns_for(width)
    heads = [_put(one.head, one) for one in chosen]
    return set_cell_size("  run", _name_width(width, chosen) + 2) + "".join(heads)


def run_line(one: Listed, width: int, tint: Callable[[str], str], *, marked: bool) -> Text:
    """A run in one line; `tint` gives the style of a meaning (see `colour`)."""
    chosen = columns_for(width)
    meaning = outcome(one)[1]
    glyph = "◆" if marked else glyph_of(one)
    name = short_id(shown(one.run.id), _name_width(width, chosen))
    line = Text.assemble((glyph, tint(meaning)), " ", no_wrap=True)
    line.append(set_cell_size(name, _name_width(width, chosen)))
    for place, column in enumerate(chosen):
        line.append(_put(shown(column.text(one)), column), tint("" if place else meaning) or None)
    return line


def waiting_line() -> Text:
    """A run that is being read."""
    return Text("  …")


def _name_width(width: int, chosen: tuple[_Column, ...]) -> int:
    return max(_LEAST_NAME, width - 2 - sum(one.width + _GAP for one in chosen))


def _put(text: str, column: _Column) -> str:
    """The gap before a column, and `text` in it."""
    text = cut(text, column.width)
    blank = " " * (column.width - cell_len(text))
    return " " * _GAP + (blank + text if column.right else text + blank)
