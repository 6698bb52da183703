"""A few lines that are written again and again, and drawn where they have changed."""

from rich.text import Text
from textual.widgets import Static


class Written(Static):
    """A text whose lines are not wrapped: only another number of them takes a layout.

    It says its height itself: where a layout is due already, Textual keeps one that it has found.
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(markup=False, id=id)
        self._written, self._lines = Text(), 0

    def write(self, text: Text) -> None:
        """Shows `text`, as it stands."""
        if text == self._written:
            return
        self._written = text
        self.update(text, layout=False)
        height = text.plain.count("\n") + 1
        if height != self._lines:
            self._lines = self.styles.height = height
