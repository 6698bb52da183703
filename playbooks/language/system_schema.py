"""The language of campaign.yaml, as pydantic models: shape, and what each key means."""

from typing import Annotated, Literal

from pydantic import Tag

from playbooks.language.fieldtypes import (
    Address,
    Duration,
    Name,
    Port,
    Regex,
    Shape,
    Size,
    Text,
    Timeout,
    UnitName,
    Url,
    Variable,
    Words,
    entry,
    one_of,
    short_for,
)
from playbooks.language.reproducer_schema import ReproducerShape
from playbooks.language.statistics import StatisticsShape


class _HostShape(Shape):
    python: Text | None = entry("interpreter", "The Python that runs the agent there.", None)


class LocalHostShape(_HostShape):
    local: Literal[True] = entry("true", "The machine that campaign itself runs on.")


class SshHostShape(_HostShape):
    ssh: Text = entry("host", "Its address, or an alias of ~/.ssh/config.")
    user: Text | None = entry("user", "Who to log in as; else as ~/.ssh/config says.", None)
    port: Port | None = entry("port", "Where sshd listens; else as ~/.ssh/config says.", None)
    sudo: bool = entry("boolean", "Whether the agent runs as root, by sudo -n.", False)
    accept_new: bool = entry("boolean", "Whether the key of an unknown host is taken.", False)
    state_dir: Text | None = entry("folder", "Where its journal lies.", None)
    connect_timeout: Timeout = entry("duration", "How long connecting may take.", "10s")
    config: Text | None = entry("file", "Read in place of ~/.ssh/config.", None)


HostShape = Annotated[
    Annotated[LocalHostShape, Tag("=local")] | Annotated[SshHostShape, Tag("=ssh")],
    one_of("local", "ssh"),
]


class ProcessShape(Shape):
    command: Words = entry("command", "What to run: a list of words, or one text for /bin/sh.")
    cwd: Text = entry("folder", "Where it runs, relative to the workspace.", ".")
    log_max_bytes: Size = entry("size", "The size at which its log is rotated.", "64MiB")
    log_keep: int = entry("number", "How many rotated logs are kept.", 4, ge=0)


class UnitShape(Shape):
    unit: UnitName = entry("unit", "The unit's name.")
    user: bool = entry("true or false", "A unit of the user's own manager.", False)


Unit = Annotated[UnitShape, *short_for("unit", UnitName)]


class CommandsShape(Shape):
    start: Words = entry("command", "Starts it, and comes back.")
    stop: Words = entry("command", "Stops it.")
    status: Words = entry("command", "Exits 0 while the service runs.")
    restart: Words | None = entry("command", "Restarts it; used when it restarts alone.", None)
    pids: Words | None = entry(
        "command", "Prints the pids of its processes; they prove what environment it has.", None
    )
    cwd: Text = entry("folder", "Where the commands run, relative to the workspace.", ".")
    log: Text | None = entry("path", "Its log file; without it, what `start` prints.", None)


class EnvMethodShape(Shape):
    via: Literal["env_file", "dropin", "script"] = entry(
        "method", "What is edited: a file of variables, a drop-in of the unit, the serve script."
    )
    path: Text | None = entry(
        "path",
        "The file, relative to the workspace; for a drop-in of a system unit it may be left out.",
        None,
    )


class _HealthShape(Shape):
    timeout: Timeout = entry("duration", "How long after its start it may take.", "1m")
    settle: Duration = entry("duration", "How long the probe must hold without a break.", "0s")


class RequestShape(Shape):
    expect: int = entry("status", "The status it must answer with.", 200, ge=100, le=599)
    match: Regex | None = entry("regex", "What the answer must hold.", None)
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] = entry(
        "method", "The request's method.", "GET"
    )
    body: str | None = entry("body", "The request's body.", None)


class _ProbedShape(_HealthShape):
    on: Name | None = entry("host", "Where it is asked from; else on the service's host.", None)


class HttpHealthShape(_ProbedShape, RequestShape):
    http: Url = entry("URL", "Healthy when this URL answers.")


class TcpHealthShape(_ProbedShape):
    tcp: Address = entry("address", "Healthy when this host:port accepts a connection.")


class CommandHealthShape(_ProbedShape):
    command: Words = entry("command", "Healthy when this command exits 0.")


class LogHealthShape(_HealthShape):
    log: Regex = entry("regex", "Healthy once the service has logged a line that this finds.")


