"""The way to an agent on this machine: a pipe."""

import contextlib
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path

import playbooks
from playbooks.hosts.connection import HostLost

CLOSING_LIMIT_S = 20.0
_LAST_LINES = 20
_LAST_BYTES = 8192


class LocalChannel:
    """Starts an agent in a session of its own, where a terminal's Ctrl-C does not reach it.

    `state_dir` is the host's state directory, `python` the interpreter (default: this one),
    `environ` the agent's environment (default: ours). Raises HostLost where it cannot be started.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        python: str | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._reading = threading.Lock()
        self._listening = threading.Lock()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the channel
        self._words = ""
        try:
            self._agent = subprocess.Popen(
                [python or sys.executable, *_arguments(state_dir)],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._stderr,
                cwd="/",
                env=None if environ is None else dict(environ),
                start_new_session=True,
            )
        except OSError as error:
            self._stderr.close()
            python = python or sys.executable
            raise HostLost(f"cannot start it with {python}: {error.strerror}") from None

    @property
    def pid(self) -> int:
        """The agent's process."""
        return self._agent.pid

    def read(self, size: int) -> bytes:
        assert self._agent.stdout
        with self._reading:
            return b"" if self._agent.stdout.closed else self._agent.stdout.read(size) or b""

    def write(self, data: bytes) -> None:
        assert self._agent.stdin
        rest = memoryview(data)
        while rest:
            rest = rest[self._agent.stdin.write(rest) :]

    def close(self) -> None:
        """Closes the agent's input and waits for its end, which takes what it spawned along."""
        assert self._agent.stdin
        assert self._agent.stdout
        with contextlib.suppress(OSError):
            self._agent.stdin.close()
        try:
            self._agent.wait(CLOSING_LIMIT_S)
        except subprocess.TimeoutExpired:
            self._agent.kill()
            self._agent.wait()
        with self._reading:
            self._agent.stdout.close()
        self.last_words()
        with self._listening:
            self._stderr.close()

    def abandon(self) -> None:
        self._agent.kill()

    def last_words(self) -> str:
        with self._listening:
            if not self._stderr.closed:
                self._words = _tail(self._stderr.fileno())
            return self._words


def _tail(fd: int) -> str:
    start = max(os.fstat(fd).st_size - _LAST_BYTES, 0)
    text = os.pread(fd, _LAST_BYTES, start).decode("utf-8", "replace")
    return "\n".join(text.splitlines()[-_LAST_LINES:])


def _arguments(state_dir: Path) -> list[str]:
    """Isolated, and with our own code last on the path: nothing of ours shadows a module."""
    root = str(Path(playbooks.__file__).resolve().parent.parent)
    start = f"import sys; sys.path.append({root!r}); from playbooks.agent.main import main; main()"
    return ["-I", "-S", "-c", start, str(Path(state_dir).absolute())]
