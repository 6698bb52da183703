"""doctor: looks at every host and service before the first run, and changes nothing."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from msgspec.structs import replace

from campaign.engine.hosts import Hosts
from campaign.errors import CampaignError
from campaign.operations import host_checks, service_checks
from campaign.operations.findings import Checkup, Finding, guarded
from campaign.workspace import Workspace
from playbooks.hosts.connection import HostError, HostLost
from playbooks.redact import Redactor
from playbooks.system import Host as Machine
from playbooks.system import Service, System

MOST_AT_ONCE = 16
"""Hosts that are looked at side by side."""

_JOURNAL_KINDS = frozenset(["journal-damaged", "journal-newer"])


def examine(workspace: Workspace) -> Checkup:
    """Looks at all hosts at once. No lock is taken, and no key is added to known_hosts.

    Errors: LoadError.
    """
    system = workspace.load_system()
    machines = {name: _strict(machine) for name, machine in system.hosts.items()}
    with (
        Hosts(workspace, machines, "doctor") as hosts,
        ThreadPoolExecutor(MOST_AT_ONCE) as pool,
    ):
        found = list(pool.map(lambda one: _host(one, system, hosts), system.hosts.values()))
    redactor = Redactor(system.secrets)
    return Checkup(
        tuple(_redacted(finding, redactor) for one in found for finding in one.findings),
        tuple(name for one in found for name in one.unreached),
    )


def _strict(machine: Machine) -> Machine:
    """The machine, with a key that is not known refused: accepting it would add it to a file."""
    if machine.ssh is None:
        return machine
    return replace(machine, ssh=replace(machine.ssh, accept_new=False))


def _redacted(finding: Finding, redactor: Redactor) -> Finding:
    return replace(finding, what=redactor.text(finding.what), fix=redactor.text(finding.fix))


def _host(machine: Machine, system: System, hosts: Hosts) -> Checkup:
    """A host with the services on it."""
    services = tuple(one for one in system.services.values() if one.host == machine.name)
    found: list[Finding] = []
    try:
        for finding in _findings(machine, services, system, hosts):
            found.append(finding)
    except CampaignError as error:
        return _refused(machine, error)
    except HostLost as error:
        found.append(Finding(machine.name, "reach", str(error), "fail", "try again"))
        return Checkup(tuple(found), (machine.name,))
    return Checkup(tuple(found))


def _findings(
    machine: Machine, services: tuple[Service, ...], system: System, hosts: Hosts
) -> Iterator[Finding]:
    """Errors: CampaignError where there is no way in, HostLost where it ends in between."""
    began = time.monotonic()
    host = hosts.peek(machine.name)
    took_s, ledger = time.monotonic() - began, hosts.workspace.ledger
    yield from host_checks.examine(machine, host, services, took_s, ledger)
    reproducers = [one for one in system.reproducers.values() if one.on == machine.name]
    found = host_checks.examine_reproducers(machine, host, reproducers)
    yield from guarded(machine.name, "reproducer", found)
    for service in services:
        yield from service_checks.examine(service, host)
    asked = {one.shared: one.availability for one in system.services.values() if one.availability}
    for name, one in asked.items():
        if one.on == machine.name:
            looks = service_checks.examine_availability(name, one, host)
            yield from guarded(name, "availability", looks)


def _refused(machine: Machine, error: CampaignError) -> Checkup:
    """There is no way in, or one that only the first run may take."""
    cause, name = error.__cause__, machine.name
    kind = cause.kind if isinstance(cause, HostError) else "lost"
    fix = error.fix
    if kind in _JOURNAL_KINDS:
        return Checkup((Finding(name, "leftovers", str(cause), "fail", fix),))
    if kind == "unknown-key" and machine.ssh is not None and machine.ssh.accept_new:
        what = f"{str(cause).removesuffix(', or say accept_new: true')}; "
        what += "else the first run takes it as it is (accept_new). Nothing more was looked at"
        return Checkup((Finding(name, "reach", what, "warn"),))
    return Checkup((Finding(name, "reach", str(cause), "fail", fix),), (name,))
