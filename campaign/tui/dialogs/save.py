"""Saving an output of a run."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from textual.app import ComposeResult

from campaign.errors import CampaignError, Exit
from campaign.tui.dialogs.action import ActionDialog
from campaign.tui.dialogs.fields import Field, line
from campaign.workspace import Workspace


class SaveDialog(ActionDialog):
    """Asks where to; `kept` is the file that is copied, `suggested` where to."""

    heading = "Save the output"

    def __init__(self, kept: Path, suggested: Path) -> None:
        super().__init__()
        self._kept = kept
        self._to = line(str(suggested), "a file that is not there yet")
        self._path = suggested

    def compose_fields(self) -> ComposeResult:
        yield Field("save as", self._to)

    def collect(self) -> None:
        if not self._to.value.strip():
            raise ValueError("say where to")
        self._path = Path(self._to.value.strip()).expanduser()

    def program(self) -> Sequence[str]:
        return ["cp", "-n", str(self._kept), str(self._path)]

    def act(self, _workspace: Workspace) -> None:
        try:
            with self._kept.open("rb") as kept, self._path.open("xb") as new:
                shutil.copyfileobj(kept, new)
        except FileExistsError as error:
            what = f"{self._path} is there already"
            raise CampaignError(Exit.USAGE, what, "choose another name") from error
        except OSError as error:
            raise CampaignError(Exit.USAGE, f"{self._path}: {error.strerror}") from error
