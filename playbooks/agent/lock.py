"""The host's lock: one operator changes a host at a time."""

import contextlib
import fcntl
import json
import os
import signal
import time
from typing import Dict, Optional

from playbooks.agent import durable
from playbooks.agent.session import Session, VerbError

PATIENCE_S = 1.0
"""How long a newcomer waits for a lock that may be about to be free."""

ENDING_S = 20.0
"""And for one whose holder has lost its operator and only ends what it spawned."""

LAPSED_S = 60.0
"""And for one whose holder puts the host back by itself."""

_LOOK_EVERY_S = 0.02


def take(session: Session, who: str, run: str, takes_over: bool = False) -> None:
    """Takes the lock for the life of this agent; the kernel lets it go when the agent dies.

    An agent that waits for an operator that is gone (see lease.py) is sent away where this one
    `takes_over`. Raises VerbError("locked") naming the holder: `who`, `pid` (of its agent),
    `since` (seconds since the epoch), `run`; `waits_until` (also) where its operator is gone;
    VerbError("no-journal") where nothing can be written in the state directory.
    """
    try:
        durable.make_private_dir(session.state_dir)
        fd = os.open(_path(session.state_dir), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _acquire(fd, takes_over)
            _write(fd, {"who": who, "pid": os.getpid(), "since": time.time(), "run": run})
        except (VerbError, OSError):
            os.close(fd)
            raise
    except OSError as error:
        what = f"no journal can be kept in {session.state_dir}: {error.strerror}"
        raise VerbError("no-journal", what) from None
    session.lock = fd


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


def announce(
    session: Session,
    *,
    ending: bool = False,
    waits_until: Optional[float] = None,
    lapsed: bool = False,
) -> None:
    """Tells newcomers what becomes of the lock, where this agent holds it.

    `ending`: it will be free in a moment; `waits_until`: then (monotonic clock), unless the
    operator comes back before; `lapsed`: it will be free when the host has been put back.
    """
    if session.lock is not None:
        said = {"ending": ending, "waits_until": waits_until, "lapsed": lapsed}
        _write(session.lock, {**_read(session.lock), **said})


def release(session: Session) -> None:
    """Lets the lock go, where this agent holds it."""
    if session.lock is not None:
        os.close(session.lock)
        session.lock = None


def _path(state_dir: str) -> str:
    return os.path.join(state_dir, "lock")


def _acquire(fd: int, takes_over: bool) -> None:
    asked, sent_away = time.monotonic(), 0
    while True:
        try:
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = _holder(fd)
            pid = int(str(holder["pid"]))
            if takes_over and holder["waits_until"] and pid != sent_away:
                sent_away = pid
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            if time.monotonic() - asked > _patience(holder, bool(sent_away)):
                raise _locked(holder) from None
        time.sleep(_LOOK_EVERY_S)


def _patience(holder: Dict[str, object], sent_away: bool) -> float:
    if holder["lapsed"]:
        return LAPSED_S
    return ENDING_S if holder["ending"] or sent_away else PATIENCE_S


def _write(fd: int, holder: Dict[str, object]) -> None:
    """Says who holds it, as far as the disk has space for that; the lock itself needs none."""
    with contextlib.suppress(OSError):
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(holder).encode("ascii"), 0)


def _read(fd: int) -> Dict[str, object]:
    """Who holds it, as far as the file tells: the holder may be writing it this moment."""
    try:
        holder = json.loads(os.pread(fd, 65536, 0))
    except ValueError:
        holder = {}
    unsaid = {"ending": False, "waits_until": None, "lapsed": False}
    return {"who": "someone", "pid": 0, "since": 0.0, "run": "", **unsaid, **holder}


def _holder(fd: int) -> Dict[str, object]:
    """The same, with `waits_until` in seconds since the epoch, by the clock as it is now."""
    holder = _read(fd)
    if holder["waits_until"] is not None:
        left = float(str(holder["waits_until"])) - time.monotonic()
        holder["waits_until"] = time.time() + left
    return holder


def _locked(holder: Dict[str, object]) -> VerbError:
    who, agent = holder["who"], f"agent pid {holder['pid']}"
    run = f" for {holder['run']}" if holder["run"] else ""
    if holder["lapsed"]:
        what = f"{who} worked on this host{run} and is gone; {agent} puts it back now: wait for it"
    elif holder["waits_until"] is not None:
        what = (
            f"{who} worked on this host{run} and is gone; {agent} puts it back at "
            f"{_shown(holder['waits_until'])}: campaign recover does so now"
        )
    else:
        what = (
            f"{who} works on this host{run} ({agent}, since {_shown(holder['since'])}): "
            "wait for it to end"
        )
    return VerbError("locked", what, **holder)


def _shown(at: object) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(str(at))))
