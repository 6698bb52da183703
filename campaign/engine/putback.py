"""The way back: restore every base, restart what ran a change, verify by hash and health.

The host's journal is the truth: what it does not list was not changed, whatever the ledger says.
"""

import time
from dataclasses import dataclass, replace

from campaign.engine import cycle
from campaign.engine.cycle import CycleFailed, Lived
from campaign.engine.session import Hosts
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.files import Journal
from playbooks.hosts.host import Host
from playbooks.plan import with_groups
from playbooks.services.process import from_specs
from playbooks.system import Service

REDIALS = 3


@dataclass(frozen=True)
class Restored:
    """What the way back did: paths restored, cycles lived, and what is left for a person to do."""

    paths: tuple[str, ...] = ()
    cycles: tuple[Lived, ...] = ()
    remaining: tuple[str, ...] = ()

    @property
    def dirty(self) -> bool:
        return bool(self.remaining)


def put_back(hosts: Hosts) -> Restored:
    """Puts every host back and restarts what ran a change. Never raises for a host's failure:

    what could not be done is in `remaining`, as instructions. A second call finds nothing to do.
    """
    paths: list[str] = []
    cycles: list[Lived] = []
    remaining: list[str] = []
    for name in hosts.names():
        try:
            one = _host(name, hosts)
        except HostError as error:
            remaining.append(f"host {name}: {error}; run 'campaign recover' when it answers")
            continue
        paths += one.paths
        cycles += one.cycles
        remaining += one.remaining
    return Restored(tuple(paths), tuple(cycles), tuple(remaining))


def _host(name: str, hosts: Hosts) -> Restored:
    """Puts one host back, dialling again where its agent was lost."""
    for attempt in range(REDIALS):
        try:
            return _put_back(name, hosts[name] if attempt == 0 else hosts.again(name), hosts)
        except HostLost:
            if attempt == REDIALS - 1:
                raise
            time.sleep(0.1)
    raise AssertionError("unreachable")


def _put_back(name: str, host: Host, hosts: Hosts) -> Restored:
    result = host.put_back()
    remaining = [f"{name}: {one.instructions}" for one in result.conflicts]
    services = tuple(replace(one, host=name) for one in _to_restart(host))
    if not services:
        if not remaining:
            host.settle()
        return Restored(result.restored, (), tuple(remaining))
    try:
        lived = cycle.restart(services, hosts, None)
    except CycleFailed as error:
        names = ", ".join(one.name for one in services)
        remaining.append(
            f"{name}: the files are as they were, but {names} did not become healthy: {error}. "
            "See to that, then campaign recover"
        )
        return Restored(result.restored, (error.cycle,), tuple(remaining))
    if not remaining:
        host.settle()
    return Restored(result.restored, (lived,), tuple(remaining))


def _to_restart(host: Host) -> tuple[Service, ...]:
    """The services that may have run a change, or that a restart left down, with their groups.

    A process has run a change when it started between the change and its restoration, both on
    the host's boot clock.
    """
    journal = host.journal()
    services, groups = from_specs(journal.specs)
    by_name = {one.name: one for one in services}
    due = [one for one in by_name if _is_due(one, host, journal)]
    return tuple(by_name[one] for one in with_groups(due, tuple(by_name), groups) if one in by_name)


def _is_due(service: str, host: Host, journal: Journal) -> bool:
    state = host.service_state(service)
    if service in journal.restarting and not state.running:
        return True
    starts = [process.started_boot for process in state.processes]
    return any(
        trace.changed_at <= start <= trace.restored_at
        for trace in journal.traces
        for start in starts
    )
