"""Waiting on the host until a service is healthy, has crashed, or has had its time."""

import threading
import time
import weakref
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from playbooks.agent import clock, services
from playbooks.agent.managed import Life, Managed, Started
from playbooks.agent.pace import pause
from playbooks.agent.probes import Prober
from playbooks.agent.session import Handler, Session, VerbError

LOOK_EVERY_S = (0.02, 0.05)
"""At least, and at most."""

Reply = Tuple[Dict[str, Any], bytes]


class Check:
    """One probe, and how long it has been satisfied without a break."""

    def __init__(self, said: Dict[str, Any], life: Life) -> None:
        self.timeout_s: float = said["timeout_s"]
        self.settled = False
        self.detail = ""
        self.ok_at: Optional[float] = None
        self._settle_s: float = said["settle_s"]
        self._once = Prober(said["probe"], life.follow)
        self._ok_since = 0.0

    def look(self) -> None:
        result, now = self._once(), time.monotonic()
        self.detail = result.detail
        if not result.ok:
            self.ok_at = None
        elif self.ok_at is None:
            self.ok_at, self._ok_since = result.at, now
        self.settled = result.ok and now - self._ok_since >= self._settle_s

    def close(self) -> None:
        self._once.close()


class Wait(NamedTuple):
    """Whose health is awaited: this very start of the service, with its checks."""

    service: Managed
    started: Started
    life: Life
    checks: List[Check]
    cancelled: Callable[[], bool]

    def run(self) -> Dict[str, Any]:
        """Look at all checks until each has settled, every 50 ms once that takes seconds.

        Errors: "crashed", "unhealthy", "cancelled". `first_ok_at` begins the time without a break
        in which all are satisfied, `healthy_at` is when all had settled: seconds since the epoch.
        """
        began = time.monotonic()
        attempts = 0
        while True:
            now = time.monotonic()
            next_look = now + pause(now - began, *LOOK_EVERY_S)
            attempts += 1
            for check in self.checks:
                check.look()
            self.life.require()
            if all(check.settled for check in self.checks) and not self.life.awaited():
                return self._healthy(attempts)
            self._require_in_time(began)
            while time.monotonic() < next_look:
                self._require_wanted()
                time.sleep(0.01)

    def _healthy(self, attempts: int) -> Dict[str, Any]:
        now = clock.now()
        first = max((check.ok_at or now for check in self.checks), default=now)
        return {"healthy_at": now, "first_ok_at": first, "attempts": attempts}

    def _require_wanted(self) -> None:
        if self.cancelled():
            raise VerbError("cancelled", f"waiting for {self.service.name} was cancelled")

    def _require_in_time(self, began: float) -> None:
        waited = time.monotonic() - began
        for check in self.checks:
            if waited > check.timeout_s and not check.settled:
                raise VerbError(
                    "unhealthy",
                    f"{self.service.name} was not healthy within {check.timeout_s:g} s: "
                    f"{check.detail}",
                    log=self.service.last_lines(self.started.cursor),
                )


_waiting: "weakref.WeakKeyDictionary[Session, Dict[str, threading.Event]]"
_waiting = weakref.WeakKeyDictionary()


def await_health(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Wait until a service is healthy; the event "health" of stream `sid` tells the outcome."""
    sid, service = request["sid"], services.find(session.state_dir, request["spec"])
    started = Started(**request["started"])
    life = service.life(started)
    checks = [Check(said, life) for said in request["checks"]]
    cancel = threading.Event()
    _waiting.setdefault(session, {})[sid] = cancel

    def cancelled() -> bool:
        return cancel.is_set() or session.closing.is_set()

    wait = Wait(service, started, life, checks, cancelled)
    session.run_in_thread(_tell, session, sid, wait)
    return {}, b""


def _tell(session: Session, sid: str, wait: Wait) -> None:
    try:
        outcome = wait.run()
    except VerbError as error:
        facts = {**error.detail, "kind": error.kind, "message": error.message}
        outcome = {"error": facts}
    finally:
        _waiting[session].pop(sid, None)
        for check in wait.checks:
            check.close()
    session.emit({"event": "health", "sid": sid, **outcome})


def cancel_health(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Stop waiting; a wait that is over is no error."""
    event = _waiting.get(session, {}).get(request["sid"])
    if event:
        event.set()
    return {"found": event is not None}, b""


VERBS: Dict[str, Handler] = {"await_health": await_health, "cancel_health": cancel_health}
SLOW_VERBS: FrozenSet[str] = frozenset({"await_health"})
