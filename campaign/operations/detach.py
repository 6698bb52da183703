"""detach: a run in a process of its own; what it prints, and the plan it is held to, are kept."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from campaign.errors import CampaignError
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from campaign.workspace import Workspace

KEPT = 10
"""What so many runs have printed is kept, and the plans that they were held to."""

_LOOK_EVERY_S = 0.05
_NEWEST = 50


class Launched(Struct, frozen=True):
    """A command on its own: its process, since when it runs, and what it prints."""

    process: "subprocess.Popen[bytes]"
    began: float
    printed: Path

    def await_run(self, workspace: Workspace) -> records.Run | None:
        """The run, once it is in the ledger; None where the process ended before it was."""
        while True:
            over = self.process.poll() is not None
            run = self._run(workspace)
            if run is not None or over:
                return run
            time.sleep(_LOOK_EVERY_S)

    def _run(self, workspace: Workspace) -> records.Run | None:
        """An older run may have been of a process with the same pid."""
        with suppress(CampaignError), Ledger.open(workspace.ledger) as ledger:
            for one in ledger.runs(limit=_NEWEST):
                if one.owner_pid == self.process.pid and one.started_at >= self.began:
                    return one
        return None


def launch(
    workspace: Workspace,
    arguments: Sequence[str],
    variable: str,
    plan: str,
    cwd: Path,
    env: Mapping[str, str],
) -> Launched:
    """Starts `campaign ARGUMENTS` in a session of its own.

    The environment `variable` names the file that holds `plan`; `env` is added. Errors: OSError.
    """
    printed, began = _new_log(workspace), time.time()
    held = printed.with_suffix(".json")
    held.write_text(plan, encoding="utf-8")
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "campaign.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=cwd,
            env={**os.environ, variable: str(held), **env},
            start_new_session=True,
        )
    return Launched(process, began, printed)


def _new_log(workspace: Workspace) -> Path:
    """A new file for what a run prints, among the few that are kept. Errors: OSError."""
    folder = workspace.started
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.log"))[: 1 - KEPT]:
        for one in (old, old.with_suffix(".json")):
            with suppress(OSError):
                one.unlink()
    return folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
