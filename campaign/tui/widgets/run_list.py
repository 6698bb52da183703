"""A list of any number of runs, of which only what is on the screen is read and drawn."""

from array import array
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from campaign.operations.runs import Listed
from campaign.tui.colours import colour
from campaign.tui.reading import Reading
from campaign.tui.widgets.run_rows import run_line, waiting_line

Fetch = Callable[[Sequence[int]], dict[int, Listed]]

_KEPT = 2000
"""As many runs that were read are kept at most."""


class RunList(ScrollView, can_focus=True):
    """Runs by their places in the ledger; the cursor stays on its run when others come in."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"run-list--cursor"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "move_page(-1)", "Page up", show=False),
        Binding("pagedown", "move_page(1)", "Page down", show=False),
        Binding("home,g", "move_to(0)", "Newest", show=False, tooltip="To the newest run"),
        Binding("end,G", "move_to(-1)", "Oldest", show=False, tooltip="To the oldest run"),
        Binding("enter", "open", "Open", tooltip="Show the run whole"),
    ]

    class Focused(Message):
        """The cursor is on another run, or that run was read."""

    class Opened(Message):
        """The run under the cursor is to be shown whole."""

    def __init__(self) -> None:
        super().__init__(id="run-list")
        self.places: array[int] = array("q")
        self.cursor = 0
        self.marked: int | None = None
        self._fetch: Fetch | None = None
        self._known: dict[int, Listed] = {}
        self._stale: set[int] = set()
        self._read: Reading[dict[int, Listed]] = Reading(self, self._take)

    @property
    def place(self) -> int | None:
        """Where the run under the cursor is in the ledger."""
        return self.places[self.cursor] if self.cursor < len(self.places) else None

    @property
    def run(self) -> Listed | None:
        """The run under the cursor, once it was read."""
        return self._known.get(self.place) if self.place is not None else None

    def known(self, place: int | None) -> Listed | None:
        """The run at a place, where it was read."""
        return self._known.get(place) if place is not None else None

    def show(self, places: "array[int]", fetch: Fetch) -> None:
        """Shows the runs at `places`, which `fetch` reads; what was read before is read again."""
        before, row = self.place, self.cursor - self.scroll_offset.y
        self.places, self._fetch = places, fetch
        self._stale = set(self._known)
        self.virtual_size = Size(self.scrollable_content_region.width, len(places))
        self.cursor = 0 if before is None or before not in places else places.index(before)
        self.scroll_to(y=self.cursor - row, animate=False, immediate=True)
        self._look()

    def move_to_place(self, place: int) -> None:
        """Puts the cursor on the run at `place`, where that is in the list."""
        if place in self.places:
            self._move_cursor(self.places.index(place))

    def on_resize(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.places))
        self._look()

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        self._look()

    def _look(self) -> None:
        """Draws what is on the screen, and asks for what of it is not known."""
        self.refresh()
        first, height = self.scroll_offset.y, self.scrollable_content_region.height
        visible = self.places[first : first + height]
        fetch = self._fetch
        if fetch is None or not any(self._is_missing(one) for one in visible):
            return
        near = self.places[max(0, first - height) : first + 2 * height]
        self._read.ask(partial(fetch, [one for one in near if self._is_missing(one)]))

    def _is_missing(self, place: int) -> bool:
        return place not in self._known or place in self._stale

    def _take(self, found: dict[int, Listed]) -> None:
        if len(self._known) > _KEPT:
            self._known.clear()
            self._stale.clear()
        self._known.update(found)
        self._stale.difference_update(found)
        if found:
            self._look()
        if self.place in found:
            self.post_message(self.Focused())

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        if index >= len(self.places):
            return Strip.blank(width, self.rich_style)
        place = self.places[index]
        one = self._known.get(place)
        style = self._style(index)
        if one is None:
            line = waiting_line(Style.null())
        else:
            line = run_line(one, width, partial(colour, self.app), marked=place == self.marked)
        strip = Strip(line.render(self.app.console, end="")).apply_style(style)
        return strip.adjust_cell_length(width, style)

    def _style(self, index: int) -> Style:
        if index == self.cursor:
            return self.rich_style + self.get_component_rich_style("run-list--cursor")
        return self.rich_style

    def _move_cursor(self, to: int) -> None:
        to = max(0, min(to, len(self.places) - 1))
        height = self.scrollable_content_region.height
        top = self.scroll_offset.y
        if to != self.cursor:
            self.cursor = to
            self.post_message(self.Focused())
        if to < top:
            self.scroll_to(y=to, animate=False, immediate=True)
        elif to >= top + height:
            self.scroll_to(y=to - height + 1, animate=False, immediate=True)
        self._look()

    def action_move(self, by: int) -> None:
        """Moves the cursor by so many runs."""
        self._move_cursor(self.cursor + by)

    def action_move_page(self, by: int) -> None:
        """Moves the cursor by a screen."""
        self._move_cursor(self.cursor + by * max(1, self.scrollable_content_region.height - 1))

    def action_move_to(self, end: int) -> None:
        """Moves the cursor to the newest run (0), or to the oldest (-1)."""
        self._move_cursor(0 if end == 0 else len(self.places) - 1)

    def action_open(self) -> None:
        """Opens the run under the cursor."""
        if self.run is not None:
            self.post_message(self.Opened())

    def on_click(self, event: events.Click) -> None:
        again = self.scroll_offset.y + event.y == self.cursor
        self._move_cursor(self.scroll_offset.y + event.y)
        if again:
            self.action_open()
