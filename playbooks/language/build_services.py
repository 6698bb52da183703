"""From the checked shapes of services, guards and captures to the frozen ones of the system."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from playbooks.ending import Capture, Notice, OnFailure
from playbooks.env import dropins
from playbooks.language import service_schema, system_schema
from playbooks.language.replicas import Replicas, together
from playbooks.system import (
    AT,
    Availability,
    CommandProbe,
    CommandSpec,
    EnvMethod,
    Guard,
    HealthCheck,
    Hook,
    HttpProbe,
    LogProbe,
    Manager,
    Probe,
    ProcessSpec,
    Reload,
    Service,
    SystemdSpec,
    TcpProbe,
)


class Place(Struct, frozen=True):
    """The workspace, the host of what names none, which hosts are this machine, the replicas."""

    root: Path
    only: str
    local: frozenset[str]
    replicas: Replicas


def below(root: Path, path: str) -> str:
    """A path of a file, relative to the workspace, as a whole one."""
    return os.path.normpath(root / path)


def service(name: str, shape: service_schema.ServiceShape, place: Place) -> Service:
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
        replicas=place.replicas.get(name.partition(AT)[0], ()),
        availability=_availability(shape.availability, host) if shape.availability else None,
    )


def _availability(shape: service_schema.AvailabilityShape, host: str) -> Availability:
    return Availability(_probe(shape), shape.on or host, shape.every, shape.timeout)


def _reload(shape: service_schema.ReloadShape, host: str, place: Place) -> Reload:
    cwd = str(place.root) if host in place.local else "/"
    command = tuple(shape.command) if shape.command else None
    return Reload(command, cwd, shape.logged, shape.timeout)


def _hook(shape: service_schema.HookShape, host: str, place: Place) -> Hook:
    default = str(place.root) if (shape.on or host) in place.local else "/"
    return Hook(
        do=tuple(shape.do),
        cwd=below(place.root, shape.cwd) if shape.cwd else default,
        on=shape.on,
        undo=tuple(shape.undo) if shape.undo else None,
        check=tuple(shape.check) if shape.check else None,
        timeout_s=shape.timeout,
    )


def _health_check(shape: service_schema.HealthShape) -> HealthCheck:
    on = None if isinstance(shape, service_schema.LogHealthShape) else shape.on
    return HealthCheck(_probe(shape), shape.timeout, shape.settle, on)


def _manager(shape: service_schema.ServiceShape, root: Path) -> Manager:
    match shape:
        case service_schema.ProcessServiceShape(process=one):
            cwd = below(root, one.cwd)
            return ProcessSpec(tuple(one.command), cwd, one.log_max_bytes, one.log_keep)
        case service_schema.SystemdServiceShape(systemd=unit):
            log = below(root, unit.log) if unit.log else None
            return SystemdSpec(unit.unit, unit.user, log)
        case service_schema.CommandServiceShape(command=one):
            return CommandSpec(
                start=tuple(one.start),
                stop=tuple(one.stop),
                status=tuple(one.status),
                cwd=below(root, one.cwd),
                restart=tuple(one.restart) if one.restart else None,
                pids=tuple(one.pids) if one.pids else None,
                log=below(root, one.log) if one.log else None,
            )


def _env_method(shape: service_schema.EnvMethodShape, manager: Manager, root: Path) -> EnvMethod:
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
    captures = tuple(one for each in shape.capture for one in _captures(each, services, place))
    return OnFailure(captures, together(shape.collect, place.replicas), shape.hold)


def notice(shape: system_schema.NoticeShape) -> Notice:
    """Whom a checked shape wants told."""
    match shape:
        case system_schema.CommandNoticeShape():
            return Notice(command=tuple(shape.command), when=frozenset(shape.when))
        case system_schema.UrlNoticeShape():
            return Notice(url=shape.url, when=frozenset(shape.when))


def _captures(
    shape: system_schema.CaptureShape, services: Mapping[str, Service], place: Place
) -> Iterator[Capture]:
    """One, or for a service with replicas one of each."""
    if shape.service is None:
        yield _capture(shape, None, place)
    for name in together([shape.service] if shape.service else [], place.replicas):
        yield _capture(shape, services[name], place)


def _capture(shape: system_schema.CaptureShape, service: Service | None, place: Place) -> Capture:
    script = shape.do[:2] == ["/bin/sh", "-c"]
    words = (shape.do[-1] if script else shape.do[0]).split() or ["command"]
    program = words[0].rpartition("/")[2]
    on = service.host if service else shape.on or place.only
    of = service.name if service else ""
    told = shape.name if shape.name and not (service and service.replicas) else ""
    return Capture(
        name=told or "-".join(filter(None, [shape.name or program, of])),
        do=tuple(shape.do),
        on=on,
        cwd=str(place.root) if on in place.local else "/",
        service=service.name if service else None,
        timeout_s=shape.timeout,
    )


_Probed = (
    service_schema.HealthShape
    | service_schema.ProofShape
    | system_schema.GuardShape
    | service_schema.AvailabilityShape
)


def _probe(shape: _Probed) -> Probe:
    match shape:
        case (
            service_schema.HttpHealthShape()
            | service_schema.HttpProofShape()
            | system_schema.HttpGuardShape()
            | service_schema.HttpAvailabilityShape()
        ):
            return HttpProbe(shape.http, shape.expect, shape.match, shape.method, shape.body)
        case (
            service_schema.TcpHealthShape()
            | system_schema.TcpGuardShape()
            | service_schema.TcpAvailabilityShape()
        ):
            return TcpProbe(shape.tcp)
        case (
            service_schema.CommandHealthShape()
            | service_schema.CommandProofShape()
            | system_schema.CommandGuardShape()
            | service_schema.CommandAvailabilityShape()
        ):
            return CommandProbe(tuple(shape.command))
        case service_schema.LogHealthShape() | service_schema.LogProofShape():
            return LogProbe(shape.log)
