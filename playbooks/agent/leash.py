"""The supervisor of one spawned command, which ends it when the agent lets go.

The agent holds the other end of its standard input: the request comes in as one line, and the end
of that input, be it a stop or the agent's death, ends the command and all that it started. What
the command prints goes straight to the agent. The clock runs here: a reader that stalls the agent
does not keep a command alive beyond its time.
"""

import json
import os
import select
import signal
import sys
import time
from typing import IO, Any, Dict, List, NamedTuple, Optional

from playbooks.agent import procfs, subtree

GRACE_S = 2.0
"""Seconds between SIGTERM and SIGKILL."""


class Request(NamedTuple):
    """What to run. `keep_children`: what the command leaves behind when it ends may stay."""

    argv: List[str]
    cwd: str
    env: Dict[str, str]
    timeout_s: float
    keep_children: bool


def main() -> None:
    """Read a Request, run it, write JSON lines to the descriptor in argv: a start, and an end."""
    request = Request(**json.loads(_line(0)))
    with os.fdopen(int(sys.argv[2]), "wb") as report:
        os.set_inheritable(report.fileno(), False)
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)  # a handler, unlike SIG_IGN, ends at an exec
        subtree.become_subreaper()
        try:
            leash = Leash(request)
        except subtree.StartError as error:
            _say(report, {"error": str(error)})
            return
        _let_go_of_output()
        _say(report, {"leash": procfs.identify(os.getpid()), "main": leash.main})
        _say(report, leash.run())


def _line(fd: int) -> bytes:
    """One line, unbuffered: nothing after it is taken."""
    parts = bytearray()
    while not parts.endswith(b"\n"):
        piece = os.read(fd, 1)
        if not piece:
            raise SystemExit("the agent went before it said what to run")
        parts += piece
    return bytes(parts)


def _say(report: IO[bytes], message: Dict[str, Any]) -> None:
    try:
        report.write(json.dumps(message).encode() + b"\n")
        report.flush()
    except BrokenPipeError:  # the agent is gone; the command still has to end in order
        pass


def _let_go_of_output() -> None:
    """Only the command holds the pipes now: the agent sees their end when all of it is gone."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)


class Leash:
    """Starts the command; `run` sees it to its end. Raises StartError."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._oom_kills = procfs.oom_kills()
        self._status: Optional[int] = None
        self._began = self._ended = time.monotonic()
        self._child = subtree.start(request.argv, request.cwd, request.env, 1, 2, dies_with_us=True)
        self.main = procfs.identify(self._child.pid)

    def run(self) -> Dict[str, Any]:
        """Wait for the command, the timeout or the end of input; then end what is left."""
        why = self._wait()
        killed = False
        if why or not self._request.keep_children:
            killed = self._end_all()
        return {
            **self._outcome(killed),
            "timed_out": why == "timeout",
            "stopped": why == "stop",
            "seconds": self._ended - self._began,
        }

    def _wait(self) -> str:
        """Why the wait is over: "timeout", "stop", or nothing when the command ended by itself."""
        poll = select.poll()
        poll.register(0, select.POLLIN | select.POLLHUP)
        poll.register(self._wake, select.POLLIN)
        deadline = self._began + self._request.timeout_s
        while True:
            self._reap()
            left = deadline - time.monotonic()
            if self._status is not None:
                return ""
            if left <= 0:
                return "timeout"
            ready = [fd for fd, _ in poll.poll(min(left, 3600.0) * 1000 + 1)]
            if 0 in ready:
                return "stop"
            if self._wake in ready:
                os.read(self._wake, 512)

    def _end_all(self) -> bool:
        """End the tree; whether SIGKILL was needed. Its zombies are collected on the way."""

        def left() -> List[procfs.Process]:
            self._reap()
            return subtree.below(os.getpid())

        if not left():
            return False
        try:
            return subtree.end(left, self._child.pid, GRACE_S)[1]
        except subtree.SurvivorsError:
            return True
        finally:
            self._reap()

    def _reap(self) -> None:
        """Collect who ended, and note the command's own end."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == self._child.pid:
                self._status, self._ended = status, time.monotonic()

    def _outcome(self, killed: bool) -> Dict[str, Any]:
        status = self._status
        number = os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None
        exited = status is not None and number is None
        starved = number == signal.SIGKILL and procfs.oom_kills() > self._oom_kills
        return {
            "code": os.WEXITSTATUS(status) if status is not None and exited else None,
            "signal": number,
            "killed": killed,
            "out_of_memory": starved,
        }
