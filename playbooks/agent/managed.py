"""What every kind of service can be asked, whoever manages it: a keeper, systemd, commands."""

from abc import ABC, abstractmethod
from typing import Any, Dict, List, NamedTuple, Optional, Union

from playbooks.agent import clock, procfs
from playbooks.agent.session import VerbError

Cursor = Union[int, str]
"""A place in a service's log: what was logged before it is not seen."""


class Started(NamedTuple):
    """One start of a service: its main process (None: it has none that is known), when it was.

    `cursor`: the log's end before it. `invocation`, `restarts`: the manager's name for this start
    and its count of restarts by itself.
    """

    pid: Optional[int]
    start_ticks: Optional[int]
    started_at: float
    cursor: Cursor
    invocation: str = ""
    restarts: int = 0

    @property
    def main(self) -> Optional[procfs.Identity]:
        if self.pid is None or self.start_ticks is None:
            return None
        return procfs.Identity(self.pid, self.start_ticks)


class Stopped(NamedTuple):
    """`killed`: it did not go by itself within its time. Equal times: it was not running."""

    requested_at: float
    gone_at: float
    killed: bool
    was_running: bool


class State(NamedTuple):
    """A service now. `exit_*`, `ended_at`: how its main process ended last.

    `word` is the manager's own word for the state. `began_boot`: when its last start began, in
    seconds of the boot clock, where that is known.
    """

    running: bool
    pid: Optional[int]
    start_ticks: Optional[int]
    started_at: Optional[float]
    processes: List[procfs.Process]
    exit_code: Optional[int] = None
    exit_signal: Optional[int] = None
    ended_at: Optional[float] = None
    invocation: str = ""
    restarts: int = 0
    word: str = ""
    began_boot: Optional[float] = None

    @property
    def starts(self) -> List[float]:
        """When what runs of it was started, on the boot clock: its processes, or else itself.

        A pod, a container or a unit that set something up and ended has no process to be seen.
        """
        if self.processes:
            return [one.start_ticks / procfs.TICKS_PER_SECOND for one in self.processes]
        return [self.began_boot] if self.running and self.began_boot is not None else []

    def as_json(self) -> Dict[str, Any]:
        return {**self._asdict(), "processes": [describe(one) for one in self.processes]}


class LogPiece(NamedTuple):
    """Whole lines of a log. `cursor`: where to read on; `end`: up to where; `done`: it is there.

    Lost before or among them: `lost_bytes`, `lost_messages`; `gap`: it is not known how much;
    `damaged`: nor of what its manager could not read.
    """

    data: bytes
    cursor: Cursor
    end: Cursor
    done: bool
    lost_bytes: int = 0
    lost_messages: int = 0
    gap: bool = False
    damaged: bool = False


class Follow(ABC):
    """A log as it grows."""

    @abstractmethod
    def read(self) -> bytes:
        """What was logged since the last call, whole or broken lines; none: nothing more yet."""

    @abstractmethod
    def close(self) -> None:
        """Lets go of what it holds open. May be called twice."""


class Life(ABC):
    """One start of a service, watched until it is healthy."""

    @abstractmethod
    def follow(self) -> Follow:
        """The log of this start."""

    @abstractmethod
    def require(self) -> None:
        """Raises VerbError("crashed") where this start is over."""

    def awaited(self) -> str:
        """What the manager itself still waits for before it calls the service up; or nothing."""
        return ""


class Managed(ABC):
    """A service of this host. Errors of its methods are VerbErrors."""

    name: str

    @abstractmethod
    def start(self) -> Started:
        """Errors: "running", "start-failed" and what the manager has to say."""

    @abstractmethod
    def stop(self, timeout_s: float) -> Stopped:
        """Ends all of it, by force after `timeout_s`; returns when nothing is left ("stuck")."""

    @abstractmethod
    def state(self) -> State: ...

    @abstractmethod
    def log_end(self) -> Cursor:
        """The cursor that sees only what comes."""

    @abstractmethod
    def last_start(self) -> Optional[Cursor]:
        """The log's cursor before the last start; None where it is not known."""

    @abstractmethod
    def read_log(self, cursor: Cursor, end: Optional[Cursor]) -> LogPiece:
        """The next lines from `cursor` up to `end` (None: the log's end now)."""

    @abstractmethod
    def follow(self, cursor: Cursor) -> Follow:
        """The log from `cursor` on."""

    @abstractmethod
    def last_lines(self, cursor: Optional[Cursor] = None) -> List[str]:
        """The newest lines since `cursor` (None: since the last start), for an error message."""

    @abstractmethod
    def life(self, started: Started) -> Life: ...


def describe(process: procfs.Process) -> Dict[str, Any]:
    """A process as the operator learns of it."""
    return {
        "pid": process.pid,
        "ppid": process.ppid,
        "start_ticks": process.start_ticks,
        "started_at": procfs.epoch(process.start_ticks),
        "started_boot": process.start_ticks / procfs.TICKS_PER_SECOND,
        "command": procfs.command_line(process.pid),
    }


def not_running() -> Stopped:
    """The answer to a stop of what did not run."""
    now = clock.now()
    return Stopped(now, now, killed=False, was_running=False)


def wrong_cursor(name: str, cursor: Cursor) -> VerbError:
    """The error for a cursor of another kind of log."""
    return VerbError("bad-request", f"{cursor!r} is no cursor of the log of {name}")
