"""The fields of dialogs: a label, and what is typed."""

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.events import Paste
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


class Line(Input):
    """One line of text. Of what is pasted all lines are kept, one after the other."""

    def on_paste(self, event: Paste) -> None:
        """Before the paste is taken, of which a field would keep the first line only."""
        text = " ".join(line.strip() for line in event.text.splitlines())
        event.text = "".join(one for one in text.strip() if one.isprintable())


def line(value: str, hint: str = "") -> Line:
    """A field for one line of text."""
    return Line(value, placeholder=hint, compact=True, select_on_focus=False)


def lines(values: tuple[str, ...], hint: str = "") -> TextArea:
    """Several texts, one a line."""
    return TextArea(
        "\n".join(values), placeholder=hint, compact=True, tab_behavior="focus", soft_wrap=False
    )


def texts(area: TextArea) -> tuple[str, ...]:
    """The lines that are not blank."""
    return tuple(text.strip() for text in area.text.splitlines() if text.strip())
