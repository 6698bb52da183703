"""Retracting a run."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.widgets import Static

from campaign.operations import runs as operations
from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.dialogs.fields import Field, line
from campaign.workspace import Workspace


class RetractDialog(ActionDialog):
    """Asks why the results of `run` (an id) do not count."""

    verb = "Retract"
    doing = "Retracting, and judging again what rested on it ..."

    def __init__(self, run: str) -> None:
        super().__init__()
        self._run = run
        self._line = line("", "it is kept, and shown with the run")
        self._reason = ""
        self.heading = f"Retract {run}"

    def compose_fields(self) -> ComposeResult:
        yield Field("reason", self._line)
        yield Static(
            "\nIts results no longer count; what it cost stays. Verdicts of later runs and"
            " standings are judged again without it. This is not taken back.\n",
            markup=False,
        )

    def collect(self) -> None:
        self._reason = self._line.value.strip()

    def arguments(self) -> Sequence[str]:
        return ["runs", "retract", self._run, "--reason", self._reason]

    def act(self, workspace: Workspace) -> None:
        operations.retract(workspace, self._run, self._reason)
