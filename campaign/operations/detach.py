"""detach: a run that goes on without a terminal; what it prints goes to a file."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from campaign.errors import CampaignError
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from campaign.workspace import Workspace

KEPT = 10
"""What so many runs have printed is kept."""

_LOOK_EVERY_S = 0.05
_NEWEST = 50


@dataclass(frozen=True)
class Detached:
    """A run on its own: its process, what it prints, and its row once it has one."""

    process: "subprocess.Popen[bytes]"
    printed: Path
    run: records.Run | None = None


def detach(workspace: Workspace, arguments: Sequence[str]) -> Detached:
    """Starts `campaign ARGUMENTS` in a session of its own, and waits until the run has begun.

    Where it ended before it had, `run` is None and the process has its exit code. Errors: OSError.
    """
    printed, began = new_log(workspace), time.time()
    with printed.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "campaign.cli", *arguments],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    while True:
        over = process.poll() is not None
        run = _run_of(workspace, process.pid, began)
        if run is not None or over:
            return Detached(process, printed, run)
        time.sleep(_LOOK_EVERY_S)


def _run_of(workspace: Workspace, pid: int, began: float) -> records.Run | None:
    """The run that the process has begun, if it has; an older one may have had its pid."""
    with suppress(CampaignError), Ledger.open(workspace.ledger) as ledger:
        newest = ledger.runs(limit=_NEWEST)
        return next(
            (one for one in newest if one.owner_pid == pid and one.started_at >= began), None
        )
    return None


def new_log(workspace: Workspace) -> Path:
    """A new file for what a run prints, among the few that are kept. Errors: OSError."""
    folder = workspace.started
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.log"))[: 1 - KEPT]:
        with suppress(OSError):
            old.unlink()
    return folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
