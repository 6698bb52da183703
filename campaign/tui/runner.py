"""A run started from here: a child process that runs the very command that was shown."""

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from campaign.cli.parent import PARENT
from campaign.cli.plans import as_data
from campaign.cli.run import AS_PLANNED
from campaign.cli.text import shown
from campaign.operations.plan import Planned
from campaign.workspace import Workspace

KEPT = 10
"""What so many runs have printed is kept, and the plans that they were held to."""
_LAST_LINES, _LAST_BYTES = 12, 8192


def command_text(arguments: Sequence[str]) -> str:
    """The command as a person would type it in the workspace."""
    return shlex.join(["campaign", *arguments])


class Runner:
    """At most one child process; what it does is read from the ledger, as of any other run."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._printed = Path(os.devnull)
        self.command = ""
        self.asked = False

    @property
    def busy(self) -> bool:
        """Whether the child is there and has not ended."""
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int | None:
        """The child's pid; None where there was none so far."""
        return self._child.pid if self._child is not None else None

    def start(
        self,
        workspace: Workspace,
        arguments: Sequence[str],
        planned: Planned,
        ended: Callable[[int], None],
    ) -> None:
        """Starts `campaign ARGUMENTS` in a session of its own; its exit code goes to `ended`.

        It is a run of what was `planned`. `ended` is called in a thread. To be called in the main
        thread: the child ends with the thread that started it. Errors: OSError.
        """
        self.command, self.asked = command_text(arguments), False
        self._printed = _new_file(workspace.started)
        plan = self._printed.with_suffix(".json")
        plan.write_text(json.dumps(as_data(planned)), encoding="utf-8")
        with self._printed.open("wb") as printed:
            self._child = subprocess.Popen(
                [sys.executable, "-P", "-m", "campaign.cli", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                cwd=workspace.root,
                env={**os.environ, PARENT: str(os.getpid()), AS_PLANNED: str(plan)},
                start_new_session=True,
            )
        child = self._child
        threading.Thread(target=lambda: ended(child.wait()), daemon=True).start()

    def ask_to_stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Asks the child to abort and put back; once, since a third request would abandon that."""
        if self._child is not None and self.busy and not self.asked:
            self.asked = True
            self._child.send_signal(number)

    def last_words(self) -> str:
        """The end of what the child has printed."""
        try:
            data = self._printed.read_bytes()[-_LAST_BYTES:]
        except OSError:
            return ""
        lines = shown(data.decode(errors="replace")).strip().splitlines()
        return "\n".join(lines[-_LAST_LINES:])


def _new_file(folder: Path) -> Path:
    """A new file in `folder`, in which few are kept. Errors: OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in sorted(folder.glob("*.log"))[: 1 - KEPT]:
        for one in (old, old.with_suffix(".json")):
            with suppress(OSError):
                one.unlink()
    return folder / f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.log"
