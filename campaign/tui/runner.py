"""A run started from here: a child process that runs the very command that was shown."""

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence

from campaign.workspace import Workspace


def command_text(arguments: Sequence[str]) -> str:
    """The command as a person would type it in the workspace."""
    return shlex.join(["campaign", *arguments])


class Runner:
    """At most one child process; what it does is read from the ledger, as of any other run."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self.command = ""

    @property
    def busy(self) -> bool:
        """Whether the child is there and has not ended."""
        return self._child is not None and self._child.poll() is None

    def start(self, workspace: Workspace, arguments: Sequence[str]) -> None:
        """Starts `campaign ARGUMENTS` in a session of its own. Errors: OSError."""
        self.command = command_text(arguments)
        self._child = subprocess.Popen(
            [sys.executable, "-m", "campaign.cli", "-w", str(workspace.root), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(os.environ),
            start_new_session=True,
        )

    def ask_to_stop(self, number: signal.Signals = signal.SIGINT) -> None:
        """Asks the child to abort and put back."""
        if self._child is not None and self.busy:
            self._child.send_signal(number)

    def wait(self) -> int:
        """Waits for the child's end and returns its exit code; to be called in a thread."""
        return self._child.wait() if self._child is not None else 0
