"""A few lines that are written again and again, and drawn where they have changed."""

from rich.text import Text
from textual.widgets import Static


class Written(Static):
    """A text whose lines are not wrapped: only another number of them takes a layout."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(markup=False, id=id)
        self._written = Text()

    def write(self, text: Text) -> None:
        """Shows `text`, as it stands."""
        if text == self._written:
            return
        same_height = text.plain.count("\n") == self._written.plain.count("\n")
        self._written = text
        self.update(text, layout=not same_height)
