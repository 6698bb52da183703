"""The host's lock: one operator changes a host at a time."""

import fcntl
import json
import os
import time
from typing import Dict

from playbooks.agent import durable
from playbooks.agent.session import Session, VerbError


def take(session: Session, who: str, run: str) -> None:
    """Takes the lock for the life of this agent; the kernel lets it go when the agent dies.

    Raises VerbError("locked") naming the holder: `who`, `pid` (of its agent), `since` (seconds
    since the epoch), `run`.
    """
    durable.make_private_dir(session.state_dir)
    path = os.path.join(session.state_dir, "lock")
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(fd)
        os.close(fd)
        raise _locked(holder) from None
    os.ftruncate(fd, 0)
    mine = {"who": who, "pid": os.getpid(), "since": time.time(), "run": run}
    os.pwrite(fd, json.dumps(mine).encode("ascii"), 0)
    session.locked = True
    session.at_close(lambda: os.close(fd))


def require(session: Session) -> None:
    """Raises VerbError("unlocked") where this agent does not hold the lock."""
    if not session.locked:
        raise VerbError("unlocked", "this connection did not take the host's lock")


def _holder(fd: int) -> Dict[str, object]:
    """Who holds it, as far as the file tells: the holder may be writing it this moment."""
    try:
        holder = json.loads(os.pread(fd, 65536, 0))
    except ValueError:
        holder = {}
    return {"who": "someone", "pid": 0, "since": 0.0, "run": "", **holder}


def _locked(holder: Dict[str, object]) -> VerbError:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(str(holder["since"]))))
    run = f" for {holder['run']}" if holder["run"] else ""
    return VerbError(
        "locked",
        f"{holder['who']} works on this host{run} (agent pid {holder['pid']}, since {since}): "
        "wait for it to end",
        **holder,
    )
