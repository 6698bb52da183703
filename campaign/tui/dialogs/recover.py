"""Putting back what a run left."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.the_app import app_of
from campaign.workspace import Workspace


class RecoverDialog(ActionDialog):
    """Asks whether to recover from what `left` names; the app then does, and says how it ended.

    With `run` that is what this run keeps.
    """

    heading = "Recover"
    verb = "Recover"
    deliberate = True
    AUTO_FOCUS = "#cancel"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "act", "Recover", priority=True, tooltip="Put back what is left")
    ]

    def __init__(self, left: Sequence[str], run: str = "") -> None:
        super().__init__()
        self._left = "\n".join(left)
        self._run_kept = run

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
        return ["recover", self._run_kept] if self._run_kept else ["recover"]

    def act(self, workspace: Workspace) -> None:
        """The app does it."""

    def done(self) -> None:
        app_of(self).recover(self._run_kept)
