"""Checks where the steps of a playbook act: services, their replicas, hosts."""

from collections.abc import Iterator

from playbooks.language.known import check_distinct, check_host, check_known
from playbooks.language.marks import Document, Node
from playbooks.language.problems import shown
from playbooks.language.replicas import together
from playbooks.rollout import expand, twins, units
from playbooks.system import Service, System, SystemdSpec


def check_places(document: Document, step: Node, system: System) -> None:
    """Reports services and hosts that are not there, or on which the step cannot act."""
    _services(document, step, system)
    _reloads(document, step.get("restart"), system)
    _batches(document, step.get("restart"), system)
    _patched(document, step.get("patch"), system)
    for key in ("command", "http"):
        check_host(document, step.get(key), "on", tuple(system.hosts))


def meant_by(name: str, system: System) -> Iterator[Service]:
    """The services that a name stands for, as far as there are such."""
    for one in together([name], system.replicas):
        if one in system.services:
            yield system.services[one]


def _reloads(document: Document, restart: Node, system: System) -> None:
    """Reports services that are to be reloaded, and cannot be."""
    for node in restart.get("services").texts() if restart.get("action").text == "reload" else ():
        for service in meant_by(node.text, system):
            if service.reload is None and not isinstance(service.manager, SystemdSpec):
                what = f"service {shown(node.text)} has no 'reload' in campaign.yaml: say how it"
                document.report(node.mark, f"{what} reads its files again")


def _batches(document: Document, restart: Node, system: System) -> None:
    """Reports batches of what cannot restart one after the other."""
    batch = restart.get("batch")
    if not batch:
        return
    if restart.get("action").text == "reload":
        what = "a reload takes nothing down: leave 'batch' out"
        document.report(batch.key, what)
    named = [node.text for node in restart.get("services").texts() if node.text in system.names]
    services = expand(system, together(named, system.replicas))
    if named and not any(system.services[name].replicas for name in services):
        what = f"none of {', '.join(named)} has replicas to restart in batches: leave 'batch' out"
        document.report(batch.key, f"{what}, or give one 'hosts' in campaign.yaml")
    for unit in units(services, system.restart_groups):
        tied = twins(unit)
        if tied:
            what = f"{' and '.join(tied)} restart together, as restart_groups says: leave 'batch'"
            document.report(
                batch.key, f"{what} out, or have the group's services on the same hosts"
            )


def _patched(document: Document, patch: Node, system: System) -> None:
    """Reports hosts of a patch that are not there, are said twice, or not at all."""
    given = [key for key in ("host", "hosts", "services") if patch.get(key)]
    for key in given[1:]:
        what = f"'{key}' beside '{given[0]}': one of host, hosts, services says where it is made"
        document.report(patch.get(key).key, what)
    for key in ("hosts", "services"):
        check_distinct(document, patch.get(key).texts())
    check_known(document, patch.get("hosts"), "host", system.hosts)
    check_known(document, patch.get("services"), "service", system.names)
    if not given or given == ["host"]:
        check_host(document, patch, "host", tuple(system.hosts))


def _services(document: Document, step: Node, system: System) -> None:
    lists = [step.get(action, "services") for action in ("env", "restart", "collect")]
    for node in lists:
        check_distinct(document, node.texts())
    for node in lists:
        check_known(document, node, "service", system.names)
