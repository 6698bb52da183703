"""From the checked shapes of services, guards and captures to the frozen ones of the system."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from playbooks.env import dropins
from playbooks.language import system_schema
from playbooks.system import (
    Capture,
    CommandProbe,
    CommandSpec,
    EnvMethod,
    Guard,
    HealthCheck,
    Hook,
    HttpProbe,
    LogProbe,
    Manager,
    Notice,
    OnFailure,
    Probe,
    ProcessSpec,
    Reload,
    Service,
    SystemdSpec,
    TcpProbe,
)


@dataclass(frozen=True)
class Place:
    """The workspace, the host of what names none, and which hosts are this machine."""

    root: Path
    only: str
    local: frozenset[str]


def below(root: Path, path: str) -> str:
    """A path of a file, relative to the workspace, as a whole one."""
    return os.path.normpath(root / path)


def service(name: str, shape: system_schema.ServiceShape, place: Place) -> Service:
    """The service that a checked shape describes."""
    manager, host = _manager(shape, place.root), shape.host or place.only
    return Service(
        name=name,
        host=host,
        manager=manager,
        env=_env_method(shape.env, manager, place.root) if shape.env else None,
        health=tuple(_health_check(one) for one in shape.health),
        ports=tuple(shape.ports),
        stop_timeout_s=shape.stop_timeout,
        before_stop=tuple(_hook(one, host, place) for one in shape.before_stop),
        after_healthy=tuple(_hook(one, host, place) for one in shape.after_healthy),
        reload=_reload(shape.reload, host, place) if shape.reload else None,
        proof={variable: _probe(one) for variable, one in shape.proof.items()},
    )


def _reload(shape: system_schema.ReloadShape, host: str, place: Place) -> Reload:
    cwd = str(place.root) if host in place.local else "/"
    command = tuple(shape.command) if shape.command else None
    return Reload(command, cwd, shape.logged, shape.timeout)


def _hook(shape: system_schema.HookShape, host: str, place: Place) -> Hook:
    default = str(place.root) if (shape.on or host) in place.local else "/"
    return Hook(
        do=tuple(shape.do),
        cwd=below(place.root, shape.cwd) if shape.cwd else default,
        on=shape.on,
        undo=tuple(shape.undo) if shape.undo else None,
        check=tuple(shape.check) if shape.check else None,
        timeout_s=shape.timeout,
    )


def _health_check(shape: system_schema.HealthShape) -> HealthCheck:
    on = None if isinstance(shape, system_schema.LogHealthShape) else shape.on
    return HealthCheck(_probe(shape), shape.timeout, shape.settle, on)


def _manager(shape: system_schema.ServiceShape, root: Path) -> Manager:
    match shape:
        case system_schema.ProcessServiceShape(process=one):
            cwd = below(root, one.cwd)
            return ProcessSpec(tuple(one.command), cwd, one.log_max_bytes, one.log_keep)
        case system_schema.SystemdServiceShape(systemd=unit):
            return SystemdSpec(unit.unit, unit.user)
        case system_schema.CommandServiceShape(command=one):
            return CommandSpec(
                start=tuple(one.start),
                stop=tuple(one.stop),
                status=tuple(one.status),
                cwd=below(root, one.cwd),
                restart=tuple(one.restart) if one.restart else None,
                pids=tuple(one.pids) if one.pids else None,
                log=below(root, one.log) if one.log else None,
            )


def _env_method(shape: system_schema.EnvMethodShape, manager: Manager, root: Path) -> EnvMethod:
    if shape.path is not None:
        return EnvMethod(shape.via, below(root, shape.path))
    unit = manager.unit if isinstance(manager, SystemdSpec) else ""
    return EnvMethod(shape.via, dropins.default_path(unit))


def guard(shape: system_schema.GuardShape, place: Place) -> Guard:
    """The guard that a checked shape describes."""
    return Guard(
        probe=_probe(shape),
        on=shape.on or place.only,
        every_s=shape.every,
        timeout_s=shape.timeout,
        failures=shape.failures,
        through_restarts=shape.through_restarts,
    )


def on_failure(
    shape: system_schema.OnFailureShape, services: Mapping[str, Service], place: Place
) -> OnFailure:
    """What a checked shape says of failed runs."""
    captures = tuple(_capture(one, services, place) for one in shape.capture)
    return OnFailure(captures, tuple(shape.collect), shape.hold)


def notice(shape: system_schema.NoticeShape) -> Notice:
    """Whom a checked shape wants told."""
    match shape:
        case system_schema.CommandNoticeShape():
            return Notice(command=tuple(shape.command), when=frozenset(shape.when))
        case system_schema.UrlNoticeShape():
            return Notice(url=shape.url, when=frozenset(shape.when))


def _capture(
    shape: system_schema.CaptureShape, services: Mapping[str, Service], place: Place
) -> Capture:
    script = shape.do[:2] == ["/bin/sh", "-c"]
    words = (shape.do[-1] if script else shape.do[0]).split() or ["command"]
    program = words[0].rpartition("/")[2]
    on = services[shape.service].host if shape.service else shape.on or place.only
    return Capture(
        name=shape.name or "-".join(filter(None, [program, shape.service])),
        do=tuple(shape.do),
        on=on,
        cwd=str(place.root) if on in place.local else "/",
        service=shape.service,
        timeout_s=shape.timeout,
    )


_Probed = system_schema.HealthShape | system_schema.ProofShape | system_schema.GuardShape


def _probe(shape: _Probed) -> Probe:
    match shape:
        case (
            system_schema.HttpHealthShape()
            | system_schema.HttpProofShape()
            | system_schema.HttpGuardShape()
        ):
            return HttpProbe(shape.http, shape.expect, shape.match, shape.method, shape.body)
        case system_schema.TcpHealthShape() | system_schema.TcpGuardShape():
            return TcpProbe(shape.tcp)
        case (
            system_schema.CommandHealthShape()
            | system_schema.CommandProofShape()
            | system_schema.CommandGuardShape()
        ):
            return CommandProbe(tuple(shape.command))
        case system_schema.LogHealthShape() | system_schema.LogProofShape():
            return LogProbe(shape.log)
