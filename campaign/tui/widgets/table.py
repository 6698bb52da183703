"""A table of few rows that keeps its cursor on the same row when it is filled anew."""

from collections.abc import Iterator, Sequence

from msgspec import Struct
from rich.cells import cell_len
from rich.text import Text

from campaign.cli.text import shown
from campaign.tui.colours import colour
from campaign.tui.widgets.rows import Rows

_PADDING = 1
"""Blanks on each side of a cell."""


class Column(Struct, frozen=True):
    """A column: its head, whether its cells stand to the right, and how much it is needed.

    Where there is no room for all columns, those with the lowest `need` are left out first.
    """

    head: str
    right: bool = False
    need: int = 9


class Cell(Struct, frozen=True):
    """A text, shown as it stands, in the colour of a meaning (see `colour`)."""

    text: str
    colour: str = ""


class Row(Struct, frozen=True):
    """A row: what it stands for, and its cells."""

    key: str
    cells: tuple[Cell, ...]


class Table(Rows):
    """Rows that are filled by `fill`."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self._columns: tuple[Column, ...] = ()
        self._filled: tuple[Row, ...] = ()
        self._widths: tuple[int, ...] = ()

    @property
    def focused_key(self) -> str | None:
        """What the row under the cursor stands for."""
        return self._filled[self.cursor].key if self.cursor < self.count else None

    @property
    def named(self) -> str:
        return self.focused_key or ""

    @property
    def count(self) -> int:
        return len(self._filled)

    def fill(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """Shows `rows`; the cursor stays on its row where that is still there."""
        new = tuple(columns), tuple(rows)
        if new == (self._columns, self._filled):
            return
        before = self.focused_key
        self._columns, self._filled = new
        self._widths = tuple(max(map(cell_len, texts)) for texts in self._texts())
        keys = [row.key for row in self._filled]
        self.cursor = keys.index(before) if before in keys else 0
        self.redraw()
        self.keep_in_sight()

    def move_to_key(self, key: str) -> None:
        """Puts the cursor on the row that stands for `key`."""
        self.move_cursor([row.key for row in self._filled].index(key))

    def heads(self, width: int) -> str:
        cells = (self._cell(one, self._columns[one].head) for one in self._places(width))
        return "".join(cells)

    def row(self, index: int, width: int) -> Text:
        text = Text(no_wrap=True)
        for place in self._places(width):
            cell = self._filled[index].cells[place]
            text.append(self._cell(place, _clean(cell.text)), colour(self.app, cell.colour) or None)
        return text

    def _cell(self, place: int, text: str) -> str:
        blanks = " " * (self._widths[place] - cell_len(text))
        padding = " " * _PADDING
        right = self._columns[place].right
        return f"{padding}{blanks if right else ''}{text}{'' if right else blanks}{padding}"

    def _places(self, room: int) -> list[int]:
        """The columns that there is room for, by their numbers."""
        places = list(range(len(self._columns)))
        while sum(self._widths[one] + 2 * _PADDING for one in places) > room:
            least = min(places, key=lambda one: (self._columns[one].need, -one))
            if self._columns[least].need == Column.need:
                break
            places.remove(least)
        return places

    def _texts(self) -> Iterator[list[str]]:
        """The texts of each column, its head first."""
        for place, column in enumerate(self._columns):
            yield [column.head, *(_clean(row.cells[place].text) for row in self._filled)]


def _clean(text: str) -> str:
    """On one line, without what would drive the terminal."""
    return shown(text).replace("\n", " ")
