"""A dialog that shows a text."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from campaign.cli.text import shown
from campaign.tui.dialog import Dialog
from campaign.tui.widgets.keys import Keys


class TextDialog(Dialog[None]):
    """Shows `text` under `heading`, as they stand; scrolls.

    One that opens `by_itself` is not closed by what was typed for something else.
    """

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter", "dismiss", "Close")]

    def __init__(self, heading: str, text: str, *, by_itself: bool = False) -> None:
        super().__init__()
        self.deliberate = by_itself
        self._heading = heading
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as box:
            box.border_title = Text(shown(self._heading))
            yield Static(Text(shown(self._text)), markup=False)
        yield Keys()
