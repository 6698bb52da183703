"""Waiting until a service is healthy: watched on its own host, and asked from others."""

import time
from collections.abc import Sequence

from msgspec.structs import replace

from campaign.engine.hosts import Hosts
from playbooks.hosts.connection import HostError
from playbooks.hosts.processes import Flag, Health, Started
from playbooks.hosts.specs import spec_of
from playbooks.system import HealthCheck, Service

EVERY_S = 0.1
"""How often a host asks a service of another one."""


def awaited(service: Service, hosts: Hosts, started: Started, stop: Flag | None) -> Health:
    """Waits for the checks of its own host, then for those from other hosts that are known.

    Times are its own host's. Errors: HostLost; HostError of the kinds of Host.await_health.
    """
    began, host = time.monotonic(), hosts[service.host]
    own = [one for one in service.health if one.on in (None, service.host)]
    others = [one for one in service.health if one not in own and one.on in hosts.names()]
    found = host.await_health(spec_of(service), own, started, stop=stop)
    if not others:
        return found
    _hold(service, hosts, started, stop, [_Asked(one, hosts, began) for one in others])
    return replace(found, healthy_at=host.clock())


class _Asked:
    """A check from another host, and since when it has been satisfied without a break."""

    def __init__(self, check: HealthCheck, hosts: Hosts, began: float) -> None:
        assert check.on is not None
        self._check = check
        self._host = hosts[check.on]
        self._began = began
        self._since: float | None = None
        self._detail = ""

    def settled(self) -> bool:
        """Asks once more."""
        found, now = self._host.probe(self._check.probe), time.monotonic()
        self._detail = found.detail
        self._since = (self._since or now) if found.ok else None
        return self._since is not None and now - self._since >= self._check.settle_s

    @property
    def late(self) -> str:
        """What to say once its time is over; nothing before."""
        limit = self._check.timeout_s
        if time.monotonic() - self._began <= limit:
            return ""
        return f"within {limit:g} s, asked from {self._check.on}: {self._detail}"


def _hold(
    service: Service, hosts: Hosts, started: Started, stop: Flag | None, asked: Sequence[_Asked]
) -> None:
    """Until all hold at once; the service must live meanwhile."""
    host, spec = hosts[service.host], spec_of(service)
    while True:
        host.await_health(spec, (), started, stop=stop)
        settled = [one.settled() for one in asked]
        if all(settled):
            return
        for one, is_settled in zip(asked, settled, strict=True):
            if not is_settled and one.late:
                lines = list(host.service_last_lines(spec))
                raise HostError(
                    "unhealthy", f"{service.name} was not healthy {one.late}", log=lines
                )
        if stop is not None and stop.is_set():
            raise HostError("cancelled", f"waiting for {service.name} was cancelled")
        time.sleep(EVERY_S)