HealthShape = Annotated[
    Annotated[HttpHealthShape, Tag("=http")]
    | Annotated[TcpHealthShape, Tag("=tcp")]
    | Annotated[CommandHealthShape, Tag("=command")]
    | Annotated[LogHealthShape, Tag("=log")],
    one_of("http", "tcp", "command", "log"),
]


class HttpProofShape(RequestShape):
    http: Url = entry("URL", "What is asked; `match` holds {{ value }}.")


class CommandProofShape(Shape):
    command: Words = entry("command", "Exits 0 where the variable has {{ value }}.")


class LogProofShape(Shape):
    log: Regex = entry("regex", "Finds what the service logs of {{ value }} after its start.")


ProofShape = Annotated[
    Annotated[HttpProofShape, Tag("=http")]
    | Annotated[CommandProofShape, Tag("=command")]
    | Annotated[LogProofShape, Tag("=log")],
    one_of("http", "command", "log"),
]


class UndoableShape(Shape):
    do: Words = entry("command", "What to run: a list of words, or one text for /bin/sh.")
    undo: Words | None = entry("command", "What takes its effect back.", None)
    check: Words | None = entry("command", "Exits 0 while its effect is in place.", None)
    timeout: Timeout = entry("duration", "How long each may take.", "1m")


class HookShape(UndoableShape):
    on: Name | None = entry("host", "Where it runs; else on the service's host.", None)
    cwd: Text | None = entry(
        "folder", "Where it runs: here else in the workspace, on other hosts in /.", None
    )


class ReloadShape(Shape):
    command: Words | None = entry(
        "command", "Makes it read its files again; $MAINPID is its pid. Of a unit: its own.", None
    )
    logged: Regex | None = entry("regex", "What it logs once it has read them.", None)
    timeout: Timeout = entry("duration", "How long each may take.", "30s")


class _ServiceShape(Shape):
    host: Name | None = entry("host", "Its host; may be left out where there is only one.", None)
    env: EnvMethodShape | None = entry("method", "How its environment is edited.", None)
    health: list[HealthShape] = entry("health checks", "What must hold for it to be healthy.", [])
    ports: list[Port] = entry("ports", "The ports that must be free before it starts.", [])
    stop_timeout: Duration = entry("duration", "How long TERM may take before KILL.", "20s")
    before_stop: list[HookShape] = entry(
        "hooks", "Run before each stop; undone once it is healthy again.", []
    )
    after_healthy: list[HookShape] = entry(
        "hooks", "Run once it is healthy in a boot; undone before its next stop.", []
    )
    reload: ReloadShape | None = entry("way", "How it reads its files again.", None)
    proof: dict[Variable, ProofShape] = entry(
        "probes", "How the service itself tells the value of a variable, {{ value }}.", {}
    )


class ProcessServiceShape(_ServiceShape):
    process: ProcessShape = entry("process", "The process that campaign starts and stops.")


class SystemdServiceShape(_ServiceShape):
    systemd: Unit = entry("unit", "The systemd unit that it is.")


class CommandServiceShape(_ServiceShape):
    command: CommandsShape = entry("commands", "The commands that start and stop it.")


ServiceShape = Annotated[
    Annotated[ProcessServiceShape, Tag("=process")]
    | Annotated[SystemdServiceShape, Tag("=systemd")]
    | Annotated[CommandServiceShape, Tag("=command")],
    one_of("process", "systemd", "command"),
]


class _GuardShape(Shape):
    on: Name | None = entry(
        "host", "Where it is asked from; may be left out for the only one.", None
    )
    every: Timeout = entry("duration", "How often it is asked.", "5s")
    timeout: Timeout = entry("duration", "How long an answer may take.", "5s")
    failures: int = entry("number", "How many looks in a row must fail for it to trip.", 1, ge=1)
    through_restarts: bool = entry(
        "true or false", "Whether it must hold while services restart, too.", False
    )


class HttpGuardShape(_GuardShape, RequestShape):
    http: Url = entry("URL", "Holds while this URL answers as expected.")


class TcpGuardShape(_GuardShape):
    tcp: Address = entry("address", "Holds while this host:port accepts a connection.")


class CommandGuardShape(_GuardShape):
    command: Words = entry("command", "Holds while this command exits 0.")


