"""A restart cycle: the passage into a boot, from the first service going down to all healthy.

Stop all in reverse order, wait until every process is gone and every declared port is free, start
in order, wait until all are healthy. Times are the host's clock.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from campaign.engine import health
from campaign.engine.commands import CommandFailed
from campaign.engine.session import Hosts
from campaign.engine.stop import Stop
from campaign.engine.together import Beside, all_at_once, at_once
from playbooks.agent import clock
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import Health, Started, Stopped
from playbooks.hosts.specs import CommandedSpec, spec_of
from playbooks.services.specs import Groups
from playbooks.system import Service

PORTS_FREE_S = 5.0
PORTS_EVERY_S = 0.02
HEAD_START_S = 0.25
"""What is done while services warm up leaves the processor to them for so long."""


class CycleFailed(Exception):  # noqa: N818 - it says what happened
    """The system did not come up; `cycle` is what was lived until then."""

    def __init__(self, what: str, cycle: "Lived") -> None:
        super().__init__(what)
        self.cycle = cycle


@dataclass
class Lived:
    """A cycle as the system lived it; None where it did not get so far.

    `chains`: the services in parts that go through it at once, in start order within each.
    """

    services: tuple[str, ...]
    chains: tuple[tuple[Service, ...], ...]
    requested_at: float
    down_at: float
    ended_at: float | None = None
    stopped: dict[str, Stopped] = field(default_factory=dict)
    started: dict[str, Started] = field(default_factory=dict)
    healthy: dict[str, Health] = field(default_factory=dict)

    @property
    def killed(self) -> list[str]:
        return [name for name, stopped in self.stopped.items() if stopped.killed]

    @property
    def gone_at(self) -> float | None:
        return max((one.gone_at for one in self.stopped.values()), default=None)

    @property
    def started_at(self) -> float | None:
        return min((one.started_at for one in self.started.values()), default=None)

    @property
    def healthy_at(self) -> float | None:
        if self.healthy.keys() != {*self.services}:
            return None
        return max((one.healthy_at for one in self.healthy.values()), default=None)

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


def begin(services: Sequence[Service], hosts: Hosts, groups: Groups) -> Lived:
    """The cycle of `services`, in start order, as it begins; nothing is stopped yet.

    `groups` are the names that restart together, in order. A service that already fails its
    probes has been down since then, not since the stop. Errors: HostLost.
    """
    looks = (partial(failing_since, one, hosts[one.host]) for one in services)
    failing = [at for at in at_once(looks) if at is not None]
    now = hosts[services[0].host].clock()
    names = tuple(one.name for one in services)
    return Lived(names, _chains(services, groups), now, min([now, *failing]))


def _chains(services: Sequence[Service], groups: Groups) -> tuple[tuple[Service, ...], ...]:
    """The services in parts: those of one group, or of one host, are in order in one part."""
    parts: list[list[Service]] = []
    for service in services:
        linked = [part for part in parts if any(_linked(service, one, groups) for one in part)]
        joined = [*(one for part in linked for one in part), service]
        parts = [part for part in parts if part not in linked]
        parts.append(sorted(joined, key=services.index))
    return tuple(map(tuple, parts))


def _linked(one: Service, other: Service, groups: Groups) -> bool:
    together = any(one.name in group and other.name in group for group in groups)
    return one.host == other.host or together


def joined(cycles: Sequence[Lived]) -> Lived:
    """Cycles that were gone through at once, as the one that the system lived."""
    return Lived(
        services=tuple(name for one in cycles for name in one.services),
        chains=tuple(chain for one in cycles for chain in one.chains),
        requested_at=min(one.requested_at for one in cycles),
        down_at=min(one.down_at for one in cycles),
        stopped={name: at for one in cycles for name, at in one.stopped.items()},
        started={name: at for one in cycles for name, at in one.started.items()},
        healthy={name: at for one in cycles for name, at in one.healthy.items()},
    )


def restart(services: Sequence[Service], hosts: Hosts, groups: Groups, stop: Stop | None) -> Lived:
    """Restarts `services`; see `begin`. `stop` None: not to be interrupted.

    Errors: CycleFailed (unhealthy, crashed, a port still held), Stopped, HostLost.
    """
    lived = begin(services, hosts, groups)
    live(lived, hosts, stop)
    return lived


def live(
    lived: Lived, hosts: Hosts, stop: Stop | None, meanwhile: Sequence[Callable[[], object]] = ()
) -> None:
    """Goes through the cycle `lived`, filling it in as far as it gets. Errors: as `restart`.

    `meanwhile` is done, in a thread of its own, while the services warm up.
    """
    passage = _Passage(lived, hosts, stop, meanwhile)
    try:
        passage.go()
    except HostError as error:
        lived.ended_at = clock.now()
        if stop is not None:
            stop.check()
        raise CycleFailed(told(error), lived) from error
    except BaseException:
        lived.ended_at = clock.now()
        raise


class _Passage:
    """The way through a cycle: all chains down, at once; then all of them up, at once."""

    def __init__(
        self,
        lived: Lived,
        hosts: Hosts,
        stop: Stop | None,
        meanwhile: Sequence[Callable[[], object]],
    ) -> None:
        self._lived = lived
        self._hosts = hosts
        self._stop = stop
        self._meanwhile = meanwhile
        self._failed = threading.Event()

    def go(self) -> None:
        if not self._restarts_itself():
            all_at_once(partial(self._down, chain) for chain in self._lived.chains)
            self._check()
        settled = threading.Event()
        with Beside(partial(self._use_the_wait, settled)) as waiting:
            try:
                ups = (partial(self._up, one) for one in self._lived.chains)
                all_at_once(ups, self._failed.set)
            finally:
                settled.set()
            waiting.result()

    def _use_the_wait(self, settled: threading.Event) -> None:
        settled.wait(HEAD_START_S)
        for work in self._meanwhile:
            work()

    def is_set(self) -> bool:
        """Whether waiting for health is over: we are asked to stop, or another one failed."""
        return self._failed.is_set() or (self._stop is not None and self._stop.event.is_set())

    def _check(self) -> None:
        if self._stop is not None:
            self._stop.check()

    def _restarts_itself(self) -> bool:
        """Restarts one that is alone, and has a command for that, by that command."""
        (service, *others), *more = self._lived.chains
        spec, host = spec_of(service), self._hosts[service.host]
        if others or more or not isinstance(spec, CommandedSpec) or spec.restart is None:
            return False
        if not host.service_state(spec).running:
            return False
        self._lived.started[spec.name] = host.service_restart(spec)
        return True

    def _down(self, chain: Sequence[Service]) -> None:
        for service in reversed(chain):
            self._lived.stopped[service.name] = self._hosts[service.host].service_stop(
                spec_of(service), service.stop_timeout_s
            )
        deadline = time.monotonic() + PORTS_FREE_S
        for service in chain:
            self._wait_for_ports(service, deadline)

    def _wait_for_ports(self, service: Service, deadline: float) -> None:
        host = self._hosts[service.host]
        while held := host.listening(service.ports) if service.ports else {}:
            if time.monotonic() > deadline:
                raise HostError("port-held", _held(service, host, held))
            self._check()
            time.sleep(PORTS_EVERY_S)

    def _up(self, chain: Sequence[Service]) -> None:
        for service in chain:
            if service.name not in self._lived.started:
                started = self._hosts[service.host].service_start(spec_of(service))
                self._lived.started[service.name] = started
        all_at_once((partial(self._await, service) for service in chain), self._failed.set)

    def _await(self, service: Service) -> None:
        started = self._lived.started[service.name]
        try:
            self._lived.healthy[service.name] = health.awaited(service, self._hosts, started, self)
        except HostError as error:
            if error.kind != "cancelled":
                raise
        self._check()


def told(error: HostError | CommandFailed) -> str:
    """The error with the last lines of the service's log, where it has them."""
    if isinstance(error, CommandFailed):
        return str(error)
    lines = [line for line in error.detail.get("log") or () if line.strip()]
    return f"{error.message}; its last log lines: {' | '.join(lines[-5:])}" if lines else str(error)


def failing_since(service: Service, host: Host) -> float | None:
    """When a probe of a service that runs was seen to fail just now, on its host's clock.

    None where none fails; those from other hosts and of the log are not asked. Errors: HostLost.
    """
    spec = spec_of(service)
    if not host.service_state(spec).running:
        return None
    for check in service.health:
        if check.probe.kind == "log" or check.on not in (None, service.host):
            continue
        result = host.probe(check.probe, spec)
        if not result.ok:
            return result.at
    return None


def _held(service: Service, host: Host, held: Mapping[int, Sequence[int]]) -> str:
    port, pids = next(iter(held.items()))
    owner = ", ".join(process_named(host, pid) for pid in pids)
    return (
        f"port {port} of {service.name} is still held by {owner} after {service.name} stopped; "
        "end that process or correct ports: in campaign.yaml"
    )


def process_named(host: Host, pid: int) -> str:
    """A process in words; pid 0 is one that we may not see."""
    if not pid:
        return "an unknown process"
    try:
        name = host.read(f"/proc/{pid}", "comm")[1] or b""
    except HostError:
        name = b""
    shown = name.decode(errors="replace").strip()
    return f"pid {pid} ({shown})" if shown else f"pid {pid}"
