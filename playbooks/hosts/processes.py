"""A host's processes, typed: services, spawned commands, probes, environments, ports."""

import contextlib
import os
import queue
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct, to_builtins

from playbooks.agent.framing import Frame
from playbooks.hosts.connection import Connection, HostError, HostLost, Subscription
from playbooks.hosts.logs import Cursor, LogStream
from playbooks.hosts.specs import CommandedSpec, ServiceSpec, UnitSpec
from playbooks.hosts.unitfacts import UnitFacts
from playbooks.system import HealthCheck, Probe

_LOOK_EVERY_S = 0.05

Sink = Callable[[str, bytes], None]
"""Takes a chunk of output of the stream "stdout" or "stderr"."""


class Flag(Protocol):
    """What ends something under way once it is set: an Event, or what is like one."""

    def is_set(self) -> bool: ...


_Fact = TypeVar("_Fact", bound=Struct)


class Started(Struct, frozen=True):
    """A started service: its main process, when it started, the log's cursor before it.

    `pid` and `start_ticks` are None where no process is known. `invocation` is systemd's name for
    this start, `restarts` how often systemd had restarted it by itself until then.
    """

    pid: int | None
    start_ticks: int | None
    started_at: float
    cursor: Cursor
    invocation: str = ""
    restarts: int = 0


class Stopped(Struct, frozen=True):
    """`killed`: it did not go by itself in time. Equal times where it was not running."""

    requested_at: float
    gone_at: float
    killed: bool
    was_running: bool


class Process(Struct, frozen=True):
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


class ServiceState(Struct, frozen=True):
    """A service now, and its last start in this boot of the host (None: it had none).

    `running`: its main process is there. `processes`: all that runs of it, by pid; some may be
    left without a main process. `exit_*` and `ended_at` tell how the main process ended.
    `word` is systemd's own for the state. `began_boot`: when its last start began, on the boot
    clock, where that is known.
    """

    running: bool
    pid: int | None
    start_ticks: int | None
    started_at: float | None
    processes: tuple[Process, ...]
    exit_code: int | None
    exit_signal: int | None
    ended_at: float | None
    invocation: str = ""
    restarts: int = 0
    word: str = ""
    began_boot: float | None = None

    @property
    def starts(self) -> tuple[float, ...]:
        """When what runs of it was started, on the boot clock: its processes, or else itself."""
        if self.processes:
            return tuple(one.started_boot for one in self.processes)
        return (self.began_boot,) if self.running and self.began_boot is not None else ()

    @property
    def identity(self) -> tuple[int, int, str, int]:
        """This start of the service: main process, its start, and what systemd calls it."""
        return self.pid or 0, self.start_ticks or 0, self.invocation, self.restarts


class Environ(Struct, frozen=True):
    """A process's environment at its exec: `values` of the names asked for (None: not set).

    `digest` holds a keyed hash of every variable's value, 16 hex digits. Where `readable` is
    false, `reason` says why and both are empty.
    """

    pid: int
    readable: bool
    reason: str
    values: Mapping[str, str | None]
    digest: Mapping[str, str]


class ProbeResult(Struct, frozen=True):
    """What a probe found, in words, and when on the host's clock."""

    ok: bool
    detail: str
    at: float


class Health(Struct, frozen=True):
    """`first_ok_at`: since when all probes hold; `healthy_at`: when they had for `settle_s`."""

    healthy_at: float
    first_ok_at: float
    attempts: int


class Exit(Struct, frozen=True):
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