GuardShape = Annotated[
    Annotated[HttpGuardShape, Tag("=http")]
    | Annotated[TcpGuardShape, Tag("=tcp")]
    | Annotated[CommandGuardShape, Tag("=command")],
    one_of("http", "tcp", "command"),
]


class CaptureShape(Shape):
    name: Name | None = entry("name", "What its output is called; else after its command.", None)
    do: Words = entry("command", "What to run: a list of words, or one text for /bin/sh.")
    service: Name | None = entry("service", "Runs on its host, with its pid as $MAINPID.", None)
    on: Name | None = entry("host", "Where it runs, where it is of no service.", None)
    timeout: Timeout = entry("duration", "How long it may take.", "1m")


class OnFailureShape(Shape):
    capture: list[CaptureShape] = entry("commands", "What keeps evidence, in order.", [])
    collect: list[Name] = entry("services", "Whose logs since the restart are kept.", [])
    hold: Duration = entry("duration", "How long all is then held as it is, at most.", "0s")


_Ending = Literal["finished", "failed", "aborted", "dirty"]


class _NoticeShape(Shape):
    when: list[_Ending] = entry(
        "words", "How it ended.", ["finished", "failed", "aborted", "dirty"], min_length=1
    )


class CommandNoticeShape(_NoticeShape):
    command: Words = entry("command", "Run here, with the message as JSON on standard input.")


class UrlNoticeShape(_NoticeShape):
    url: Url = entry("URL", "Where the message is posted, as JSON.")


NoticeShape = Annotated[
    Annotated[CommandNoticeShape, Tag("=command")] | Annotated[UrlNoticeShape, Tag("=url")],
    one_of("command", "url"),
]


class CostShape(Shape):
    currency: str = entry("currency", "The currency of the rates.", "")
    downtime_per_hour: float = entry("rate", "The price of an hour of downtime.", 0.0, ge=0)
    occupied_per_hour: float = entry("rate", "The price of an hour of the system.", 0.0, ge=0)


class BudgetShape(Shape):
    downtime: Timeout | None = entry("duration", "The downtime it may cause.", None)
    restarts: int | None = entry("number", "The restarts it may make.", None, ge=1)
    money: float | None = entry("amount", "What it may cost, in its currency.", None, gt=0)
    time: Timeout | None = entry(
        "duration", "How long it may occupy the system: restarts, trials and ways back.", None
    )


class SecretShape(Shape):
    env: Variable = entry("variable", "The environment variable that holds the secret.")


class CampaignFile(Shape):
    """campaign.yaml: the system under test, how the symptom is provoked, what time costs."""

    campaign: Name = entry("name", "The campaign's name.")
    symptom: Text = entry("symptom", "What goes wrong, in a sentence.")
    hosts: dict[Name, HostShape] = entry("hosts", "The machines.", min_length=1)
    services: dict[Name, ServiceShape] = entry("services", "What runs there.", min_length=1)
    restart_groups: list[list[Name]] = entry(
        "groups", "Services that are only ever restarted together, in the order of their start.", []
    )
    reproducers: dict[Name, ReproducerShape] = entry("reproducers", "What provokes it.", {})
    versions: dict[Name, Words] = entry(
        "commands", "What prints a service's version, on its host; a condition of each run.", {}
    )
    cost: CostShape = entry("cost", "What time costs.", {})
    budget: BudgetShape = entry("budget", "What the campaign may cost in all.", {})
    guard: list[GuardShape] = entry("guards", "What must hold all through a run.", [])
    on_failure: OnFailureShape = entry(
        "evidence", "What is done before a failed run is put back.", {}
    )
    notify: list[NoticeShape] = entry("notices", "Whom to tell how a run ended.", [])
    history: list[Text] = entry(
        "paths",
        "Ledgers of other campaigns, or their workspaces: what their restarts took is the first"
        " estimate where this ledger has none.",
        [],
    )
    statistics: StatisticsShape = entry(
        "statistics", "What is assumed, and when something counts as decided.", {}
    )
    lease: Timeout = entry(
        "duration", "How long a host waits for an operator that is gone; then it puts back.", "10m"
    )
    protected: bool = entry("true or false", "Whether a run must be confirmed by name.", False)
    secrets: dict[Variable, SecretShape] = entry(
        "secrets", "Values redacted wherever they show.", {}
    )
    record_env: list[Variable] = entry("variables", "Variables recorded in plain text.", [])
