"""Verbs of services: start, stop, state, log; each names a service by its specification.

Who manages it is said by the specification's `kind`; all kinds answer alike.
"""

from typing import Any, Dict, FrozenSet, Optional, Tuple

from playbooks.agent import embedded, logs
from playbooks.agent.commanded import Commanded
from playbooks.agent.embedded import Embedded
from playbooks.agent.managed import Managed
from playbooks.agent.session import Handler, Session, VerbError
from playbooks.agent.systemd import Unit

Reply = Tuple[Dict[str, Any], bytes]


def find(state_dir: str, spec: Dict[str, Any]) -> Managed:
    """The service that a specification describes. Errors: "bad-request"."""
    kind = spec["kind"]
    if kind == "process":
        return Embedded(state_dir, spec)
    if kind == "systemd":
        return Unit(spec)
    if kind == "command":
        return Commanded(state_dir, spec)
    raise VerbError("bad-request", f"this agent manages no services of the kind {kind!r}")


def start(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Starts the service of `spec`; errors "running", "start-failed", those of its manager."""
    return find(session.state_dir, request["spec"]).start()._asdict(), b""


def restart(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Restarts the service of `spec` by its own command for that; error "start-failed"."""
    service = find(session.state_dir, request["spec"])
    if not isinstance(service, Commanded):
        raise VerbError("bad-request", f"{service.name} has no restart command")
    return service.restart()._asdict(), b""


def stop(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Ends all of the service, by force after `timeout_s`; returns when nothing is left."""
    service = find(session.state_dir, request["spec"])
    return service.stop(request["timeout_s"])._asdict(), b""


def state(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Whether the service runs, as which processes, and how it ended."""
    return find(session.state_dir, request["spec"]).state().as_json(), b""


def running(session: Session, _request: Dict[str, Any], _body: bytes) -> Reply:
    """The names of the embedded services that run here, whoever asked for them."""
    return {"names": embedded.running(session.state_dir)}, b""


def log_end(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """The cursor of the log's end now."""
    return {"cursor": find(session.state_dir, request["spec"]).log_end()}, b""


def last_lines(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """The newest lines of the log since the last start."""
    return {"lines": find(session.state_dir, request["spec"]).last_lines()}, b""


def log(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """The next whole lines of the log from `cursor` up to `end`, those that `grep` finds.

    `end` is the end of the log now where it is not given. At most `max_bytes` are returned;
    `truncated` says that lines were left out for it.
    """
    service = find(session.state_dir, request["spec"])
    pattern = logs.compile_pattern(request["grep"]) if request.get("grep") else None
    piece = service.read_log(request["cursor"], request.get("end"))
    data = logs.matching(piece.data, pattern) if pattern else piece.data
    kept = _head(data, request.get("max_bytes"))
    facts = {name: value for name, value in piece._asdict().items() if name != "data"}
    return {**facts, "truncated": len(kept) < len(data)}, kept


def _head(data: bytes, limit: Optional[int]) -> bytes:
    """The whole lines at the beginning of `data` that fit in `limit` bytes."""
    if limit is None or len(data) <= limit:
        return data
    return data[: data.rfind(b"\n", 0, limit) + 1]


def facts(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """What systemd has read of the unit of `spec`."""
    service = find(session.state_dir, request["spec"])
    if not isinstance(service, Unit):
        raise VerbError("bad-request", f"{service.name} is no unit of systemd")
    return service.facts(), b""


VERBS: Dict[str, Handler] = {
    "service_start": start,
    "service_restart": restart,
    "service_stop": stop,
    "service_state": state,
    "services_running": running,
    "service_log": log,
    "service_log_end": log_end,
    "service_last_lines": last_lines,
    "unit_facts": facts,
}
SLOW_VERBS: FrozenSet[str] = frozenset(VERBS)
