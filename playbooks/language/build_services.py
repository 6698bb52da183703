"""From the checked shapes of services to the frozen ones that everything else works with."""

import os
from dataclasses import dataclass
from pathlib import Path

from playbooks.env import dropins
from playbooks.language import system_schema
from playbooks.system import (
    CommandProbe,
    CommandSpec,
    EnvMethod,
    HealthCheck,
    Hook,
    HttpProbe,
    LogProbe,
    Manager,
    Probe,
    ProcessSpec,
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
        proof={variable: _probe(one) for variable, one in shape.proof.items()},
    )


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


def _probe(shape: system_schema.HealthShape | system_schema.ProofShape) -> Probe:
    match shape:
        case system_schema.HttpHealthShape() | system_schema.HttpProofShape():
            return HttpProbe(shape.http, shape.expect, shape.match, shape.method, shape.body)
        case system_schema.TcpHealthShape():
            return TcpProbe(shape.tcp)
        case system_schema.CommandHealthShape() | system_schema.CommandProofShape():
            return CommandProbe(tuple(shape.command))
        case system_schema.LogHealthShape() | system_schema.LogProofShape():
            return LogProbe(shape.log)
