"""What a pane shows while there is nothing: what would fill it, and how."""

from textual.widgets import Static


class Empty(Static, can_focus=True):
    """A text, shown as it stands."""

    def __init__(self, text: str, *, id: str | None = None) -> None:
        super().__init__(text, markup=False, id=id)
