"""A dialog to pick one of a few."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.widgets import OptionList

from campaign.cli.text import shown
from campaign.tui.dialog import Dialog
from campaign.tui.widgets.keys import Keys


class PickDialog(Dialog[int]):
    """Shows `names` under `heading`; returns the index of the one that was picked."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,q", "dismiss", "Close")]

    def __init__(self, heading: str, names: Sequence[str]) -> None:
        super().__init__()
        self._heading = heading
        self._list = OptionList(*(Text(shown(name), no_wrap=True) for name in names), markup=False)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Text(shown(self._heading))
            box.border_subtitle = "Enter picks"
            yield self._list
        yield Keys()

    @on(OptionList.OptionSelected)
    def _pick(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_index)
