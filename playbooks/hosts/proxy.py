"""A ProxyCommand of ssh_config(5): a process whose input and output are the line to an sshd."""

import collections
import contextlib
import socket
import subprocess
import threading

_END_LIMIT_S = 1.0
_LAST_LINES = 5


class Proxy:
    """Runs `command`, and ends it with `hops`; `line` is our end of what it passes on."""

    def __init__(self, command: str, hops: contextlib.ExitStack) -> None:
        self._said = collections.deque[bytes](maxlen=_LAST_LINES)
        self.line, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                ["/bin/sh", "-c", f"exec {command}"],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, name="proxy", daemon=True)
        self._reader.start()
        hops.callback(self._process.wait)
        hops.callback(self._process.terminate)
        hops.callback(self.line.close)

    def complaint(self) -> str:
        """How it ended and its last words, where it has ended by itself; else nothing."""
        try:
            status = self._process.wait(_END_LIMIT_S)
        except subprocess.TimeoutExpired:
            return ""
        self._reader.join(_END_LIMIT_S)
        said = [line.decode("utf-8", "replace").strip() for line in self._said]
        words = " ".join(line for line in said if line)
        return f"its ProxyCommand ended with {status}" + (f": {words}" if words else "")

    def _read(self) -> None:
        """Unread, what it says would hold it up."""
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            self._said.extend(lines)
