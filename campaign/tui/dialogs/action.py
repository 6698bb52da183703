"""A dialog that does one thing: its fields, the command that does the same, and what went wrong."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.widget import Widget
from textual.widgets import Button, Input, Select, Static, TextArea

from campaign.cli.text import shown
from campaign.tui.dialog import Dialog
from campaign.tui.reading import Reading
from campaign.tui.runner import command_text
from campaign.tui.the_app import app_of
from campaign.tui.widgets.keys import COPY_COMMAND, HELP_IN_DIALOGS, Keys
from campaign.workspace import Workspace


class ActionDialog(Dialog[None]):
    """Shows its fields with the command below, kept up to date; nothing typed is ever lost.

    Doing it closes the dialog; where that fails it stays, with one line that says why.
    """

    heading = ""
    verb = "Save"
    doing = "Saving ..."

    HELP = """
Tab goes to the next field, and so does Enter; in the last one Enter does it. The command below
does the same in a terminal. Where it does not succeed, one line says why, and all that was typed
is kept.
"""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "act", "Save", priority=True, tooltip="Do it"),
        COPY_COMMAND,
        HELP_IN_DIALOGS,
        Binding("escape", "cancel", "Cancel", tooltip="Close this; nothing is done"),
        Binding("up", "scroll(-1)", "Up", show=False),
        Binding("down", "scroll(1)", "Down", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._command = Static("", markup=False, classes="command")
        self._told = Static("", markup=False, classes="wrong")
        self._judged: list[object] = []
        self._done: Reading[str] = Reading(self, self._succeeded, self._refuse)

    @abstractmethod
    def compose_fields(self) -> ComposeResult:
        """The fields, in order."""

    @abstractmethod
    def arguments(self) -> Sequence[str]:
        """What would follow `campaign` on the command line."""

    @abstractmethod
    def act(self, workspace: Workspace) -> None:
        """Does it. Called in a thread: it must not touch widgets. Errors: CampaignError."""

    @abstractmethod
    def collect(self) -> None:
        """Takes from the fields what `act` needs. Errors: ValueError with what is wrong."""

    def done(self) -> None:
        """Called once it is done and the dialog is closed."""

    def on_mount(self) -> None:
        self._changed()

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as box:
            box.border_title = Text(shown(self.heading))
            with VerticalScroll(classes="fields", can_focus=False):
                yield from self.compose_fields()
            yield self._command
            yield self._told
            with Horizontal(classes="buttons"):
                yield Button("Cancel", id="cancel", compact=True)
                yield Button(self.verb, id="act", variant="primary", compact=True)
        yield Keys()

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Select.Changed)
    def _changed(self) -> None:
        """A quick hand has it done before it is heard what was typed: what is said then stays."""
        if self._typed() != self._judged:
            self._say("")
        try:
            self.collect()
        except ValueError:
            return
        self._command.update(Text(shown(command_text(self.arguments()))))

    def _typed(self) -> list[object]:
        """All that is in the fields."""
        texts = [one.text for one in self.query(TextArea)]
        chosen = [one.value for one in self.query(Select)]
        return [*texts, *chosen, *(one.value for one in self.query(Input))]

    @on(Input.Submitted)
    def _entered(self, event: Input.Submitted) -> None:
        """Enter goes to the next field, and in the last one does it."""
        if event.input is [*self.query("Input, TextArea, Select").results(Widget)][-1]:
            self.action_act()
        else:
            self.focus_next()

    @on(Button.Pressed, "#act")
    def action_act(self) -> None:
        """Does it."""
        workspace = app_of(self).workspace
        if workspace is None:
            return
        self._judged = self._typed()
        try:
            self.collect()
        except ValueError as error:
            self._refuse(str(error))
            return
        command = command_text(self.arguments())
        self._say(self.doing)
        self._done.ask(lambda: self._act(workspace, command), fills=True)

    def _act(self, workspace: Workspace, command: str) -> str:
        self.act(workspace)
        return command

    def _succeeded(self, command: str) -> None:
        app_of(self).did(command)
        app_of(self).read_again(fills=True)
        self.dismiss()
        self.done()

    def _refuse(self, why: str) -> None:
        """Says why it is not done. What was typed ahead rests on that it is."""
        app_of(self).keyboard.forget()
        self._say(why)

    def _say(self, text: str) -> None:
        """What is wrong, or being done; nothing where `text` is empty."""
        self._told.update(Text(shown(text)))
        self._told.display = bool(text)

    @on(Button.Pressed, "#cancel")
    def action_cancel(self) -> None:
        """Closes the dialog; nothing is done."""
        self.dismiss()

    def action_scroll(self, by: int) -> None:
        """Scrolls what there is no room for by a line."""
        self.query_one(".fields").scroll_relative(y=by, animate=False)

    def action_copy_command(self) -> None:
        """Copies the command."""
        try:
            self.collect()
        except ValueError as error:
            self._say(str(error))
            return
        app_of(self).copy(command_text(self.arguments()))
