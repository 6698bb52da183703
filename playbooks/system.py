"""The system under test as campaign.yaml describes it: checked and frozen."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct, field

from hypotheses.assumptions import DEFAULTS, Settings
from playbooks.ending import Notice, OnFailure
from playbooks.expressions import Expression
from playbooks.sessions.spec import Sessions
from playbooks.templates import uses

AT = "@"
"""Stands between a service's name and a host in the name of the replica there."""

LEASE_S = 600.0
"""How long an operator may be gone where campaign.yaml says nothing else."""


class Ssh(Struct, frozen=True):
    """How a host is reached: `name` is an address or an alias of ~/.ssh/config.

    What is None is left to that file. `sudo` runs the agent as root; `accept_new` takes the key
    of a host that is not known; `state_dir` None is the usual place; `config` is another file
    to read in place of ~/.ssh/config.
    """

    name: str
    user: str | None = None
    port: int | None = None
    sudo: bool = False
    accept_new: bool = False
    state_dir: str | None = None
    connect_timeout_s: float = 10.0
    config: Path | None = None


class Host(Struct, frozen=True):
    """A machine: this one where `ssh` is None. `python` is the interpreter of the agent there.

    `state_dir` is where the journal of this machine lies; None: the usual place.
    """

    name: str
    ssh: Ssh | None = None
    python: str | None = None
    state_dir: Path | None = None

    @property
    def local(self) -> bool:
        return self.ssh is None


class HttpProbe(Struct, frozen=True):
    """Healthy when the URL answers with `expect` and, where given, a body that `match` finds."""

    url: str
    expect: int = 200
    match: str | None = None
    method: str = "GET"
    body: str | None = None
    kind: Literal["http"] = "http"


class TcpProbe(Struct, frozen=True):
    """Healthy when `address` ("host:port") accepts a connection."""

    address: str
    kind: Literal["tcp"] = "tcp"


class CommandProbe(Struct, frozen=True):
    """Healthy when the command exits 0."""

    command: tuple[str, ...]
    kind: Literal["command"] = "command"


class LogProbe(Struct, frozen=True):
    """Healthy once the service has logged a line that `match` finds since its start."""

    match: str
    kind: Literal["log"] = "log"


Probe = HttpProbe | TcpProbe | CommandProbe | LogProbe


class HealthCheck(Struct, frozen=True):
    """A probe that must hold for `settle_s` without a break, within `timeout_s` of the start.

    `on` is the host that it is made from; None: the service's own.
    """

    probe: Probe
    timeout_s: float = 60.0
    settle_s: float = 0.0
    on: str | None = None


class Availability(Struct, frozen=True):
    """A probe of a service as a whole: it is down while this fails, asked from the host `on`."""

    probe: Probe
    on: str
    every_s: float = 0.5
    timeout_s: float = 2.0


class Hook(Struct, frozen=True):
    """A command around a service's restarts: `do`, what takes it back, and whether that is needed.

    `check` exits 0 while its effect is in place. They run in `cwd` on the host `on` (None: the
    service's own).
    """

    do: tuple[str, ...]
    cwd: str
    on: str | None = None
    undo: tuple[str, ...] | None = None
    check: tuple[str, ...] | None = None
    timeout_s: float = 60.0


class Reload(Struct, frozen=True):
    """How a service is made to read its files again while it runs.

    `command` (None: systemd's own way) runs on its host in `cwd`, with its main process as
    `$MAINPID`; `logged` finds the line by which the service tells that it has read them.
    """

    command: tuple[str, ...] | None
    cwd: str
    logged: str | None = None
    timeout_s: float = 30.0


class EnvMethod(Struct, frozen=True):
    """How a service's environment is edited: in which file, `path`, of which kind.

    "env_file" has NAME=VALUE lines; "dropin" is a drop-in of its systemd unit; "script" is the
    shell script that starts it.
    """

    via: Literal["env_file", "dropin", "script"]
    path: str

    @property
    def place(self) -> tuple[str, str]:
        """The path as root and rest; the folder of a drop-in may have yet to be made."""
        depth = 2 if self.via == "dropin" else 1
        parts = self.path.rsplit("/", depth)
        return parts[0] or "/", "/".join(parts[1:])


class ProcessSpec(Struct, frozen=True):
    """An embedded service: what to run, where, and how its logs rotate."""

    command: tuple[str, ...]
    cwd: str
    log_max_bytes: int = 64 * 1024 * 1024
    log_keep: int = 4
    kind: Literal["process"] = "process"


class SystemdSpec(Struct, frozen=True):
    """A unit of systemd; `user`: of the manager of the user that the agent runs as.

    `log` is the file that it writes its log to (None: the journal has it).
    """

    unit: str
    user: bool = False
    log: str | None = None
    kind: Literal["systemd"] = "systemd"


class CommandSpec(Struct, frozen=True):
    """A service that commands start and stop, run in `cwd`.

    `status` exits 0 while it runs; `restart`, where given, is used when it restarts alone; `pids`
    prints the pids of its processes; `log` is its log file (None: what `start` prints).
    """

    start: tuple[str, ...]
    stop: tuple[str, ...]
    status: tuple[str, ...]
    cwd: str
    restart: tuple[str, ...] | None = None
    pids: tuple[str, ...] | None = None
    log: str | None = None
    kind: Literal["command"] = "command"


Manager = ProcessSpec | SystemdSpec | CommandSpec


