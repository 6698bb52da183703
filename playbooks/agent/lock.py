"""The host's lock: one operator changes a host at a time."""

import contextlib
import fcntl
import json
import os
import time
from typing import Dict, Optional

from playbooks.agent import durable
from playbooks.agent.session import Session, VerbError

PATIENCE_S = 1.0
"""How long a newcomer waits for a lock that may be about to be free."""

ENDING_S = 20.0
"""And for one whose holder has lost its operator and only ends what it spawned."""

_LOOK_EVERY_S = 0.02


def take(session: Session, who: str, run: str) -> None:
    """Takes the lock for the life of this agent; the kernel lets it go when the agent dies.

    Raises VerbError("locked") naming the holder: `who`, `pid` (of its agent), `since` (seconds
    since the epoch), `run`.
    """
    durable.make_private_dir(session.state_dir)
    fd = os.open(_path(session.state_dir), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _acquire(fd)
    except VerbError:
        os.close(fd)
        raise
    _write(fd, {"who": who, "pid": os.getpid(), "since": time.time(), "run": run})
    session.lock = fd
    session.at_close(lambda: _release(session))


def require(session: Session) -> None:
    """Raises VerbError("unlocked") where this agent does not hold the lock."""
    if session.lock is None:
        raise VerbError("unlocked", "this connection did not take the host's lock")


def holder(state_dir: str) -> Optional[Dict[str, object]]:
    """Who holds the lock now, as `take` would name them; None where it is free."""
    try:
        fd = os.open(_path(state_dir), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _holder(fd)
    else:
        return None
    finally:
        os.close(fd)


def announce_end(session: Session) -> None:
    """Tells newcomers that the lock will be free in a moment."""
    if session.lock is not None:
        _write(session.lock, {**_holder(session.lock), "ending": True})


def _path(state_dir: str) -> str:
    return os.path.join(state_dir, "lock")


def _release(session: Session) -> None:
    if session.lock is not None:
        os.close(session.lock)
        session.lock = None


def _acquire(fd: int) -> None:
    asked = time.monotonic()
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(fd)
            limit = ENDING_S if holder["ending"] else PATIENCE_S
            if time.monotonic() - asked > limit:
                raise _locked(holder) from None
        time.sleep(_LOOK_EVERY_S)


def _write(fd: int, holder: Dict[str, object]) -> None:
    """Says who holds it, as far as the disk has space for that; the lock itself needs none."""
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(holder).encode("ascii"), 0)


def _holder(fd: int) -> Dict[str, object]:
    """Who holds it, as far as the file tells: the holder may be writing it this moment."""
    try:
        holder = json.loads(os.pread(fd, 65536, 0))
    except ValueError:
        holder = {}
    return {"who": "someone", "pid": 0, "since": 0.0, "run": "", "ending": False, **holder}


def _locked(holder: Dict[str, object]) -> VerbError:
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(str(holder["since"]))))
    run = f" for {holder['run']}" if holder["run"] else ""
    return VerbError(
        "locked",
        f"{holder['who']} works on this host{run} (agent pid {holder['pid']}, since {since}): "
        "wait for it to end",
        **holder,
    )
