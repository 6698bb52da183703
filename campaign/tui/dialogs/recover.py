"""Putting back what a run left."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from campaign.cli.recovered import recovered_text
from campaign.operations import recover as recovering
from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.dialogs.text import TextDialog
from campaign.tui.the_app import app_of
from campaign.workspace import Workspace


class RecoverDialog(ActionDialog):
    """Asks whether to recover from what `left` names, and shows what was done."""

    heading = "Recover"
    verb = "Recover"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+s", "act", "Recover", priority=True)]
    doing = "Putting back. Services that ran a change are restarted, which may take a while ..."

    def __init__(self, left: Sequence[str]) -> None:
        super().__init__()
        self._left = "\n".join(left)
        self._result = ""
        self._remaining: tuple[str, ...] = ()

    def compose_fields(self) -> ComposeResult:
        yield Static(self._left, markup=False)
        yield Static(
            "\nEvery host is put back from its own journal, what ran a change is restarted, and all"
            " is verified. A file that someone else has changed meanwhile is left alone.\n",
            markup=False,
        )

    def collect(self) -> None:
        """There is nothing to take."""

    def arguments(self) -> Sequence[str]:
        return ["recover"]

    def act(self, workspace: Workspace) -> None:
        done = recovering.recover(workspace)
        self._result, self._remaining = recovered_text(done), done.remaining

    def done(self) -> None:
        app_of(self).outstanding = self._remaining
        self.app.push_screen(TextDialog("campaign recover", self._result))
