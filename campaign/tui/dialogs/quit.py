"""The question on quitting while a run that was started here goes on."""

from enum import Enum, auto
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static


class Choice(Enum):
    """What to do about the run."""

    STAY = auto()
    ABORT = auto()


class QuitDialog(ModalScreen[Choice]):
    """Asks what to do about the run of `command`; staying has the focus."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "stay", "Stay")]

    def __init__(self, command: str) -> None:
        super().__init__()
        self._command = command

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = "A run is under way"
            yield Static(self._command, markup=False, classes="command")
            yield Static("Quitting aborts it: everything is put back first, then this ends.")
            with Horizontal(classes="buttons"):
                yield Button("Stay", id="stay", compact=True)
                yield Button("Abort, put back, quit", id="abort", variant="primary", compact=True)

    @on(Button.Pressed, "#abort")
    def _abort(self) -> None:
        self.dismiss(Choice.ABORT)

    @on(Button.Pressed, "#stay")
    def action_stay(self) -> None:
        """Goes on as before."""
        self.dismiss(Choice.STAY)
