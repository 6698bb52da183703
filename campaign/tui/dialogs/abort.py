"""The question before a run is stopped."""

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from campaign.ledger.records import Run
from campaign.operations import control
from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.the_app import app_of
from campaign.workspace import Workspace


class AbortDialog(ActionDialog):
    """Asks whether to stop `run` and put everything back; to go on has the focus."""

    heading = "Abort the run?"
    verb = "Abort"
    doing = "Asking ..."
    deliberate = True
    AUTO_FOCUS = "#cancel"

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "act", "Abort", tooltip="Stop the run, and put everything back"),
        Binding("ctrl+s", "act", "Abort", show=False, priority=True),
    ]

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run

    def compose_fields(self) -> ComposeResult:
        yield Static(
            "It ends what it is doing, and puts everything back: its undos appear as steps. "
            "Its trials so far are kept, and count as no evidence.",
            markup=False,
        )

    def collect(self) -> None:
        """There is nothing to take."""

    def arguments(self) -> Sequence[str]:
        return ["runs", "abort", self._run.id]

    def act(self, workspace: Workspace) -> None:
        control.abort(workspace, self._run.id)

    def done(self) -> None:
        runner = app_of(self).runner
        if runner.pid == self._run.owner_pid:
            runner.asked = True
