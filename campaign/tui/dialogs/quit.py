"""The question on quitting while something that was started here goes on."""

from typing import ClassVar, Self

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Button, Static

from campaign.tui.dialog import Dialog
from campaign.tui.widgets.keys import Keys


class QuitDialog(Dialog[bool]):
    """Asks whether to quit although `heading`; `command` is what goes on, `told` what becomes of

    it, `verb` what to do. Staying has the focus.
    """

    deliberate = True
    AUTO_FOCUS = "#stay"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "stay", "Stay")]

    def __init__(self, heading: str, command: str, told: str, verb: str) -> None:
        super().__init__()
        self._heading, self._command, self._told, self._verb = heading, command, told, verb

    @classmethod
    def of_run(cls, command: str) -> Self:
        """While the run of `command` goes on."""
        told = "Quitting aborts it: everything is put back first, then this ends."
        return cls("A run is under way", command, told, "Abort, put back, quit")

    @classmethod
    def of_recovery(cls) -> Self:
        """While what runs have left is being put back."""
        told = "It is seen to its end first, then this ends."
        heading = "Everything is being put back"
        return cls(heading, "campaign recover", told, "Put back, then quit")

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = self._heading
            yield Static(self._command, markup=False, classes="command")
            yield Static(self._told, markup=False)
            with Horizontal(classes="buttons"):
                yield Button("Stay", id="stay", compact=True)
                yield Button(self._verb, id="end", variant="primary", compact=True)
        yield Keys()

    @on(Button.Pressed, "#end")
    def _end(self) -> None:
        self.dismiss(True)

    @on(Button.Pressed, "#stay")
    def action_stay(self) -> None:
        """Goes on as before."""
        self.dismiss(False)
