"""A table of few rows that keeps its cursor on the same row when it is filled anew."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.text import Text
from textual.widgets import DataTable

from campaign.cli.text import shown
from campaign.tui.colours import colour


@dataclass(frozen=True)
class Column:
    """A column: its head, and whether its cells stand to the right."""

    head: str
    right: bool = False


@dataclass(frozen=True)
class Cell:
    """A text, shown as it stands, in the colour of a word of the theme (see `colour`)."""

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
        self._shown: tuple[Row, ...] = ()
        self._theme = ""

    @property
    def focused_key(self) -> str | None:
        """What the row under the cursor stands for."""
        rows = self._shown
        return rows[self.cursor_row].key if 0 <= self.cursor_row < len(rows) else None

    def fill(self, columns: Sequence[Column], rows: Sequence[Row]) -> None:
        """Shows `rows`; the cursor stays on its row where that is still there."""
        new = (tuple(columns), tuple(rows), self.app.theme)
        if new == (self._heads, self._shown, self._theme):
            return
        before = self.focused_key
        self._heads, self._shown, self._theme = new
        with self.prevent(self.RowHighlighted):
            self._rebuild()
            self._return_to(before)

    def _rebuild(self) -> None:
        self.clear(columns=True)
        for column in self._heads:
            self.add_column(Text(column.head, justify="right" if column.right else "left"))
        for row in self._shown:
            self.add_row(*map(self._cell, row.cells, self._heads), key=row.key)

    def _cell(self, cell: Cell, column: Column) -> Text:
        text = shown(cell.text).replace("\n", " ")
        style = colour(self.app, cell.colour)
        return Text(text, style, justify="right" if column.right else "left", no_wrap=True)

    def _return_to(self, key: str | None) -> None:
        keys = [row.key for row in self._shown]
        if key in keys:
            self.move_cursor(row=keys.index(key), animate=False)
