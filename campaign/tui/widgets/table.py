"""A table of few rows that keeps its cursor on the same row when it is filled anew."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.text import Text
from textual.widgets import DataTable

from campaign.cli.text import shown
from campaign.tui.colours import colour


@dataclass(frozen=True)
class Column:
    """A column: its head, whether its cells stand to the right, and how much it is needed.

    Where there is no room for all columns, those with the lowest `need` are left out first.
    """

    head: str
    right: bool = False
    need: int = 9


@dataclass(frozen=True)
class Cell:
    """A text, shown as it stands, in the colour of a meaning (see `colour`)."""

    text: str
    colour: str = ""


@dataclass(frozen=True)
class Row:
    """A row: what it stands for, and its cells."""

    key: str
    cells: tuple[Cell, ...]


class Table(DataTable[Text]):
    """Rows that are filled by `fill`."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id, cursor_type="row", zebra_stripes=False)
        self._heads: tuple[Column, ...] = ()
        self._filled: tuple[Row, ...] = ()
        self._drawn: object = None

    @property
    def focused_key(self) -> str | None:
        """What the row under the cursor stands for."""
        rows = self._filled
        return rows[self.cursor_row].key if 0 <= self.cursor_row < len(rows) else None

    def fill(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """Shows `rows`; the cursor stays on its row where that is still there."""
        before = self.focused_key
        self._heads, self._filled = tuple(columns), tuple(rows)
        self._draw(before)

    def on_resize(self) -> None:
        self._draw(self.focused_key)

    def _draw(self, focused: str | None) -> None:
        widths = [max(map(cell_len, texts)) for texts in self._texts()]
        places = self._places(widths)
        new = (self._heads, self._filled, places, self.app.theme)
        if new == self._drawn:
            return
        self._drawn = new
        with self.prevent(self.RowHighlighted):
            self._rebuild(places, widths)
            keys = [row.key for row in self._filled]
            if focused in keys:
                self.move_cursor(row=keys.index(focused), animate=False)

    def _places(self, widths: Sequence[int]) -> tuple[int, ...]:
        """The columns that there is room for, by their numbers; before there is a size, all."""
        places = list(range(len(self._heads)))
        room, padding = self.size.width, 2 * self.cell_padding
        while room and sum(widths[one] + padding for one in places) > room:
            least = min(places, key=lambda one: (self._heads[one].need, -one))
            if self._heads[least].need == Column.need:
                break
            places.remove(least)
        return tuple(places)

    def _texts(self) -> Iterator[list[str]]:
        """The texts of each column, its head first."""
        for place, column in enumerate(self._heads):
            yield [column.head, *(_clean(row.cells[place].text) for row in self._filled)]

    def _rebuild(self, places: Sequence[int], widths: Sequence[int]) -> None:
        self.clear(columns=True)
        for place in places:
            column = self._heads[place]
            head = Text(column.head, justify="right" if column.right else "left")
            self.add_column(head, width=widths[place])
        for row in self._filled:
            self.add_row(*(self._cell(row.cells[one], self._heads[one]) for one in places),
                         key=row.key)  # fmt: skip

    def _cell(self, cell: Cell, column: Column) -> Text:
        style = colour(self.app, cell.colour)
        return Text(
            _clean(cell.text), style, justify="right" if column.right else "left", no_wrap=True
        )


def _clean(text: str) -> str:
    """On one line, without what would drive the terminal."""
    return shown(text).replace("\n", " ")
