"""A program in a terminal of its own, as a person has it: what it draws, and when."""

import fcntl
import os
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

PATIENCE_S = 120.0
_ESCAPES = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_=>])")
_SCREEN = b"\x1b[?1049h"
"""What an app asks of its terminal before it draws."""


class Terminal:
    """`command`, running in a terminal of `size` columns and rows. A context manager.

    Times are in seconds. All waits end with TimeoutError where the program is not heard.
    """

    def __init__(self, command: Sequence[str], size: tuple[int, int]) -> None:
        self._heard = b""
        self._master, slave = os.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *size[::-1], 0, 0))
        environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self.begun = time.perf_counter()
        self._child = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
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
        self._child.kill()
        self._child.wait()
        os.close(self._master)

    def starts(self) -> float:
        """When the app began to use the terminal: until then its process and modules were loaded.

        As the time since the program was started.
        """
        while _SCREEN not in self._heard:
            self._read(PATIENCE_S)
        return time.perf_counter() - self.begun

    def until(self, pattern: str) -> float:
        """When the text drawn since the last key has `pattern` (a regular expression) in it."""
        wanted, deadline = re.compile(pattern.encode()), time.perf_counter() + PATIENCE_S
        while not wanted.search(_ESCAPES.sub(b"", self._heard)):
            if time.perf_counter() > deadline:
                raise TimeoutError(f"{pattern} was not drawn; the last was {self._heard[-300:]!r}")
            self._read(deadline - time.perf_counter())
        return time.perf_counter()

    def press(self, key: bytes) -> float:
        """Presses a key, and forgets what was drawn before; when that was."""
        self.listen(0)
        self._heard = b""
        os.write(self._master, key)
        return time.perf_counter()

    def listen(self, seconds: float) -> None:
        """Takes what is drawn for so long: a program whose terminal is full waits."""
        until = time.perf_counter() + seconds
        while self._read(max(0.0, until - time.perf_counter())):
            self._heard = self._heard[-65536:]

    def memory(self) -> float:
        """Resident megabytes of the program."""
        status = Path(f"/proc/{self._child.pid}/status").read_text(encoding="ascii")
        (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def cpu(self) -> float:
        """Seconds of a processor that the program has taken."""
        stat = Path(f"/proc/{self._child.pid}/stat").read_text(encoding="utf-8")
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def _read(self, seconds: float) -> bool:
        """Whether something was drawn in time."""
        ready, _, _ = select.select([self._master], [], [], seconds)
        if ready:
            self._heard += os.read(self._master, 65536)
        return bool(ready)
