"""Rows below their heads, one of them under the cursor; only what is on the screen is drawn."""

from abc import abstractmethod
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from campaign.tui.the_app import app_of
from campaign.tui.widgets.sized import Sized

_HEADS = 1
"""Lines above the rows; they do not scroll."""


class Rows(Sized, can_focus=True):
    """A list of any number of rows, all of one line."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"rows--cursor", "rows--heads", "rows--row"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move_page(-1)", "Page up", show=False),
        Binding("pagedown", "move_page(1)", "Page down", show=False),
        Binding("home,g", "move_to(0)", "First", show=False, tooltip="To the first row"),
        Binding("end,G", "move_to(-1)", "Last", show=False, tooltip="To the last row"),
        Binding("enter", "open", "Open", tooltip="Show it whole"),
        Binding("Y", "copy", "Copy", show=False, tooltip="Copy the name in this row"),
    ]

    class _Told(Message):
        """What `rows` have to tell."""

        def __init__(self, rows: "Rows") -> None:
            super().__init__()
            self.rows = rows

        @property
        def control(self) -> "Rows":
            return self.rows

    class Focused(_Told):
        """The cursor is on another row, or that row was read."""

    class Opened(_Told):
        """The row under the cursor is to be shown whole."""

    def __init__(self, *, id: str) -> None:
        super().__init__(id=id)
        self.cursor = 0
        self._drawn: dict[int, Strip] = {}

    def on_mount(self) -> None:
        self.watch(self.app, "theme", self.redraw, init=False)

    @property
    @abstractmethod
    def count(self) -> int:
        """How many rows there are."""

    @property
    @abstractmethod
    def named(self) -> str:
        """What the row under the cursor is called; empty where there is none."""

    @abstractmethod
    def heads(self, width: int) -> str:
        """What stands above the rows, in `width` columns."""

    @abstractmethod
    def row(self, index: int, width: int) -> Text:
        """What a row says in `width` columns; it is asked for again after `redraw`."""

    @property
    def visible_rows(self) -> int:
        """How many rows there is room for."""
        return max(0, self.scrollable_content_region.height - _HEADS)

    def redraw(self) -> None:
        """Has all rows that are on the screen drawn again; there may be more or fewer now."""
        self._drawn.clear()
        self.virtual_size = Size(self.scrollable_content_region.width, self.count + _HEADS)
        self.refresh()

    def fit(self) -> None:
        self.redraw()

    def render_line(self, y: int) -> Strip:
        width = self.scrollable_content_region.width
        if y < _HEADS:
            heads = self._strip(Text(self.heads(width)), width)
            return heads.apply_style(self.get_component_rich_style("rows--heads"))
        index = y - _HEADS + self.scroll_offset.y
        if index >= self.count:
            return Strip.blank(width, self.get_component_rich_style("rows--row"))
        drawn = self._drawn.get(index)
        if drawn is None or drawn.cell_length != width:
            drawn = self._drawn[index] = self._strip(self.row(index, width), width)
        part = "rows--cursor" if index == self.cursor else "rows--row"
        return drawn.apply_style(self.get_component_rich_style(part))

    def _strip(self, text: Text, width: int) -> Strip:
        return Strip(text.render(self.app.console, end="")).adjust_cell_length(width)

    def refresh_row(self, index: int) -> None:
        """Has one row drawn again, in the style that it has now."""
        self.refresh_line(index + _HEADS)

    def move_cursor(self, to: int) -> None:
        """Puts the cursor on a row, or on the nearest that there is, and keeps it in sight."""
        to = max(0, min(to, self.count - 1))
        if to != self.cursor:
            before, self.cursor = self.cursor, to
            self.refresh_row(before)
            self.refresh_row(to)
            self.post_message(self.Focused(self))
        self.keep_in_sight()

    def keep_in_sight(self) -> None:
        """Scrolls as little as it takes to see the row under the cursor."""
        top, height = self.scroll_offset.y, self.visible_rows
        if self.cursor < top:
            self.scroll_to(y=self.cursor, animate=False, immediate=True)
        elif self.cursor >= top + height:
            self.scroll_to(y=self.cursor - height + 1, animate=False, immediate=True)

    def action_move(self, by: int) -> None:
        """Moves the cursor by so many rows."""
        self.move_cursor(self.cursor + by)

    def action_move_page(self, by: int) -> None:
        """Moves the cursor by a screen."""
        self.move_cursor(self.cursor + by * max(1, self.visible_rows - 1))

    def action_move_to(self, end: int) -> None:
        """Moves the cursor to the first row (0), or to the last (-1)."""
        self.move_cursor(0 if end == 0 else self.count - 1)

    def action_open(self) -> None:
        """Opens the row under the cursor."""
        if self.count:
            self.post_message(self.Opened(self))

    def action_copy(self) -> None:
        """Copies what the row under the cursor is called."""
        if self.named:
            app_of(self).copy(self.named)

    def on_click(self, event: events.Click) -> None:
        index = self.scroll_offset.y + event.y - _HEADS
        if event.y < _HEADS or index >= self.count:
            return
        again = index == self.cursor
        self.move_cursor(index)
        if again:
            self.action_open()
