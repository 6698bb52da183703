"""A restart cycle: the passage into a boot, from the first service going down to all healthy.

Stop all in reverse order, wait until every process is gone and every declared port is free, start
in order, wait until all are healthy. Times are the host's clock.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from campaign.engine.session import Hosts
from campaign.engine.stop import Stop
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import Started
from playbooks.hosts.specs import CommandedSpec, spec_of
from playbooks.system import Service

PORTS_FREE_S = 5.0


class CycleFailed(Exception):  # noqa: N818 - it says what happened
    """The system did not come up; `cycle` is what was lived until then."""

    def __init__(self, what: str, cycle: "Lived") -> None:
        super().__init__(what)
        self.cycle = cycle


@dataclass
class Lived:
    """A cycle as the system lived it; None where it did not get so far."""

    services: tuple[str, ...]
    requested_at: float
    down_at: float
    gone_at: float | None = None
    started_at: float | None = None
    healthy_at: float | None = None
    ended_at: float | None = None
    killed: list[str] = field(default_factory=list)
    started: dict[str, Started] = field(default_factory=dict)

    @property
    def downtime_s(self) -> float:
        end = self.healthy_at or self.ended_at or self.down_at
        return max(end - self.down_at, 0.0)

    @property
    def drain_s(self) -> float:
        return _span(self.requested_at, self.gone_at)

    @property
    def down_s(self) -> float:
        return _span(self.gone_at, self.started_at)

    @property
    def warmup_s(self) -> float:
        return _span(self.started_at, self.healthy_at)

    def told(self) -> str:
        """Its parts in one line."""
        text = (
            f"down {self.downtime_s:.1f} s: drain {self.drain_s:.1f}, down {self.down_s:.1f}, "
            f"warm-up {self.warmup_s:.1f}"
        )
        return f"{text}; killed: {', '.join(self.killed)}" if self.killed else text


def _span(start: float | None, end: float | None) -> float:
    return max(end - start, 0.0) if start is not None and end is not None else 0.0


def begin(services: Sequence[Service], hosts: Hosts) -> Lived:
    """The cycle of `services` as it begins; nothing is stopped yet. Errors: HostLost.

    A service that already fails its probes has been down since then, not since the stop.
    """
    names = tuple(service.name for service in services)
    failing = [at for service in services if (at := _failing(service, hosts[service.host]))]
    now = hosts[services[0].host].clock()
    return Lived(names, now, min([now, *failing]))


def restart(services: Sequence[Service], hosts: Hosts, stop: Stop | None) -> Lived:
    """Restarts `services` (in start order) as a group. `stop` None: not to be interrupted.

    Errors: CycleFailed (unhealthy, crashed, a port still held), Stopped, HostLost.
    """
    lived = begin(services, hosts)
    live(lived, services, hosts, stop)
    return lived


def live(lived: Lived, services: Sequence[Service], hosts: Hosts, stop: Stop | None) -> None:
    """Goes through the cycle `lived`, filling it in as far as it gets. Errors: as `restart`."""
    host_of = {service.name: hosts[service.host] for service in services}
    try:
        if not _restarts_itself(services, host_of, lived):
            _stop_all(services, host_of, lived)
            _wait_for_ports(services, host_of, stop)
            if stop is not None:
                stop.check()
            _start_all(services, host_of, lived)
        _await_all(services, host_of, lived, stop)
    except HostError as error:
        lived.ended_at = time.time()
        if stop is not None:
            stop.check()
        raise CycleFailed(_told(error), lived) from error
    except BaseException:
        lived.ended_at = time.time()
        raise


def _told(error: HostError) -> str:
    """The error with the last lines of the service's log, where it has them."""
    lines = [line for line in error.detail.get("log") or () if line.strip()]
    return f"{error.message}; its last log lines: {' | '.join(lines[-5:])}" if lines else str(error)


def _failing(service: Service, host: Host) -> float | None:
    spec = spec_of(service)
    if not host.service_state(spec).running:
        return None
    for check in service.health:
        if check.probe.kind == "log":
            continue
        result = host.probe(check.probe, spec)
        if not result.ok:
            return result.at
    return None


def _restarts_itself(
    services: Sequence[Service], host_of: Mapping[str, Host], lived: Lived
) -> bool:
    """Restarts one that is alone, and has a command for that, by that command."""
    spec = spec_of(services[0])
    if len(services) > 1 or not isinstance(spec, CommandedSpec) or spec.restart is None:
        return False
    host = host_of[spec.name]
    if not host.service_state(spec).running:
        return False
    lived.started[spec.name] = host.service_restart(spec)
    lived.started_at = lived.started[spec.name].started_at
    return True


def _stop_all(services: Sequence[Service], host_of: Mapping[str, Host], lived: Lived) -> None:
    for service in reversed(services):
        stopped = host_of[service.name].service_stop(spec_of(service), service.stop_timeout_s)
        if stopped.killed:
            lived.killed.append(service.name)
        lived.gone_at = stopped.gone_at


def _wait_for_ports(
    services: Sequence[Service], host_of: Mapping[str, Host], stop: Stop | None
) -> None:
    deadline = time.monotonic() + PORTS_FREE_S
    for service in services:
        host = host_of[service.name]
        while held := {p: pids for p, pids in host.listening(service.ports).items() if pids}:
            if time.monotonic() > deadline:
                raise HostError("port-held", _held(service, host, held))
            if stop is not None:
                stop.check()
            time.sleep(0.05)


def _held(service: Service, host: Host, held: Mapping[int, Sequence[int]]) -> str:
    port, pids = next(iter(held.items()))
    owner = ", ".join(_process(host, pid) for pid in pids)
    return (
        f"port {port} of {service.name} is still held by {owner} after {service.name} stopped; "
        "end that process or correct ports: in campaign.yaml"
    )


def _process(host: Host, pid: int) -> str:
    if not pid:
        return "an unknown process"
    try:
        name = host.read(f"/proc/{pid}", "comm")[1] or b""
    except HostError:
        name = b""
    shown = name.decode(errors="replace").strip()
    return f"pid {pid} ({shown})" if shown else f"pid {pid}"


def _start_all(services: Sequence[Service], host_of: Mapping[str, Host], lived: Lived) -> None:
    for service in services:
        started = host_of[service.name].service_start(spec_of(service))
        lived.started[service.name] = started
        lived.started_at = lived.started_at or started.started_at


def _await_all(
    services: Sequence[Service], host_of: Mapping[str, Host], lived: Lived, stop: Stop | None
) -> None:
    for service in services:
        started = lived.started[service.name]
        health = host_of[service.name].await_health(
            spec_of(service),
            service.health,
            started,
            stop=stop.event if stop is not None else None,
        )
        if stop is not None:
            stop.check()
        lived.healthy_at = max(lived.healthy_at or 0.0, health.healthy_at)
