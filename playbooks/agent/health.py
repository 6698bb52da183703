"""Waiting on the host until a service is healthy, has crashed, or has had its time."""

import threading
import time
import weakref
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Optional, Tuple

from playbooks.agent import procfs
from playbooks.agent.probes import Result, prober
from playbooks.agent.services import Service
from playbooks.agent.session import Handler, Session, VerbError

LOOK_EVERY_S = 0.05
_RECORD_WAIT_S = 1.0

Reply = Tuple[Dict[str, Any], bytes]


class Check:
    """One probe, and how long it has been satisfied without a break."""

    def __init__(self, said: Dict[str, Any], service: Service, cursor: int) -> None:
        self.timeout_s: float = said["timeout_s"]
        self.settled = False
        self.detail = ""
        self.ok_at: Optional[float] = None
        self._settle_s: float = said["settle_s"]
        self._once: Callable[[], Result] = prober(said["probe"], service, cursor)
        self._ok_since = 0.0

    def look(self) -> None:
        result, now = self._once(), time.monotonic()
        self.detail = result.detail
        if not result.ok:
            self.ok_at = None
        elif self.ok_at is None:
            self.ok_at, self._ok_since = result.at, now
        self.settled = result.ok and now - self._ok_since >= self._settle_s


class Wait(NamedTuple):
    """Whose health is awaited: this very process of the service, with its checks."""

    service: Service
    main: procfs.Identity
    checks: List[Check]
    cancelled: Callable[[], bool]

    def run(self) -> Dict[str, Any]:
        """Look at all checks every 50 ms until each has settled.

        Errors: "crashed", "unhealthy", "cancelled". `first_ok_at` begins the time without a break
        in which all are satisfied, `healthy_at` is when all had settled: seconds since the epoch.
        """
        began = time.monotonic()
        attempts = 0
        while True:
            next_look = time.monotonic() + LOOK_EVERY_S
            attempts += 1
            for check in self.checks:
                check.look()
            self._require_alive()
            if all(check.settled for check in self.checks):
                return self._healthy(attempts)
            self._require_in_time(began)
            while time.monotonic() < next_look:
                self._require_wanted()
                time.sleep(0.01)

    def _healthy(self, attempts: int) -> Dict[str, Any]:
        now = time.time()
        first = max((check.ok_at or now for check in self.checks), default=now)
        return {"healthy_at": now, "first_ok_at": first, "attempts": attempts}

    def _require_wanted(self) -> None:
        if self.cancelled():
            raise VerbError("cancelled", f"waiting for {self.service.name} was cancelled")

    def _require_alive(self) -> None:
        if procfs.is_running(self.main):
            return
        ended = self._how_it_ended()
        how = f"exit code {ended['exit_code']}" if ended["exit_code"] is not None else "unknown"
        if ended["exit_signal"] is not None:
            how = f"signal {ended['exit_signal']}"
        raise VerbError(
            "crashed",
            f"{self.service.name} ended before it was healthy: {how}",
            log=self.service.last_lines(),
            **ended,
        )

    def _how_it_ended(self) -> Dict[str, Optional[int]]:
        """From the keeper's record, which follows the end in a moment."""
        deadline = time.monotonic() + _RECORD_WAIT_S
        record = self.service.record()
        while record and record.main == self.main and record.ended_at is None:
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
            record = self.service.record()
        if record is None or record.main != self.main:
            return {"exit_code": None, "exit_signal": None}
        return {"exit_code": record.exit_code, "exit_signal": record.exit_signal}

    def _require_in_time(self, began: float) -> None:
        waited = time.monotonic() - began
        for check in self.checks:
            if waited > check.timeout_s and not check.settled:
                raise VerbError(
                    "unhealthy",
                    f"{self.service.name} was not healthy within {check.timeout_s:g} s: "
                    f"{check.detail}",
                    log=self.service.last_lines(),
                )


_waiting: "weakref.WeakKeyDictionary[Session, Dict[str, threading.Event]]"
_waiting = weakref.WeakKeyDictionary()


def await_health(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Wait until a service is healthy; the event "health" of stream `sid` tells the outcome."""
    sid, service = request["sid"], Service(session.state_dir, request["service"])
    checks = [Check(said, service, request["cursor"]) for said in request["checks"]]
    cancel = threading.Event()
    _waiting.setdefault(session, {})[sid] = cancel

    def cancelled() -> bool:
        return cancel.is_set() or session.closing.is_set()

    main = procfs.Identity(request["pid"], request["start_ticks"])
    wait = Wait(service, main, checks, cancelled)
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
    session.emit({"event": "health", "sid": sid, **outcome})


def cancel_health(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Stop waiting; a wait that is over is no error."""
    event = _waiting.get(session, {}).get(request["sid"])
    if event:
        event.set()
    return {"found": event is not None}, b""


VERBS: Dict[str, Handler] = {"await_health": await_health, "cancel_health": cancel_health}
SLOW_VERBS: FrozenSet[str] = frozenset()
