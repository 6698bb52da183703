"""A text file of any size on the screen: followed as it grows, scrolled, searched."""

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from campaign.tui.colours import colour
from campaign.tui.reading import Reading
from campaign.tui.the_app import app_of
from campaign.tui.widgets.sized import Sized
from campaign.tui.window import Window, find

FOLLOW_S = 0.1
SHIFT = 20


class LogView(Sized, can_focus=True):
    """Shows the end of `path` as it grows; scrolling up pauses that, End goes on.

    Only the lines on the screen are drawn, and only a window of the file is held.
    """

    HELP = """
The output of the run, as it is written: the file itself is read, so a run that was started
elsewhere looks the same. Scrolling up stays there; End follows again. What is searched is the whole
file, not only what is shown. Colours and control characters are left out.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "toggle_follow", "Hold or follow", tooltip="Stay here, or follow the end"),
        Binding("end,G", "follow", "Follow", show=False),
        Binding("home,g", "top", "Start of the file", show=False),
        Binding("slash", "search", "Search", key_display="/", tooltip="Search in the whole file"),
        Binding("n", "next", "Next", show=False, tooltip="The next place further down"),
        Binding("N", "previous", "Previous", show=False, tooltip="The next place further up"),
        Binding("Y", "copy", "Copy", show=False, tooltip="Copy the path of the file"),
        Binding("left", "shift(-1)", "Left", show=False),
        Binding("right", "shift(1)", "Right", show=False),
    ]

    COMPONENT_CLASSES: ClassVar[set[str]] = {"log--line"}

    class Moved(Message):
        """It follows, or holds, or found what was searched for, or did not."""

    following: reactive[bool] = reactive(True)

    def __init__(self, ask: Callable[[], None], *, id: str) -> None:
        """`ask` asks what to search for."""
        super().__init__(id=id)
        self._ask = ask
        self._seeking = False
        self.path: Path | None = None
        self.window = Window(Path())
        self.said = ""
        self._wanted = ""
        self._hit: int | None = None
        self._shift = 0
        self._read: Reading[tuple[Window, int | None]] = Reading(self, self._take, self._fail)

    def on_mount(self) -> None:
        self.set_interval(FOLLOW_S, self._tick)

    def open(self, path: Path | None) -> None:
        """Shows another file from its end on; None: nothing."""
        if path == self.path:
            return
        self.path, self.window, self._shift = path, Window(path or Path()), 0
        self._hit, self._seeking, self.following = None, False, True
        self.fit()

    def search(self, wanted: str) -> None:
        """Goes to the last place of `wanted` in the file."""
        self._wanted, self._hit = wanted, None
        self._find(backwards=True)

    def _tick(self) -> None:
        """Ten times a second: what was added since, while it is on the screen."""
        if self.path is None or not self.following or not self.is_on_screen:
            return
        window = self.window
        self._read.ask(lambda: (window.follow(), None))

    @property
    def is_on_screen(self) -> bool:
        """Also below a dialog; while the app ends there is no screen."""
        return self.screen.is_current or self.screen in self.app.screen_stack[:1]

    def _take(self, read: tuple[Window, int | None]) -> None:
        window, line = read
        if window.path != self.path:
            return
        before, self.window = self.window, window
        if window.lines != before.lines or window.size != before.size:
            self.fit()
            self.post_message(self.Moved())
        if self.following:
            self.scroll_end(animate=False, immediate=True)
            return
        if line is not None:
            self.scroll_to(y=max(0, line), animate=False, immediate=True)
        if window != before:
            # A line may be longer than the window: there is nothing to scroll, and more to show.
            self._page(self.scroll_offset.y)

    def _fail(self, why: str) -> None:
        self.said, self._seeking = why, False
        self.post_message(self.Moved())

    def fit(self) -> None:
        self.virtual_size = Size(self.scrollable_content_region.width, len(self.window.lines))
        self.refresh()

    def render_line(self, y: int) -> Strip:
        index = y + self.scroll_offset.y
        width = self.scrollable_content_region.width
        style = self.get_component_rich_style("log--line")
        if index >= len(self.window.lines):
            return Strip.blank(width, style)
        line = self.window.lines[index]
        text = _cut(line.text, self._shift, width)
        return Strip([Segment(text, style + self._style(index))], width)

    def _style(self, index: int) -> Style:
        if self._hit is None or index != self.window.index(self._hit):
            return Style.null()
        return Style.parse(f"bold {colour(self.app, 'warning')}".strip()) + Style(reverse=True)

    def _hold(self) -> None:
        if self.following:
            self.following = False
            self.post_message(self.Moved())

    def watch_scroll_y(self, old: float, new: float) -> None:
        super().watch_scroll_y(old, new)
        if new < old and new < self.max_scroll_y:
            self._hold()
        if not self.following:
            self._page(new)

    def _page(self, y: float) -> None:
        """Reads on where the edge of the window is near, and stays on the same line.

        Not while something is searched for: that question would be forgotten for this one.
        """
        if self._seeking:
            return
        window, top = self.window, self._top
        if y <= 0 and window.start:
            self._read.ask(lambda: _stayed(window.earlier(), top))
        elif y >= self.max_scroll_y and not window.at_end:
            self._read.ask(lambda: _stayed(window.later(), top))

    @property
    def _top(self) -> int:
        """Where the line at the top begins in the file."""
        lines = self.window.lines
        return lines[min(self.scroll_offset.y, len(lines) - 1)].at if lines else 0

    def action_toggle_follow(self) -> None:
        """Stays where it is, or follows the end."""
        if self.following:
            self._hold()
        else:
            self.action_follow()

    def action_follow(self) -> None:
        """Goes to the end and follows it."""
        self.following, self._hit, self._seeking, self.said = True, None, False, ""
        self.post_message(self.Moved())
        window = Window(self.window.path)
        self._read.ask(lambda: (window.follow(), None))

    def action_top(self) -> None:
        """Goes to the start of the file."""
        self._hold()
        window, self._seeking = self.window, False
        self._read.ask(lambda: (window.around(0), 0))

    def action_search(self) -> None:
        """Asks for what to search for."""
        self._ask()

    def action_next(self) -> None:
        """The next place further down."""
        self._find(backwards=False)

    def action_previous(self) -> None:
        """The next place further up."""
        self._find(backwards=True)

    def _find(self, *, backwards: bool) -> None:
        window, wanted, hit = self.window, self._wanted, self._hit
        if not wanted:
            self.action_search()
            return
        self._seeking = True
        self._hold()
        start = hit if hit is not None else max(window.size, window.end)
        if not backwards:
            start = start + 1 if hit is not None else 0
        above = self.scrollable_content_region.height // 2
        self._read.ask(lambda: self._found(window, wanted, start, backwards, above))

    def _found(
        self, window: Window, wanted: str, start: int, backwards: bool, above: int
    ) -> tuple[Window, int | None]:
        """In the thread. The line that is found has `above` lines above it on the screen."""
        at = find(window.path, wanted, start, backwards=backwards)
        if at is None:
            self.call_later(self._fail, f"no {'earlier' if backwards else 'later'} {wanted!r}")
            return window, None
        self.call_later(self._mark, at)
        there = window.around(at)
        return there, there.index(at) - above

    def _mark(self, at: int) -> None:
        self._hit, self._seeking, self.said = at, False, ""
        self.refresh()

    def action_copy(self) -> None:
        """Copies the path of the file."""
        if self.path is not None:
            app_of(self).copy(str(self.path))

    def action_shift(self, by: int) -> None:
        """Shows what is further right, or left."""
        self._shift = max(0, self._shift + by * SHIFT)
        self.refresh()


def _stayed(window: Window, top: int) -> tuple[Window, int | None]:
    return window, window.index(top)


def _cut(text: str, shift: int, width: int) -> str:
    """`width` columns of `text`, from column `shift` on; a wide character is not halved."""
    skipped = 0
    while text and skipped < shift:
        skipped += cell_len(text[0])
        text = text[1:]
    return set_cell_size(" " * max(0, skipped - shift) + text, width)
