"""The supervisor of one service: a process of its own that outlives the agent and its operator.

It starts the service, writes what the service prints to the log, and records who it is and how it
ended; it goes when nothing of the service is left. Signals meant for an operator pass it by.

The service prints into a named pipe that it holds open for reading too. So it does not die of
SIGPIPE should its keeper be killed: it runs on until the pipe is full (a mebibyte where the kernel
allows) and then waits. It can still be seen and stopped.
"""

import contextlib
import fcntl
import json
import os
import select
import signal
import sys
import time
from typing import IO, Dict, List, NamedTuple, Optional, Tuple

from playbooks.agent import durable, logs, procfs, subtree

_PIPE_BYTES = 1 << 20
_CHUNK = 1 << 16
_LOCK_WAIT_S = 1.0
_F_SETPIPE_SZ = 1031


class Record(NamedTuple):
    """What is known of a service's last start. Kept in its folder, replaced as a whole.

    `keeper` and `main` are (pid, start ticks) within the boot `boot_id`; `cursor` is the log's
    offset before the first byte; times are seconds since the epoch. `over`: nothing is left.
    """

    boot_id: str
    keeper: procfs.Identity
    main: procfs.Identity
    started_at: float
    cursor: int
    exit_code: Optional[int] = None
    exit_signal: Optional[int] = None
    ended_at: Optional[float] = None
    over: bool = False


class Folder(NamedTuple):
    """The files of one service below the state directory."""

    path: str

    @property
    def record(self) -> str:
        return os.path.join(self.path, "state.json")

    @property
    def output(self) -> str:
        return os.path.join(self.path, "output")

    @property
    def log(self) -> str:
        return os.path.join(self.path, "log")

    def load(self) -> Optional[Record]:
        """The record, or None before the first start. Raises ValueError when it is damaged."""
        try:
            with open(self.record, "rb") as file:
                fields = json.loads(file.read().decode())
        except FileNotFoundError:
            return None
        try:
            for name in ("keeper", "main"):
                fields[name] = procfs.Identity(*fields[name])
            return Record(**fields)
        except (TypeError, KeyError) as error:
            raise ValueError(str(error)) from None

    def save(self, record: Record) -> None:
        durable.write_atomic(self.record, json.dumps(record._asdict()).encode())


class Request(NamedTuple):
    """What the agent asks of a new keeper, as JSON on its standard input."""

    folder: str
    command: List[str]
    cwd: str
    env: Dict[str, str]
    log_max_bytes: int
    log_keep: int


def main() -> None:
    """Read a Request, leave the caller, start the service, report one JSON line, and keep it."""
    request = Request(**json.loads(sys.stdin.buffer.read().decode()))
    folder = Folder(request.folder)
    if os.fork():
        os._exit(0)
    report = _detach(folder)
    if not _hold_alone(folder):
        _report(report, {"kind": "running", "message": "another keeper has just started it"})
        return
    subtree.become_subreaper()
    try:
        keeper = Keeper(folder, request)
    except subtree.StartError as error:
        _report(report, {"kind": "start-failed", "message": str(error)})
    except OSError as error:
        _report(report, {"kind": "start-failed", "message": f"{folder.path}: {error.strerror}"})
    else:
        _report(report, {})
        keeper.run()


def _detach(folder: Folder) -> IO[bytes]:
    """Let go of all that is the agent's but the pipe for the report, which is returned."""
    os.chdir("/")
    report = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDWR)
    faults = os.open(
        os.path.join(folder.path, "keeper.err"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
    )
    for source, target in ((nothing, 0), (nothing, 1), (faults, 2)):
        os.dup2(source, target)
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)  # a handler, unlike SIG_IGN, ends at an exec
    return report


def _report(pipe: IO[bytes], message: Dict[str, str]) -> None:
    with pipe:
        pipe.write(json.dumps(message).encode())


def _hold_alone(folder: Folder) -> bool:
    """Take the service's lock for the life of this process; False when a keeper holds it.

    A keeper whose service has just ended lets go in a moment.
    """
    fd = os.open(os.path.join(folder.path, "keeper.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        else:
            return True


class Keeper:
    """Starts the service; `run` keeps it to its end. Raises StartError or OSError."""

    def __init__(self, folder: Folder, request: Request) -> None:
        self._folder = folder
        self._log = logs.Writer(folder.log, request.log_max_bytes, request.log_keep)
        self._wake, wake = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self._output, service_end = _new_pipe(folder.output)
        try:
            self._child = subtree.start(
                request.command, request.cwd, request.env, service_end, service_end
            )
        finally:
            os.close(service_end)
        self._record = self._first_record(self._child.pid)
        try:
            folder.save(self._record)
        except OSError:
            subtree.end(lambda: subtree.below(os.getpid()), self._child.pid, 0.0)
            raise

    def _first_record(self, pid: int) -> Record:
        own = procfs.identify(os.getpid())
        main = procfs.identify(pid)  # a child not waited for yet: never None
        assert own is not None
        assert main is not None
        started_at = procfs.epoch(main.start_ticks)
        return Record(procfs.boot_id(), own, main, started_at, self._log.offset)

    def run(self) -> None:
        """Log what the service prints until nothing of it is left."""
        poll = select.poll()
        poll.register(self._output, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        while self._reap():
            ready = [fd for fd, _ in poll.poll()]
            if self._wake in ready:
                _drain(self._wake)
            if self._output in ready and self._pump() == b"":
                poll.unregister(self._output)
        while self._pump():
            pass
        self._log.close()
        self._update(self._record._replace(over=True))

    def _pump(self) -> Optional[bytes]:
        """Log what is there and return it: b"" at the end of the output, None before more."""
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return None
        self._log.write(data)
        return data

    def _reap(self) -> bool:
        """Collect who ended, and record the service's own end; False when nobody is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self._record.main.pid and self._record.ended_at is None:
                self._update(_ended(self._record, status))

    def _update(self, record: Record) -> None:
        self._record = record
        try:
            self._folder.save(record)
        except OSError as error:  # a full disk must not end the keeper
            print(f"{self._folder.record}: {error.strerror}", file=sys.stderr, flush=True)


def _new_pipe(path: str) -> Tuple[int, int]:
    """A fresh named pipe: our end to read from, and the service's, which keeps it alive."""
    durable.unlink(path)
    os.mkfifo(path, 0o600)
    ours = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    theirs = os.open(path, os.O_RDWR)
    with contextlib.suppress(OSError):  # beyond this user's limit: the usual size does
        fcntl.fcntl(ours, _F_SETPIPE_SZ, _PIPE_BYTES)
    return ours, theirs


def _drain(fd: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(fd, 512):
            pass


def _ended(record: Record, status: int) -> Record:
    if os.WIFSIGNALED(status):
        return record._replace(ended_at=time.time(), exit_signal=os.WTERMSIG(status))
    return record._replace(ended_at=time.time(), exit_code=os.WEXITSTATUS(status))
