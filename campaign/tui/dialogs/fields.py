"""The fields of dialogs: a label, and what is typed."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Input, Label, TextArea


class Field(Horizontal):
    """A label before a widget."""

    def __init__(self, label: str, widget: Widget) -> None:
        super().__init__(classes="field")
        self._label = label
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield Label(self._label, markup=False)
        yield self.widget


def line(value: str, hint: str = "") -> Input:
    """One line of text."""
    return Input(value, placeholder=hint, compact=True, select_on_focus=False)


def lines(values: tuple[str, ...], hint: str = "") -> TextArea:
    """Several texts, one a line."""
    return TextArea(
        "\n".join(values), placeholder=hint, compact=True, tab_behavior="focus", soft_wrap=False
    )


def texts(area: TextArea) -> tuple[str, ...]:
    """The lines that are not blank."""
    return tuple(text.strip() for text in area.text.splitlines() if text.strip())