class Service(Struct, frozen=True):
    """A service of the system; `manager` says who starts and stops it, and how.

    `before_stop` hooks run before each stop and are undone once it is healthy again;
    `after_healthy` hooks run once it is healthy in a boot and are undone before its next stop.
    `proof` has, by variable, the probe by which the service itself says its value: `{{ value }}`
    in it stands for that. `replicas` are the names of all replicas, itself among them, where it
    is one of several.
    """

    name: str
    host: str
    manager: Manager
    env: EnvMethod | None = None
    health: tuple[HealthCheck, ...] = ()
    ports: tuple[int, ...] = ()
    stop_timeout_s: float = 20.0
    before_stop: tuple[Hook, ...] = ()
    after_healthy: tuple[Hook, ...] = ()
    proof: Mapping[str, Probe] = field(default_factory=dict)
    reload: Reload | None = None
    replicas: tuple[str, ...] = ()
    availability: Availability | None = None

    @property
    def shared(self) -> str:
        """The name that it shares with its replicas; its own where it has none."""
        return self.name.partition(AT)[0]


class Guard(Struct, frozen=True):
    """A probe that must hold all through a run, asked from the host `on` every `every_s`.

    It trips where `failures` looks in a row do not hold. During restarts it is only asked where it
    is to hold `through_restarts`.
    """

    probe: Probe
    on: str
    every_s: float = 5.0
    timeout_s: float = 5.0
    failures: int = 1
    through_restarts: bool = False


class ParseSpec(Struct, frozen=True):
    """Which parser reads a reproducer's output, and which outcomes mean what.

    `format` is a parser's name, or "exit" for the exit-code contract. `options` are the
    parser's own (a regex, field names); `attributes` the fields that are kept with each trial.
    """

    format: str
    fail: frozenset[str] = frozenset()
    passed: frozenset[str] = frozenset()
    censored: frozenset[str] = frozenset()
    options: Mapping[str, str] = field(default_factory=dict)
    attributes: tuple[str, ...] = ()

    @property
    def streams(self) -> bool:
        """Whether each trial is told as it ends, and not all of them in one total."""
        if self.format == "regex":
            return "outcome" in Expression(self.options["match"]).groups
        return self.format in ("jsonl", "go_test_json", "nextest")


class Reproducer(Struct, frozen=True):
    """Templates `{{ name }}` in `command`, `env` values and `trials` are filled from variables.

    `sessions` are what campaign drives itself where there is no command. `exposure` is what
    failures are counted against besides trials: how long these ran, or how often they tried.
    """

    name: str
    command: tuple[str, ...]
    on: str
    parse: ParseSpec
    timeout_s: float
    on_timeout: Literal["censored", "fail", "pass"]
    cwd: str
    env: Mapping[str, str] = field(default_factory=dict)
    trials: str | None = None
    crash_is: Literal["invalid", "fail"] = "invalid"
    exposure: Literal["seconds", "attempts"] | None = None
    sessions: Sessions | None = None

    @property
    def used(self) -> list[str]:
        """The variables that it uses, as often as it does, but for `trials`."""
        own = self.sessions.variables if self.sessions else ()
        return [
            *own,
            *(name for text in (*self.command, *self.env.values()) for name in uses(text)),
        ]

    @property
    def told(self) -> str:
        """What drives the trials, in words that change whenever it does."""
        return self.sessions.told if self.sessions else " ".join(self.command)


class Cost(Struct, frozen=True):
    """Money: each hour of downtime and each hour that the system is occupied at its rate."""

    currency: str = ""
    downtime_per_hour: float = 0.0
    occupied_per_hour: float = 0.0

    def money(self, downtime_s: float, occupied_s: float) -> float:
        """The price of `downtime_s` seconds down and `occupied_s` seconds occupied."""
        return (downtime_s * self.downtime_per_hour + occupied_s * self.occupied_per_hour) / 3600.0


class Budget(Struct, frozen=True):
    """What the whole campaign may cost; None: no limit. `seconds`: that it occupies the system."""

    downtime_s: float | None = None
    restarts: int | None = None
    money: float | None = None
    seconds: float | None = None


class System(Struct, frozen=True):
    """All that campaign.yaml says. Relative paths in it are already absolute here.

    `versions` are the commands that print a service's version, by service. `history` are ledgers
    of other campaigns, or their workspaces. `lease_s`: how long a
    host waits for an operator that is gone before it puts itself back.
    """

    campaign: str
    symptom: str
    root: Path
    hosts: Mapping[str, Host]
    services: Mapping[str, Service]
    restart_groups: tuple[tuple[str, ...], ...] = ()
    reproducers: Mapping[str, Reproducer] = field(default_factory=dict)
    versions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    cost: Cost = field(default_factory=Cost)
    budget: Budget = Budget()
    guards: tuple[Guard, ...] = ()
    on_failure: OnFailure = field(default_factory=OnFailure)
    notify: tuple[Notice, ...] = ()
    history: tuple[Path, ...] = ()
    statistics: Settings = DEFAULTS
    protected: bool = False
    secrets: Mapping[str, str] = field(default_factory=dict)
    record_env: tuple[str, ...] = ()
    lease_s: float = LEASE_S

    @property
    def replicas(self) -> Mapping[str, tuple[str, ...]]:
        """The names of the replicas of each service that has some, by the name they share."""
        services = self.services.values()
        return {one.shared: one.replicas for one in services if one.replicas}

    @property
    def names(self) -> tuple[str, ...]:
        """All that a service can be called: a shared name means all of its replicas."""
        return tuple(dict.fromkeys([*self.replicas, *self.services]))
