"""The command with a terminal in front of it: what it shows, what is typed."""

import os
import pty
import select
import signal
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from toy import Toy

PATIENCE_S = 60.0
LONGEST_RUN_S = 300.0


class Terminal:
    """A command whose input and standard error are a terminal, and whose output is a pipe."""

    def __init__(self, toy: Toy, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.text = ""
        self.process = subprocess.Popen(
            toy.command(*arguments),
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=slave,
            text=True,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
        )
        os.close(slave)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()
        os.close(self._master)

    def until(self, text: str) -> None:
        """Reads until `text` is on the screen."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.text:
            assert time.monotonic() < deadline, f"no {text!r} in {self.text!r}"
            assert self._read(0.1), f"it ended without {text!r}: {self.text!r}"

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C once it reads: before that, Python would note it and read all the same."""
        deadline, doing = time.monotonic() + PATIENCE_S, Path(f"/proc/{self.process.pid}/syscall")
        while doing.read_text().split()[1:2] != ["0x0"]:  # what it reads from
            assert time.monotonic() < deadline, f"it reads nothing: {self.text!r}"
            time.sleep(0.01)
        self.process.send_signal(signal.SIGINT)

    def end(self) -> tuple[int, str]:
        """Its exit code and its standard output, once it has ended."""
        deadline = time.monotonic() + LONGEST_RUN_S
        while self._read(1.0):
            assert time.monotonic() < deadline, f"it does not end: {self.text!r}"
        output, _ = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, output

    def _read(self, patience: float) -> bool:
        """Reads what is there; false at the end, when no process has the terminal any more."""
        if not select.select([self._master], [], [], patience)[0]:
            return True
        try:
            chunk = os.read(self._master, 65536)
        except OSError:
            return False
        self.text += chunk.decode("utf-8", "replace")
        return bool(chunk)
