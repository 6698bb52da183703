"""What a service has to say of what it runs: its state, its processes' environment, its files."""

from typing import Any, Dict, FrozenSet, List, Optional, Tuple

from playbooks.agent import processes, services
from playbooks.agent.files import look
from playbooks.agent.places import place
from playbooks.agent.session import Handler, Session, VerbError

Reply = Tuple[Dict[str, Any], bytes]


def testimony(session: Session, request: Dict[str, Any], body: bytes) -> Reply:
    """All of it in one answer, so that it is of one moment.

    Of the environment the plain values of `names`, and digests of all variables, keyed by `body`;
    of each (root, path) of `files` the hash, as the service's main process sees the file.
    """
    state = services.find(session.state_dir, request["spec"]).state()
    seen = [one.pid for one in state.processes] if state.pid is not None else []
    header = {
        "state": state.as_json(),
        "environs": [processes.environ_of(pid, request["names"], body) for pid in seen],
        "hashes": [_hash(root, path, state.pid) for root, path in request["files"]],
    }
    return header, b""


def _hash(root: str, path: str, pid: Optional[int]) -> Optional[str]:
    """In the view of the process; in ours, where that one cannot be looked into."""
    views: List[Optional[int]] = [None] if pid is None else [pid, None]
    for view in views:
        try:
            with place(root, path, view) as at:
                return look(at).state.sha256
        except VerbError:
            if view is None:
                raise
    return None


VERBS: Dict[str, Handler] = {"testimony": testimony}
SLOW_VERBS: FrozenSet[str] = frozenset(VERBS)
