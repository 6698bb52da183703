"""Saving an output of a run."""

from collections.abc import Sequence
from pathlib import Path

from textual.app import ComposeResult

from campaign.operations import runs as operations
from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.dialogs.fields import Field, line
from campaign.workspace import Workspace


class SaveDialog(ActionDialog):
    """Asks where to; what the run `run` kept, or is writing, as `name` is copied there."""

    heading = "Save the output"

    def __init__(self, run: str, name: str, suggested: Path) -> None:
        super().__init__()
        self._run = run
        self._output = name
        self._field = line(str(suggested), "a file that is not there yet")
        self._to = suggested

    def compose_fields(self) -> ComposeResult:
        yield Field("save as", self._field)

    def collect(self) -> None:
        if not self._field.value.strip():
            raise ValueError("say where to")
        self._to = Path(self._field.value.strip()).expanduser()

    def arguments(self) -> Sequence[str]:
        return ["runs", "log", self._run, self._output, "-o", str(self._to)]

    def act(self, workspace: Workspace) -> None:
        operations.save(workspace, self._run, self._output, self._to)
