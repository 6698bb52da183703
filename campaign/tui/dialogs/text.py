"""A dialog that shows a text."""

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from campaign.cli.text import shown
from campaign.tui.widgets.keys import Keys


class TextDialog(ModalScreen[None]):
    """Shows `text` under `heading`, as they stand; scrolls."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q,enter", "dismiss", "Close")]

    def __init__(self, heading: str, text: str) -> None:
        super().__init__()
        self._heading = heading
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(classes="dialog") as box:
            box.border_title = Text(shown(self._heading))
            yield Static(Text(shown(self._text)), markup=False)
        yield Keys()
