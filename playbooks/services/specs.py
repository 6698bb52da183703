"""Embedded services: processes that the agent's own supervisor keeps."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from playbooks.system import (
    CommandProbe,
    EnvMethod,
    HealthCheck,
    HttpProbe,
    LogProbe,
    Probe,
    ProcessSpec,
    Service,
    System,
    TcpProbe,
)

_PROBES: Mapping[str, type[HttpProbe | TcpProbe | CommandProbe | LogProbe]] = {
    "http": HttpProbe,
    "tcp": TcpProbe,
    "command": CommandProbe,
    "log": LogProbe,
}


Groups = tuple[tuple[str, ...], ...]

JournalSpecs = dict[str, Any]
"""`services` as JSON in the order of campaign.yaml; `groups` of names that restart together."""


def specs_of(system: System, host: str) -> JournalSpecs:
    """All that is needed to restart the services of `host` without campaign.yaml or the ledger."""
    return {
        "services": [asdict(one) for one in system.services.values() if one.host == host],
        "groups": [list(group) for group in system.restart_groups],
    }


def from_specs(specs: Mapping[str, Any] | None) -> tuple[tuple[Service, ...], Groups]:
    """The services and groups that `specs_of` wrote; none of either for None.

    Errors: KeyError or TypeError on a damaged document.
    """
    if not specs:
        return (), ()
    services = tuple(_service(document) for document in specs["services"])
    return services, tuple(tuple(group) for group in specs["groups"])


def _service(document: Mapping[str, Any]) -> Service:
    process = dict(document["process"])
    process["command"] = tuple(process["command"])
    env = document["env"]
    return Service(
        name=document["name"],
        host=document["host"],
        process=ProcessSpec(**process),
        env=EnvMethod(**env) if env else None,
        health=tuple(_check(check) for check in document["health"]),
        ports=tuple(document["ports"]),
        stop_timeout_s=document["stop_timeout_s"],
    )


def _check(document: Mapping[str, Any]) -> HealthCheck:
    return HealthCheck(_probe(document["probe"]), document["timeout_s"], document["settle_s"])


def _probe(document: Mapping[str, Any]) -> Probe:
    fields = {name: value for name, value in document.items() if name != "kind"}
    if "command" in fields:
        fields["command"] = tuple(fields["command"])
    return _PROBES[document["kind"]](**fields)
