"""Restarts what ran a change, by the specifications in the journal alone.

For an agent whose operator is gone. It knows the services of its own host only: those of other
hosts that restart with them are seen to by the agents there.
"""

import time
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from playbooks.agent import clock, health, processes, services
from playbooks.agent.journal import RELOADED, Journal
from playbooks.agent.lapse import Cycle
from playbooks.agent.managed import Managed, Started
from playbooks.agent.probes import Prober
from playbooks.agent.session import Session, VerbError

PORTS_FREE_S = 5.0
_PORTS_EVERY_S = 0.02


class Known(NamedTuple):
    """A service as the journal describes it, with what manages it."""

    said: Dict[str, Any]
    managed: Managed

    @property
    def name(self) -> str:
        name: str = self.said["name"]
        return name

    @property
    def checks(self) -> List[Dict[str, Any]]:
        """Those of its health checks that its own host makes."""
        return [one for one in self.said["health"] if one.get("on") in (None, self.said["host"])]


def known(journal: Journal) -> List[Known]:
    """The services of this host, in start order; those that an older operator noted are left."""
    said = (journal.specs or {}).get("services", [])
    find = services.find
    return [Known(one, find(journal.state_dir, one["spec"])) for one in said if "spec" in one]


def groups_here(journal: Journal) -> List[List[str]]:
    """The groups of names that restart together, those on other hosts included."""
    found: List[List[str]] = (journal.specs or {}).get("groups", [])
    return found


def due(journal: Journal) -> List[Known]:
    """The services that may run a change, or that a restart left ill, with their groups."""
    here = {one.name: one for one in known(journal)}
    wanted = {name for name, one in here.items() if _is_due(one, journal)}
    touched = [group for group in groups_here(journal) if wanted.intersection(group)]
    order = [*(name for group in touched for name in group), *(n for n in here if n in wanted)]
    return [here[name] for name in dict.fromkeys(order) if name in here]


def _is_due(service: Known, journal: Journal) -> bool:
    state = service.managed.state()
    if service.name in journal.restarting and not is_well(service):
        return True
    if RELOADED + service.name in journal.restarting:
        return True  # nobody is there to reload it: a restart reads the files again, too
    spans = [(one.changed_at, one.restored_at) for one in journal.traces]
    return any(begin <= start <= end for begin, end in spans for start in state.starts)


def is_well(service: Known) -> bool:
    """Whether it runs and its probes hold now; a log is not asked."""
    if not service.managed.state().running:
        return False
    asked = [one["probe"] for one in service.checks if one["probe"]["kind"] != "log"]
    return all(Prober(probe, _no_log)().ok for probe in asked)


def _no_log() -> Any:
    raise VerbError("bad-request", "a log is not asked here")


def cycle(session: Session, chosen: Sequence[Known], batch: Optional[int]) -> Cycle:
    """Stops `chosen` in reverse order, starts them in order, and waits until all are healthy.

    They are a `batch` of a rollout, or None.
    """
    lived = Cycle(tuple(one.name for one in chosen), clock.now(), {}, {}, {}, batch)
    try:
        for one in reversed(chosen):
            stopped = one.managed.stop(one.said["stop_timeout_s"])
            lived.stopped[one.name] = stopped._asdict()
        _await_ports(session, chosen)
        begun = [(one, one.managed.start()) for one in chosen]
        lived.started.update((one.name, started._asdict()) for one, started in begun)
        for one, started in begun:
            lived.healthy[one.name] = _await_health(one, started)
    except (VerbError, OSError) as error:
        return lived._replace(failed=str(error))
    return lived


def _await_ports(session: Session, chosen: Sequence[Known]) -> None:
    """Raises VerbError("port-held")."""
    ports = [port for one in chosen for port in one.said["ports"]]
    deadline = time.monotonic() + PORTS_FREE_S
    while ports:
        held = processes.listening(session, {"ports": ports}, b"")[0]["ports"]
        if not held:
            return
        if time.monotonic() > deadline:
            raise VerbError("port-held", f"port {held[0][0]} is still held after the stop")
        time.sleep(_PORTS_EVERY_S)


def _await_health(service: Known, started: Started) -> Dict[str, Any]:
    """Errors: "crashed", "unhealthy"."""
    life = service.managed.life(started)
    checks = [health.Check(said, life) for said in service.checks]
    try:
        return health.Wait(service.managed, started, life, checks, lambda: False).run()
    finally:
        for check in checks:
            check.close()
