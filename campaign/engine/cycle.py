"""A restart cycle: the passage into a boot, from the first service going down to all healthy.

Stop all in reverse order, wait until every process is gone and every declared port is free, start
in order, wait until all are healthy: of all services at once, or of a batch of replicas after the
other. Times are the host's clock.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from math import inf

from campaign.engine import health
from campaign.engine.availability import watched
from campaign.engine.commands import CommandFailed
from campaign.engine.hosts import Hosts
from campaign.engine.lived import Chains, CycleFailed, Lived
from campaign.engine.stop import Stop
from campaign.engine.together import Beside, all_at_once, at_once
from playbooks.agent import clock
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.specs import CommandedSpec, spec_of
from playbooks.rollout import Batches
from playbooks.services.specs import Groups
from playbooks.system import Service

PORTS_FREE_S = 5.0
PORTS_EVERY_S = 0.02
HEAD_START_S = 0.25
"""What is done while services warm up leaves the processor to them for so long."""

Around = Callable[[Sequence[Service]], AbstractContextManager[object]]


def begin(
    services: Sequence[Service], hosts: Hosts, groups: Groups, batches: Batches = ()
) -> Lived:
    """The cycle of `services`, in start order, as it begins; nothing is stopped yet.

    `groups` are the names that restart together, in order; `batches` those of a rollout. A service
    that already fails its probes has been down since then, not since the stop; so has one of a
    rollout that does not run, and not since its turn. Errors: HostLost.
    """
    lived = _begun(_chains(services, groups), hosts, services)
    for names in batches:
        batch = [one for one in services if one.name in names]
        lived.batches += (_chains(batch, groups),)
    return lived


def _begun(chains: Chains, hosts: Hosts, services: Sequence[Service]) -> Lived:
    looks = (partial(_looked_at, one, hosts[one.host]) for one in services)
    found = dict(at_once(looks))
    now = hosts[services[0].host].clock()
    ill = {name: min(at, now) for name, at in found.items() if at is not None}
    down_at = min([now, *ill.values()])
    return Lived(tuple(one.name for one in services), chains, now, down_at, ill=ill)


def _looked_at(service: Service, host: Host) -> tuple[str, float | None]:
    return service.name, ill_since(service, host)


def _chains(services: Sequence[Service], groups: Groups) -> Chains:
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


def restart(
    services: Sequence[Service],
    hosts: Hosts,
    groups: Groups,
    stop: Stop | None,
    batches: Batches = (),
) -> Lived:
    """Restarts `services`; see `begin`. `stop` None: not to be interrupted.

    Errors: CycleFailed (unhealthy, crashed, a port still held), Stopped, HostLost.
    """
    lived = begin(services, hosts, groups, batches)
    live(lived, hosts, stop)
    return lived


def live(
    lived: Lived,
    hosts: Hosts,
    stop: Stop | None,
    meanwhile: Sequence[Callable[[], object]] = (),
    around: Around = nullcontext,
) -> None:
    """Goes through the cycle `lived`, filling it in as far as it gets. Errors: as `restart`.

    `meanwhile` is done, in a thread of its own, while the services warm up; `around` is entered for
    each batch of a rollout, before any of its services goes down, and left once they are healthy.
    """
    with watched(lived, hosts):
        if not lived.batches:
            _pass_through(lived, hosts, stop, meanwhile)
        for number, chains in enumerate(lived.batches, start=1):
            batch = [one for chain in chains for one in chain]
            with around(batch):
                part = _begun(chains, hosts, batch)
                lived.parts.append(part)
                _take_turn(lived, hosts, stop, meanwhile if number == 1 else ())


def _take_turn(
    lived: Lived, hosts: Hosts, stop: Stop | None, meanwhile: Sequence[Callable[[], object]]
) -> None:
    """The newest batch of a rollout; where it fails it is the last one."""
    part = lived.parts[-1]
    try:
        _pass_through(part, hosts, stop, meanwhile)
    except CycleFailed as error:
        raise CycleFailed(f"{error}; {_stopped_at(lived, len(lived.parts))}", lived) from error
    finally:
        lived.ended_at = part.ended_at
        lived.stopped.update(part.stopped)
        lived.started.update(part.started)
        lived.healthy.update(part.healthy)


def _stopped_at(lived: Lived, number: int) -> str:
    """Which replicas a rollout that failed in batch `number` left how."""
    failed = lived.parts[-1].services
    reached = {name for part in lived.parts for name in part.services}
    parts = (
        ("restarted", [name for name in lived.healthy if name not in failed]),
        ("failed", failed),
        ("not restarted", [name for name in lived.services if name not in reached]),
    )
    told = ", ".join(f"{word}: {' '.join(names)}" for word, names in parts if names)
    return f"the rollout stopped in batch {number} of {len(lived.batches)} ({told})"


def _pass_through(
    lived: Lived, hosts: Hosts, stop: Stop | None, meanwhile: Sequence[Callable[[], object]]
) -> None:
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


def ill_since(service: Service, host: Host) -> float | None:
    """When a probe of a service was seen to fail just now, on its host's clock.

    None where none fails, infinite where it does not run; probes from other hosts and of the log
    are not asked. Errors: HostLost.
    """
    spec = spec_of(service)
    if not host.service_state(spec).running:
        return inf
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
        f"{way_to_free(owner)}"
    )


def way_to_free(holder: str) -> str:
    """What to do about a port that is held by someone, as `process_named` has it."""
    if holder == "pid 1 (systemd)":
        return "a socket unit listens there, so leave it out of ports: in campaign.yaml"
    return "end that process, or correct ports: in campaign.yaml"


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
