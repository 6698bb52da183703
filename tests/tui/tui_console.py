"""The terminal UI in a real terminal of its own: keys, hang-ups, signals, and how it ended."""

import fcntl
import os
import pty
import select
import signal
import sqlite3
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable
from contextlib import closing
from types import TracebackType
from typing import Any, Self

from toy import Toy

PATIENCE_S = 60.0
LONG = """
name: long
kind: fix
question: How does a long run end?
vars: {trials: "1000000"}
steps:
  - name: correct the rule
    patch: {root: src, diff: patches/fix.diff}
  - restart: {services: [app]}
  - reproduce: {use: trials}
"""


class Console:
    """The program in a session whose terminal is ours to take away, controlling it or not."""

    def __init__(
        self, toy: Toy, size: tuple[int, int] = (120, 35), *, controlling: bool = True
    ) -> None:
        self._toy = toy
        self.text, self._since = "", 0
        self._over = threading.Event()
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            if not controlling:
                signal.signal(signal.SIGHUP, signal.SIG_IGN)
                fcntl.ioctl(0, termios.TIOCNOTTY)
                signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.execve(sys.executable, toy.command("tui"), {**os.environ, "TERM": "xterm-256color"})
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", *size[::-1], 0, 0))
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._code: int | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._code is None:
            os.kill(self.pid, signal.SIGTERM)
            self.end()
        if not self._over.is_set():
            self.hang_up()

    def _read(self) -> None:
        """What it writes, until the terminal is taken away."""
        while not self._over.is_set():
            if select.select([self._master], [], [], 0.05)[0]:
                try:
                    self.text += os.read(self._master, 65536).decode("utf-8", "replace")
                except OSError:
                    break

    def type(self, keys: str) -> None:
        self.forget()
        os.write(self._master, keys.encode())

    def forget(self) -> None:
        """From now on only what it writes anew is looked at."""
        self._since = len(self.text)

    @property
    def anew(self) -> str:
        """What it has written since something was typed, or it was told to forget."""
        return self.text[self._since :]

    def shows(self, text: str) -> None:
        """Waits until it has written `text` anew."""
        await_that(
            lambda: text in self.anew,
            lambda: f"no {text!r} in {self.text[-3000:]!r}",
        )

    def hang_up(self) -> None:
        """Takes the terminal away, as a lost connection does."""
        self._over.set()
        self._reader.join()
        os.close(self._master)

    def end(self) -> int:
        """Its exit code, once it has ended; negative where a signal ended it."""
        if self._code is None:
            ended: list[int] = []

            def has_ended() -> bool:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                ended.append(status)
                return pid == self.pid

            await_that(has_ended, lambda: f"it does not end: {self.text[-3000:]!r}")
            self._code = os.waitstatus_to_exitcode(ended[-1])
        return self._code

    def run_long(self) -> None:
        """Chooses the long playbook, confirms its plan, and waits for its first trials."""
        self.shows("rule")
        self.type("r")
        self.shows("How does a long run end?")
        self.type("long")
        self.shows("campaign run long")
        self.type("\x13")
        self.shows("Run it")
        self.type("y")
        await_that(lambda: self.rows("SELECT 1 FROM trial LIMIT 1"), lambda: self.text[-3000:])

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """What the ledger says."""
        path = self._toy.root / "campaign.db"
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()


def await_that(holds: Callable[[], object], what: Callable[[], str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, what()
        time.sleep(0.01)
