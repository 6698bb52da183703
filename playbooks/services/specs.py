"""Services as JSON, for the host's journal: what it takes to restart them without our files."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import to_builtins

from playbooks.hosts.specs import spec_of
from playbooks.rollout import Batches
from playbooks.system import (
    Availability,
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
    Reload,
    Service,
    System,
    SystemdSpec,
    TcpProbe,
)

_PROBES: Mapping[str, type[HttpProbe | TcpProbe | CommandProbe | LogProbe]] = {
    "http": HttpProbe,
    "tcp": TcpProbe,
    "command": CommandProbe,
    "log": LogProbe,
}


_MANAGERS: Mapping[str, Callable[..., Manager]] = {
    "process": ProcessSpec,
    "systemd": SystemdSpec,
    "command": CommandSpec,
}

Groups = tuple[tuple[str, ...], ...]

JournalSpecs = dict[str, Any]
"""`services` as JSON in the order of campaign.yaml; `groups` of names that restart together.

The `spec` of each is for an agent that restarts it by itself. `batches` are those in which replicas
restart one after the other.
"""


def specs_of(system: System, host: str, batches: Batches = ()) -> JournalSpecs:
    """All that is needed to restart the services of `host` without campaign.yaml or the ledger."""
    here = (one for one in system.services.values() if one.host == host)
    return {
        "services": [{**to_builtins(one), "spec": to_builtins(spec_of(one))} for one in here],
        "groups": [list(group) for group in system.restart_groups],
        "batches": [list(batch) for batch in batches],
    }


def from_specs(specs: Mapping[str, Any] | None) -> tuple[tuple[Service, ...], Groups]:
    """The services and groups that `specs_of` wrote; none of either for None.

    Errors: KeyError or TypeError on a damaged document.
    """
    if not specs:
        return (), ()
    services = tuple(_service(document) for document in specs["services"])
    return services, tuple(tuple(group) for group in specs["groups"])


def batches_of(specs: Mapping[str, Any] | None) -> Batches:
    """The batches that `specs_of` wrote; none where it had none."""
    return tuple(tuple(batch) for batch in (specs or {}).get("batches", ()))


def _service(document: Mapping[str, Any]) -> Service:
    env = document["env"]
    return Service(
        name=document["name"],
        host=document["host"],
        manager=_manager(document["manager"]),
        env=EnvMethod(**env) if env else None,
        health=tuple(_check(check) for check in document["health"]),
        ports=tuple(document["ports"]),
        stop_timeout_s=document["stop_timeout_s"],
        before_stop=tuple(_hook(one) for one in document.get("before_stop", ())),
        reload=_reload(document.get("reload")),
        after_healthy=tuple(_hook(one) for one in document.get("after_healthy", ())),
        replicas=tuple(document.get("replicas", ())),
        availability=_availability(document.get("availability")),
    )


def _availability(document: Mapping[str, Any] | None) -> Availability | None:
    if document is None:
        return None
    return Availability(**{**document, "probe": _probe(document["probe"])})


def _reload(document: Mapping[str, Any] | None) -> Reload | None:
    if document is None:
        return None
    command = document["command"]
    return Reload(
        tuple(command) if command else None,
        document["cwd"],
        document["logged"],
        document["timeout_s"],
    )


def _hook(document: Mapping[str, Any]) -> Hook:
    undo, check = document["undo"], document["check"]
    return Hook(
        do=tuple(document["do"]),
        cwd=document["cwd"],
        on=document["on"],
        undo=tuple(undo) if undo else None,
        check=tuple(check) if check else None,
        timeout_s=document["timeout_s"],
    )


def _manager(document: Mapping[str, Any]) -> Manager:
    fields = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in document.items()
        if name != "kind"
    }
    return _MANAGERS[document["kind"]](**fields)


def _check(document: Mapping[str, Any]) -> HealthCheck:
    probe, on = _probe(document["probe"]), document.get("on")
    return HealthCheck(probe, document["timeout_s"], document["settle_s"], on)


def _probe(document: Mapping[str, Any]) -> Probe:
    fields = {name: value for name, value in document.items() if name != "kind"}
    if "command" in fields:
        fields["command"] = tuple(fields["command"])
    return _PROBES[document["kind"]](**fields)
