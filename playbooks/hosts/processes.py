"""A host's processes, typed: services, spawned commands, probes, environments, ports."""

import contextlib
import queue
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self, TypeVar

from playbooks.agent.framing import Frame
from playbooks.hosts.connection import Connection, HostError, HostLost, Subscription
from playbooks.system import HealthCheck, Probe, Service

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_LOOK_EVERY_S = 0.05

Sink = Callable[[str, bytes], None]
"""Takes a chunk of output of the stream "stdout" or "stderr"."""


_Fact = TypeVar("_Fact", bound="DataclassInstance")


@dataclass(frozen=True)
class ServiceSpec:
    """What the agent needs to start a service; `env_file` is read again at each start."""

    name: str
    command: tuple[str, ...]
    cwd: str
    env_file: str | None
    log_max_bytes: int
    log_keep: int

    @classmethod
    def of(cls, service: Service) -> Self:
        """The specification of a service of campaign.yaml."""
        process = service.process
        return cls(
            name=service.name,
            command=process.command,
            cwd=process.cwd,
            env_file=service.env.path if service.env else None,
            log_max_bytes=process.log_max_bytes,
            log_keep=process.log_keep,
        )


@dataclass(frozen=True)
class Started:
    """A started service: its main process, when it started, the log's cursor before it."""

    pid: int
    start_ticks: int
    started_at: float
    cursor: int


@dataclass(frozen=True)
class Stopped:
    """`killed`: SIGTERM was not enough. Equal times where it was not running."""

    requested_at: float
    gone_at: float
    killed: bool
    was_running: bool


@dataclass(frozen=True)
class Process:
    """A process of a service.

    `started_at` is in seconds since the epoch; `started_boot` in seconds of the boot clock, to be
    compared with the time of a change in the journal.
    """

    pid: int
    ppid: int
    start_ticks: int
    started_at: float
    started_boot: float
    command: str


@dataclass(frozen=True)
class ServiceState:
    """A service now, and its last start in this boot of the host (None: it had none).

    `running`: its main process is there. `processes`: all that runs of it, by pid; some may be
    left without a main process. `exit_*` and `ended_at` tell how the main process ended.
    """

    running: bool
    pid: int | None
    start_ticks: int | None
    started_at: float | None
    processes: tuple[Process, ...]
    exit_code: int | None
    exit_signal: int | None
    ended_at: float | None
    start_cursor: int | None
    log_cursor: int


@dataclass(frozen=True)
class Environ:
    """A process's environment at its exec: `values` of the names asked for (None: not set).

    `digest` holds a keyed hash of every variable's value, 16 hex digits. Where `readable` is
    false, `reason` says why and both are empty.
    """

    pid: int
    readable: bool
    reason: str
    values: Mapping[str, str | None]
    digest: Mapping[str, str]


@dataclass(frozen=True)
class ProbeResult:
    """What a probe found, in words, and when on the host's clock."""

    ok: bool
    detail: str
    at: float


@dataclass(frozen=True)
class Health:
    """`first_ok_at`: since when all probes hold; `healthy_at`: when they had for `settle_s`."""

    healthy_at: float
    first_ok_at: float
    attempts: int


@dataclass(frozen=True)
class Exit:
    """How a spawned command ended: by `code` or by `signal`, neither where that is not known.

    `timed_out` and `stopped` say that we ended it, `killed` that something of it needed SIGKILL.
    `out_of_memory`: a SIGKILL that was not ours came while the kernel killed for want of memory.
    """

    code: int | None
    signal: int | None
    timed_out: bool
    stopped: bool
    killed: bool
    out_of_memory: bool
    pid: int
    started_at: float
    seconds: float


