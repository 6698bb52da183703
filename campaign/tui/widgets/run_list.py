"""A list of any number of runs, of which only what is on the screen is read and drawn."""

from array import array
from collections.abc import Callable, Sequence
from functools import partial

from rich.text import Text

from campaign.operations.runs import Listed
from campaign.tui.colours import colour
from campaign.tui.reading import Reading
from campaign.tui.widgets.rows import Rows
from campaign.tui.widgets.run_rows import head_line, run_line, waiting_line

Fetch = Callable[[Sequence[int]], dict[int, Listed]]

_KEPT = 2000
"""As many runs that were read are kept at most."""


class RunList(Rows):
    """Runs by their places in the ledger; the cursor stays on its run when others come in."""

    def __init__(self) -> None:
        super().__init__(id="run-list")
        self.places: array[int] = array("q")
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

    @property
    def named(self) -> str:
        return self.run.run.id if self.run is not None else ""

    @property
    def count(self) -> int:
        return len(self.places)

    def heads(self, width: int) -> str:
        return head_line(width)

    def row(self, index: int, width: int) -> Text:
        place = self.places[index]
        one = self._known.get(place)
        if one is None:
            return waiting_line()
        return run_line(one, width, partial(colour, self.app), marked=place == self.marked)

    def show(self, places: "array[int]", fetch: Fetch) -> None:
        """Shows the runs at `places`, which `fetch` reads; what was read before is read again."""
        before, row = self.place, self.cursor - self.scroll_offset.y
        self.places, self._fetch = places, fetch
        self._stale = set(self._known)
        self.cursor = 0 if before is None or before not in places else places.index(before)
        self.redraw()
        self.scroll_to(y=self.cursor - row, animate=False, immediate=True)
        self._look()

    def move_to_place(self, place: int) -> None:
        """Puts the cursor on the run at `place`, where that is in the list."""
        if place in self.places:
            self.move_cursor(self.places.index(place))

    def fit(self) -> None:
        super().fit()
        self._look()

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        self._look()

    def _look(self) -> None:
        """Asks for what is on the screen and not known, then for what a key would lead to.

        That is a screen before and behind it, and the first and the last one.
        """
        height = max(1, self.visible_rows)
        if self._fetch is None:
            return
        if missing := self._missing(self._near(0)):
            self._read.ask(partial(self._fetch, missing), fills=self.run is None)
        elif self._missing(self._near(1)):
            self._read.ask(partial(self._fetch, self._missing(self._near(height))))
        elif ends := self._missing(self.places[:height] + self.places[-height:]):
            self._read.ask(partial(self._fetch, ends))

    def _near(self, beyond: int) -> Sequence[int]:
        """The places of the screen and of so many rows before and behind it.

        That of the run under the cursor is among them: it is shown whole, also out of sight.
        """
        first = self.scroll_offset.y
        near = self.places[max(0, first - beyond) : first + self.visible_rows + beyond]
        return near if self.place in near else near + self.places[self.cursor : self.cursor + 1]

    def _missing(self, places: Sequence[int]) -> list[int]:
        """Those of the places that are not known as they are now."""
        return [one for one in places if one not in self._known or one in self._stale]

    def _take(self, found: dict[int, Listed]) -> None:
        if len(self._known) > _KEPT:
            self._known.clear()
            self._stale.clear()
        self._known.update(found)
        self._stale.difference_update(found)
        if found:
            self._drawn.clear()
            first = self.scroll_offset.y
            if not found.keys().isdisjoint(self.places[first : first + self.visible_rows]):
                self.redraw()
            self._look()
        if self.place in found:
            self.post_message(self.Focused(self))

    def action_open(self) -> None:
        """Opens the run under the cursor, once it was read."""
        if self.run is not None:
            super().action_open()
