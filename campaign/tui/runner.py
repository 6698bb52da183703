"""A run started from here: a child process that runs the very command that was shown."""

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from campaign.cli.options import AS_PLANNED
from campaign.cli.parent import PARENT
from campaign.cli.text import shown
from campaign.operations.detach import launch
from campaign.workspace import Workspace

if TYPE_CHECKING:
    from campaign.operations.plan import Planned

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
        planned: "Planned",
        ended: Callable[[int], None],
    ) -> None:
        """Starts `campaign ARGUMENTS` in a session of its own; its exit code goes to `ended`.

        It is a run of what was `planned`. `ended` is called in a thread. To be called in the main
        thread: the child ends with the thread that started it. Errors: OSError.
        """
        from campaign.cli.plans import as_json

        self.command, self.asked = command_text(arguments), False
        started = launch(
            workspace,
            arguments,
            AS_PLANNED,
            as_json(planned),
            workspace.root,
            {PARENT: str(os.getpid())},
        )
        self._child, self._printed = started.process, started.printed
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