class LogStream:
    """The whole lines of a log from a cursor up to its end when this was made, in chunks.

    Iterate once; then `next_cursor` is where to go on, `lost_bytes` counts what had rotated away
    or could not be written, and `truncated` says that `max_bytes` left lines out.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        cursor: int,
        grep: str | None = None,
        max_bytes: int | None = None,
    ) -> None:
        self._connection, self._name, self._grep = connection, name, grep
        self._left = max_bytes
        self.next_cursor, self.lost_bytes, self.truncated = cursor, 0, False

    def __iter__(self) -> Iterator[bytes]:
        end = None
        while end is None or (self.next_cursor < end and not self.truncated):
            facts, data = self._connection.call(
                "service_log",
                name=self._name,
                cursor=self.next_cursor,
                end=end,
                grep=self._grep,
                max_bytes=self._left,
            )
            end, self.next_cursor = facts["end"], facts["cursor"]
            self.lost_bytes += facts["lost"]
            self.truncated = facts["truncated"]
            if self._left is not None:
                self._left -= len(data)
            if data:
                yield data


class ProcessVerbs:
    """The verbs of services and processes. All raise HostError and HostLost."""

    connection: Connection

    def service_start(self, spec: ServiceSpec) -> Started:
        """Start a service. HostError kinds: "running", "start-failed"."""
        facts, _ = self.connection.call("service_start", spec=asdict(spec))
        return _made(Started, facts)

    def service_stop(self, name: str, timeout_s: float) -> Stopped:
        """SIGTERM, then after `timeout_s` SIGKILL, to all of a service, until nothing is left.

        HostError kind "stuck": not even SIGKILL ended it.
        """
        facts, _ = self.connection.call("service_stop", name=name, timeout_s=timeout_s)
        return _made(Stopped, facts)

    def service_state(self, name: str) -> ServiceState:
        """What runs of a service, and how its last main process ended."""
        facts, _ = self.connection.call("service_state", name=name)
        processes = tuple(_made(Process, one) for one in facts["processes"])
        return _made(ServiceState, {**facts, "processes": processes})

    def service_log(
        self, name: str, cursor: int, *, grep: str | None = None, max_bytes: int | None = None
    ) -> LogStream:
        """The log from `cursor` on; `grep`, a regular expression, picks lines on the host.

        HostError kinds: "bad-request" (no regular expression), "log-reset" (the log was deleted).
        """
        return LogStream(self.connection, name, cursor, grep, max_bytes)

    def environ(self, pids: Sequence[int], names: Sequence[str], key: bytes) -> tuple[Environ, ...]:
        """Each process's environment: plain values of `names`, digests under `key` of all."""
        facts, _ = self.connection.call("environ", key, pids=list(pids), names=list(names))
        return tuple(_made(Environ, one) for one in facts["processes"])

    def listening(self, ports: Sequence[int]) -> Mapping[int, tuple[int, ...]]:
        """The ports among these that someone listens on, and who; pid 0 is an unknown owner."""
        facts, _ = self.connection.call("listening", ports=list(ports))
        return {port: tuple(pids) for port, pids in facts["ports"]}

    def probe(
        self,
        probe: Probe,
        service: str | None = None,
        cursor: int | None = None,
        *,
        timeout_s: float = 5.0,
    ) -> ProbeResult:
        """Make a probe from the host's side, within `timeout_s`.

        A log probe needs its service, and looks from `cursor` on (None: from its last start).
        """
        facts, _ = self.connection.call(
            "probe", probe=asdict(probe), service=service, cursor=cursor, timeout_s=timeout_s
        )
        return _made(ProbeResult, facts)

    def await_health(
        self,
        service: str,
        checks: Sequence[HealthCheck],
        *,
        pid: int,
        start_ticks: int,
        cursor: int,
        stop: threading.Event | None = None,
    ) -> Health:
        """Wait on the host until every check of this process of the service has settled.

        HostError kinds: "crashed" (detail: exit_code, exit_signal, log), "unhealthy" (detail:
        log), "cancelled" (`stop` was set). `log` holds the last lines.
        """
        sid = _new_sid()
        with self.connection.subscribe(sid) as stream:
            self.connection.call(
                "await_health",
                sid=sid,
                service=service,
                checks=[asdict(check) for check in checks],
                pid=pid,
                start_ticks=start_ticks,
                cursor=cursor,
            )
            facts, _ = _Events(self.connection, stream, stop, "cancel_health").next()
        if "error" in facts:
            raise HostError(**facts["error"])
        return _made(Health, facts)

    def spawn(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        timeout_s: float,
        sink: Sink,
        env: Mapping[str, str] | None = None,
        stop: threading.Event | None = None,
        keep_children: bool = False,
        idle: Callable[[], None] | None = None,
    ) -> Exit:
        """Run a command to its end; `env` is added to the agent's environment.

        `sink` gets the output as it comes; while it does not return, the command waits once the
        pipe is full. `idle` is called now and then while no output comes. Timeout, `stop` and an
        exception here end the command with all it started; so does its own end, unless
        `keep_children`. HostError kind: "start-failed".
        """
        sid = _new_sid()
        with self.connection.subscribe(sid) as stream:
            self.connection.call(
                "spawn",
                sid=sid,
                argv=list(argv),
                cwd=cwd,
                env=dict(env or {}),
                timeout_s=timeout_s,
                keep_children=keep_children,
            )
            try:
                return _Events(self.connection, stream, stop, "stop_spawn", idle).to_exit(sink)
            except (HostError, HostLost):
                raise
            except BaseException:
                self._end_spawn(stream)
                raise

    def _end_spawn(self, stream: Subscription) -> None:
        """End a command that nobody follows any more, and wait until it has."""
        with contextlib.suppress(HostError, HostLost):
            self.connection.call("stop_spawn", sid=stream.sid)
            _Events(self.connection, stream, None, "stop_spawn").to_exit(lambda *_: None)


class _Events:
    """A stream of events; the verb `cancel` is called for it once `stop` is set."""

    def __init__(
        self,
        connection: Connection,
        stream: Subscription,
        stop: threading.Event | None,
        cancel: str,
        idle: Callable[[], None] | None = None,
    ) -> None:
        self._connection, self._stream = connection, stream
        self._stop, self._cancel, self._idle = stop, cancel, idle

    def next(self) -> Frame:
        while True:
            if self._stop is not None and self._stop.is_set():
                self._stop = None
                self._connection.call(self._cancel, sid=self._stream.sid)
            with contextlib.suppress(queue.Empty):
                return self._stream.get(timeout=_LOOK_EVERY_S)
            if self._idle is not None:
                self._idle()

    def to_exit(self, sink: Sink) -> Exit:
        """Follow a spawned command to its end."""
        while True:
            facts, data = self.next()
            if facts["event"] == "output":
                sink(facts["stream"], data)
            elif facts["event"] == "exit":
                return _made(Exit, facts)
            elif facts["event"] == "failed":
                raise HostError(**facts["error"])


def _new_sid() -> str:
    return uuid.uuid4().hex


def _made(kind: type[_Fact], facts: Mapping[str, Any]) -> _Fact:
    """The dataclass `kind` from an agent's answer, which may say more."""
    names = kind.__dataclass_fields__
    return kind(**{name: facts[name] for name in names})
