"""The language of the services of campaign.yaml, as shapes."""

from typing import Annotated, Literal

from playbooks.language.fieldtypes import (
    Address,
    Duration,
    Name,
    Port,
    Regex,
    Size,
    Text,
    Timeout,
    UnitName,
    Url,
    Variable,
    Words,
    short_for,
)
from playbooks.language.shapes import ONE_OF, Shape, Variant, entry


class ProcessShape(Shape):
    command: Words = entry("command", "What to run: a list of words, or one text for /bin/sh.")
    cwd: Text = entry("folder", "Where it runs, relative to the workspace.", ".")
    log_max_bytes: Size = entry("size", "The size at which its log is rotated.", "64MiB")
    log_keep: int = entry("number", "How many rotated logs are kept.", 4, ge=0)


class UnitShape(Shape):
    unit: UnitName = entry("unit", "The unit's name.")
    user: bool = entry("true or false", "A unit of the user's own manager.", False)
    log: Text | None = entry("file", "The log that it writes; else the journal.", None)


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
    command: Words = entry("command", "Healthy when this command exits 0; it runs in /.")


class LogHealthShape(_HealthShape):
    log: Regex = entry("regex", "Healthy once the service has logged a line that this finds.")


HealthShape = Annotated[
    Annotated[HttpHealthShape, Variant("http")]
    | Annotated[TcpHealthShape, Variant("tcp")]
    | Annotated[CommandHealthShape, Variant("command")]
    | Annotated[LogHealthShape, Variant("log")],
    ONE_OF,
]


class HttpProofShape(RequestShape):
    http: Url = entry("URL", "What is asked; `match` holds {{ value }}.")


class CommandProofShape(Shape):
    command: Words = entry("command", "Exits 0 where the variable has {{ value }}.")


class LogProofShape(Shape):
    log: Regex = entry("regex", "Finds what the service logs of {{ value }} after its start.")


ProofShape = Annotated[
    Annotated[HttpProofShape, Variant("http")]
    | Annotated[CommandProofShape, Variant("command")]
    | Annotated[LogProofShape, Variant("log")],
    ONE_OF,
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


class _AvailabilityShape(Shape):
    on: Name | None = entry("host", "Where it is asked from; else on the service's host.", None)
    every: Timeout = entry("duration", "How often it is asked during a restart.", "500ms")
    timeout: Timeout = entry("duration", "How long an answer may take.", "2s")


class HttpAvailabilityShape(_AvailabilityShape, RequestShape):
    http: Url = entry("URL", "The service as a whole is up while this URL answers as expected.")


class TcpAvailabilityShape(_AvailabilityShape):
    tcp: Address = entry("address", "It is up while this host:port accepts a connection.")


class CommandAvailabilityShape(_AvailabilityShape):
    command: Words = entry("command", "It is up while this command exits 0; it runs in /.")


AvailabilityShape = Annotated[
    Annotated[HttpAvailabilityShape, Variant("http")]
    | Annotated[TcpAvailabilityShape, Variant("tcp")]
    | Annotated[CommandAvailabilityShape, Variant("command")],
    ONE_OF,
]


class _ServiceShape(Shape):
    host: Name | None = entry("host", "Its host; may be left out where there is only one.", None)
    hosts: list[Name] | None = entry(
        "hosts",
        "In place of `host`: it has a replica on each, `NAME@HOST`. {{ host }} is the host's name.",
        None,
        least=1,
    )
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
    availability: AvailabilityShape | None = entry(
        "probe", "While it fails the service as a whole is down: that is its downtime.", None
    )
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
    Annotated[ProcessServiceShape, Variant("process")]
    | Annotated[SystemdServiceShape, Variant("systemd")]
    | Annotated[CommandServiceShape, Variant("command")],
    ONE_OF,
]
