"""What rich renders, line by line: no more is drawn than has changed, and is on the screen."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.console import Group, RenderableType
from rich.segment import Segment
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from campaign.tui.the_app import app_of
from campaign.tui.widgets.sized import Sized


def aligned(rows: Sequence[Sequence[Text]], sides: str, gap: int = 2) -> Iterator[Text]:
    """Rows of cells in columns that stand to the left (l) or to the right (r), `gap` blanks apart.

    A table of rich wraps what has no room, and takes ten times as long.
    """
    widths = [max(cell.cell_len for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        line = Text(no_wrap=True)
        for cell, width, side in zip(row, widths, sides, strict=True):
            blanks = " " * (width - cell.cell_len)
            line.append(blanks if side == "r" else "").append_text(cell)
            line.append(f"{'' if side == 'r' else blanks}{' ' * gap}")
        line.rstrip()
        yield line


class Lines(Sized, can_focus=True):
    """A text that scrolls. It is rendered when it is shown, and when there is another width."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"lines--line"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("k", "scroll_up", "Up", show=False),
        Binding("j", "scroll_down", "Down", show=False),
        Binding("g", "scroll_home", "Start", show=False),
        Binding("G", "scroll_end", "End", show=False),
        Binding("Y", "copy", "Copy", show=False, tooltip="Copy all that stands here"),
    ]

    def __init__(self, *, id: str, beside: int = 0) -> None:
        """`beside`: columns that are left free beside the scrollbar."""
        super().__init__(id=id)
        self._beside = beside
        self._parts: Callable[[], Iterable[RenderableType]] = tuple
        self._lines: list[Strip] = []
        self._width = 0

    @property
    def columns(self) -> int:
        """How wide a line may be; 0 before there is a size."""
        return max(0, self.scrollable_content_region.width - self._beside)

    def show(self, parts: Callable[[], Iterable[RenderableType]]) -> None:
        """Shows what `parts` returns, one below the other; it may go by `columns`."""
        self._parts = parts
        self._draw()

    def action_copy(self) -> None:
        """Copies all that it says, also what is out of sight."""
        app_of(self).copy("\n".join(line.text.rstrip() for line in self._lines))

    def fit(self) -> None:
        if self.columns != self._width:
            self._draw()

    def _draw(self) -> None:
        self._width = self.columns
        if not self._width:
            return
        before, self._lines = self._lines, self._rendered()
        self.virtual_size = Size(self._width, len(self._lines))
        for place, (old, new) in enumerate(zip_longest(before, self._lines)):
            if old != new:
                self.refresh_line(place)

    def _rendered(self) -> list[Strip]:
        options = self.app.console_options.update(width=self._width, height=None, highlight=False)
        segments = self.app.console.render(Group(*self._parts()), options)
        split = Segment.split_and_crop_lines(
            segments, self._width, include_new_lines=False, pad=False
        )
        return [Strip(line) for line in split]

    def render_line(self, y: int) -> Strip:
        place, width = y + self.scroll_offset.y, self.size.width
        style = self.get_component_rich_style("lines--line")
        if place >= len(self._lines):
            return Strip.blank(width, style)
        return self._lines[place].extend_cell_length(width).apply_style(style)
