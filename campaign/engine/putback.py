"""The way back: restore every base, restart what ran a change, verify by hash and health.

The host's journal is the truth: what it does not list was not changed, whatever the ledger says.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from campaign.engine import cycle
from campaign.engine.cycle import CycleFailed, Lived
from campaign.engine.session import Hosts
from campaign.errors import CampaignError
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.files import Journal
from playbooks.hosts.host import Host
from playbooks.hosts.specs import spec_of
from playbooks.plan import with_groups
from playbooks.services.specs import from_specs
from playbooks.system import Service

DIALS = 3
REDIAL_S = 15.0
"""How long a host that was lost may take to answer again: its sshd, or all of it, starts anew."""

_REDIAL_EVERY_S = 0.5


@dataclass(frozen=True)
class Restored:
    """What the way back did: paths restored, cycles lived, and what is left for a person to do."""

    paths: tuple[str, ...] = ()
    cycles: tuple[Lived, ...] = ()
    remaining: tuple[str, ...] = ()

    @property
    def dirty(self) -> bool:
        return bool(self.remaining)


@dataclass
class _Way:
    """What was done on one host so far, by however many agents."""

    paths: list[str] = field(default_factory=list)
    cycles: list[Lived] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)


def put_back(hosts: Hosts, tell: Callable[[str], None] = lambda _: None) -> Restored:
    """Puts every host back and restarts what ran a change. Never raises for a host's failure:

    what could not be done is in `remaining`, as instructions. A second call finds nothing to do.
    `tell` is told what is under way.
    """
    ways = [_host(name, hosts, tell) for name in hosts.names()]
    return Restored(
        tuple(path for way in ways for path in way.paths),
        tuple(lived for way in ways for lived in way.cycles),
        tuple(text for way in ways for text in way.remaining),
    )


def _host(name: str, hosts: Hosts, tell: Callable[[str], None]) -> _Way:
    """Puts one host back, dialling again where its agent was lost."""
    way = _Way()
    for attempt in range(DIALS):
        try:
            host = hosts[name] if attempt == 0 else _again(name, hosts, tell)
            way.remaining = _put_back(name, host, hosts, way, tell)
            return way
        except HostLost as error:
            way.remaining = [_unanswered(name, error)]
            time.sleep(0.1)
        except (HostError, CampaignError) as error:
            way.remaining = [_unanswered(name, error)]
            return way
    return way


def _again(name: str, hosts: Hosts, tell: Callable[[str], None]) -> Host:
    """A fresh agent in place of one that was lost. Errors: CampaignError."""
    deadline = time.monotonic() + REDIAL_S
    while True:
        try:
            return hosts.again(name)
        except CampaignError as error:
            if not _may_come_back(error) or time.monotonic() > deadline:
                raise
        tell(f"host {name} does not answer: waiting for it, at most {REDIAL_S:.0f} s")
        time.sleep(_REDIAL_EVERY_S)


def _may_come_back(error: CampaignError) -> bool:
    cause = error.__cause__
    return isinstance(cause, HostError) and cause.kind == "unreachable"


def _unanswered(name: str, error: Exception) -> str:
    return f"host {name}: {error}; run 'campaign recover' when it answers"


def _put_back(
    name: str, host: Host, hosts: Hosts, way: _Way, tell: Callable[[str], None]
) -> list[str]:
    """What is left to do on the host."""
    tell(f"restoring the files of host {name}")
    result = host.put_back()
    way.paths += result.restored
    remaining = [f"{name}: {one.instructions}" for one in result.conflicts]
    services = tuple(replace(one, host=name) for one in _to_restart(host))
    if services:
        tell(f"restarting {_names(services)}: {_limit(services)}")
        remaining += _restart(name, services, hosts, way)
    if not remaining:
        host.settle()
    return remaining


def _restart(name: str, services: Sequence[Service], hosts: Hosts, way: _Way) -> list[str]:
    lived = cycle.begin(services, hosts)
    way.cycles.append(lived)
    try:
        cycle.live(lived, services, hosts, None)
    except CycleFailed as error:
        return [
            f"{name}: the files are as they were, but {_names(services)} did not become healthy: "
            f"{error}. See to that, then campaign recover"
        ]
    return []


def _names(services: Sequence[Service]) -> str:
    return ", ".join(one.name for one in services)


def _limit(services: Sequence[Service]) -> str:
    """How long a restart may take at most, in words."""
    seconds = sum(
        one.stop_timeout_s + max((check.timeout_s for check in one.health), default=0.0)
        for one in services
    )
    return f"at most {seconds:.0f} s"


def _to_restart(host: Host) -> tuple[Service, ...]:
    """The services that may have run a change, or that a restart left down, with their groups.

    A process has run a change when it started between the change and its restoration, both on
    the host's boot clock.
    """
    journal = host.journal()
    services, groups = from_specs(journal.specs)
    by_name = {one.name: one for one in services}
    due = [name for name, one in by_name.items() if _is_due(one, host, journal)]
    return tuple(by_name[one] for one in with_groups(due, tuple(by_name), groups) if one in by_name)


def _is_due(service: Service, host: Host, journal: Journal) -> bool:
    state = host.service_state(spec_of(service))
    if service.name in journal.restarting and not state.running:
        return True
    starts = [process.started_boot for process in state.processes]
    return any(
        trace.changed_at <= start <= trace.restored_at
        for trace in journal.traces
        for start in starts
    )