class ProcessVerbs:
    """The verbs of services and processes. All raise HostError and HostLost."""

    connection: Connection

    def service_start(self, spec: ServiceSpec) -> Started:
        """Start a service. HostError kinds: "running", "start-failed"; of a unit also

        "unit-not-found", "masked", "bad-unit", "start-limit", "crashed", "denied", "no-systemd".
        """
        facts, _ = self.connection.call("service_start", spec=to_builtins(spec))
        return _made(Started, facts)

    def service_restart(self, spec: CommandedSpec) -> Started:
        """Restart a service by its own command for that. HostError kinds: "start-failed"."""
        facts, _ = self.connection.call("service_restart", spec=to_builtins(spec))
        return _made(Started, facts)

    def service_stop(self, spec: ServiceSpec, timeout_s: float) -> Stopped:
        """Stop all of a service, by SIGKILL after `timeout_s`; returns when nothing is left.

        HostError kind "stuck": not even SIGKILL ended it.
        """
        facts, _ = self.connection.call("service_stop", spec=to_builtins(spec), timeout_s=timeout_s)
        return _made(Stopped, facts)

    def service_state(self, spec: ServiceSpec) -> ServiceState:
        """What runs of a service, and how its last main process ended.

        HostError kinds: "unit-not-found", "no-systemd".
        """
        return state_of(self.connection.call("service_state", spec=to_builtins(spec))[0])

    def services_running(self) -> tuple[str, ...]:
        """The names of the embedded services that run, of campaign.yaml as it is now or not."""
        return tuple(self.connection.call("services_running")[0]["names"])

    def service_log(
        self,
        spec: ServiceSpec,
        cursor: Cursor,
        *,
        grep: str | None = None,
        max_bytes: int | None = None,
    ) -> LogStream:
        """The log from `cursor` on; `grep`, a regular expression, picks lines on the host.

        HostError kinds: "bad-request" (no regular expression, a cursor of another log),
        "log-reset" (the log was deleted), "denied".
        """
        return LogStream(self.connection, spec, cursor, grep, max_bytes)

    def service_log_end(self, spec: ServiceSpec) -> Cursor:
        """The cursor that sees only what is logged from now on."""
        cursor: Cursor = self.connection.call("service_log_end", spec=to_builtins(spec))[0][
            "cursor"
        ]
        return cursor

    def service_last_lines(self, spec: ServiceSpec) -> tuple[str, ...]:
        """The newest lines of the log since the last start, for people."""
        return tuple(self.connection.call("service_last_lines", spec=to_builtins(spec))[0]["lines"])

    def unit_facts(self, spec: UnitSpec) -> UnitFacts:
        """What systemd has read of a unit. HostError kinds: "unit-not-found", "masked",

        "bad-unit", "no-systemd".
        """
        return UnitFacts.of(self.connection.call("unit_facts", spec=to_builtins(spec))[0])

    def environ(self, pids: Sequence[int], names: Sequence[str], key: bytes) -> tuple[Environ, ...]:
        """Each process's environment: plain values of `names`, digests under `key` of all."""
        facts, _ = self.connection.call("environ", key, pids=list(pids), names=list(names))
        return environs_of(facts["processes"])

    def listening(self, ports: Sequence[int]) -> Mapping[int, tuple[int, ...]]:
        """The ports among these that someone listens on, and who; pid 0 is an unknown owner."""
        facts, _ = self.connection.call("listening", ports=list(ports))
        return {port: tuple(pids) for port, pids in facts["ports"]}

    def probe(
        self,
        probe: Probe,
        spec: ServiceSpec | None = None,
        cursor: Cursor | None = None,
        *,
        timeout_s: float = 5.0,
    ) -> ProbeResult:
        """Make a probe from the host's side, within `timeout_s`.

        A log probe needs its service, and looks from `cursor` on (None: from its last start).
        """
        facts, _ = self.connection.call(
            "probe",
            probe=to_builtins(probe),
            spec=to_builtins(spec) if spec else None,
            cursor=cursor,
            timeout_s=timeout_s,
        )
        return _made(ProbeResult, facts)

    def await_health(
        self,
        spec: ServiceSpec,
        checks: Sequence[HealthCheck],
        started: Started,
        *,
        stop: Flag | None = None,
    ) -> Health:
        """Wait on the host until every check of this start of the service has settled.

        HostError kinds: "crashed", "start-failed", "start-limit" (detail: exit_code, exit_signal,
        log), "unhealthy" (detail: log), "cancelled" (`stop` was set). `log`: the last lines.
        """
        sid = _new_sid()
        with self.connection.subscribe(sid) as stream:
            self.connection.call(
                "await_health",
                sid=sid,
                spec=to_builtins(spec),
                checks=[to_builtins(check) for check in checks],
                started=to_builtins(started),
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
        stop: Flag | None = None,
        keep_children: bool = False,
        idle: Callable[[], None] | None = None,
    ) -> Exit:
        """Run a command to its end; `env` is added to the agent's environment.

        `sink` gets the output as it comes; while it does not return, the command waits once the
        pipe is full. `idle` is called now and then while no output comes. Timeout, `stop` and an
        exception here end the command with all it started; so does its own end, unless
        `keep_children`. HostError kinds: "start-failed" where it never ran, "cut-off" where that
        is not known.
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
        stop: Flag | None,
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


def state_of(facts: Mapping[str, Any]) -> ServiceState:
    """A service's state, from an agent's answer."""
    processes = tuple(_made(Process, one) for one in facts["processes"])
    return _made(ServiceState, {**facts, "processes": processes})


def environs_of(facts: Sequence[Mapping[str, Any]]) -> tuple[Environ, ...]:
    """Environments of processes, from an agent's answer."""
    return tuple(_made(Environ, one) for one in facts)


def _new_sid() -> str:
    return os.urandom(16).hex()


def _made(kind: type[_Fact], facts: Mapping[str, Any]) -> _Fact:
    """The record `kind` from an agent's answer, which may say more."""
    names = kind.__struct_fields__
    return kind(**{name: facts[name] for name in names})
