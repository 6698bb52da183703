"""Every call that changes what a crash would leave behind: in one place, and counted.

Tests make the process crash at such a call. CAMPAIGN_CRASH in the agent's environment is one of

    agent:N          the agent ends itself (SIGKILL) at its N-th durable call
    operator:N       it ends its operator there, and goes on
    both:N           it ends its operator, then itself

The operator is the agent's parent, at the other end of a local pipe; `operator:N:PID` and
`both:N:PID` name another process.

The call itself is not made, but for a write: half its bytes are down by then. Without the
variable `calls()` still counts, so that a test can learn how many there are. Processes forked
from the agent neither count nor crash.
"""

import contextlib
import os
import signal
import threading
from typing import Callable, Optional, Tuple


class _Plan:
    def __init__(self) -> None:
        self.pid = 0
        self.calls = 0
        self.crash_at = 0
        self.victims: Tuple[int, ...] = ()
        self.lock = threading.Lock()


_plan = _Plan()


def arm(text: str) -> None:
    """Starts counting in this process; `text` is the value of CAMPAIGN_CRASH, or empty.

    Raises ValueError where `text` is none of the forms above.
    """
    _plan.pid = os.getpid()
    if not text:
        return
    who, at, *rest = text.split(":")
    own = (_plan.pid,) if who in ("agent", "both") else ()
    other = (int(rest[0]) if rest else os.getppid(),) if who in ("operator", "both") else ()
    if not own + other:
        raise ValueError(f"CAMPAIGN_CRASH={text}: expected agent, operator or both")
    _plan.crash_at, _plan.victims = int(at), other + own


def calls() -> int:
    """The durable calls this process has made so far."""
    return _plan.calls


def _step(torn: Optional[Callable[[], object]] = None) -> None:
    if os.getpid() != _plan.pid:
        return
    with _plan.lock:
        _plan.calls += 1
        due = _plan.calls == _plan.crash_at
    if due:
        if torn and _plan.pid in _plan.victims:
            torn()
        for victim in _plan.victims:
            os.kill(victim, signal.SIGKILL)


def create(path: str, mode: int, dir_fd: Optional[int] = None) -> int:
    """A descriptor of the new, empty file `path`, which must not exist, with exactly `mode`."""
    _step()
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags, mode & 0o700, dir_fd=dir_fd)
    os.fchmod(fd, mode)
    return fd


def write(fd: int, data: bytes) -> None:
    """Writes all of `data`."""
    _step(lambda: os.write(fd, data[: len(data) // 2]))
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def fsync(fd: int) -> None:
    _step()
    os.fsync(fd)


def rename(source: str, target: str, dir_fd: Optional[int] = None) -> None:
    """Moves `source` over `target`, both relative to `dir_fd` where it is given."""
    _step()
    os.rename(source, target, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)


def unlink(path: str, dir_fd: Optional[int] = None) -> bool:
    """Removes a file; False where there is none."""
    _step()
    try:
        os.unlink(path, dir_fd=dir_fd)
    except FileNotFoundError:
        return False
    return True


def mkdir(path: str, mode: int, dir_fd: Optional[int] = None) -> bool:
    """Makes a directory; False where it exists already."""
    _step()
    try:
        os.mkdir(path, mode, dir_fd=dir_fd)
    except FileExistsError:
        return False
    return True


def rmdir(path: str, dir_fd: Optional[int] = None) -> None:
    _step()
    os.rmdir(path, dir_fd=dir_fd)


def chmod(fd: int, mode: int) -> None:
    _step()
    os.fchmod(fd, mode)


def chown(fd: int, uid: int, gid: int) -> None:
    _step()
    os.fchown(fd, uid, gid)


def utime(fd: int, atime_ns: int, mtime_ns: int) -> None:
    _step()
    os.utime(fd, ns=(atime_ns, mtime_ns))


def setxattr(fd: int, name: str, value: bytes) -> None:
    _step()
    os.setxattr(fd, name, value)


def removexattr(fd: int, name: str) -> None:
    _step()
    os.removexattr(fd, name)


def sync_dir(path: str, dir_fd: Optional[int] = None) -> None:
    """Makes the names in directory `path` durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=dir_fd)
    try:
        fsync(fd)
    finally:
        os.close(fd)


def write_atomic(path: str, data: bytes, mode: int = 0o600) -> None:
    """Puts `data` at `path`: after a crash it holds all of the old bytes or all of the new.

    There must be one writer of a path at a time. Raises OSError, with the old file untouched.
    """
    folder, temporary = _beside(path)
    unlink(temporary)
    try:
        fd = create(temporary, mode)
        try:
            write(fd, data)
            fsync(fd)
        finally:
            os.close(fd)
        rename(temporary, path)
    except OSError:
        with contextlib.suppress(OSError):
            unlink(temporary)
        raise
    sync_dir(folder)


def remove(path: str) -> None:
    """Removes what write_atomic wrote, durably, and what a crash left of its writing."""
    folder, temporary = _beside(path)
    unlink(temporary)
    if unlink(path):
        sync_dir(folder)


def _beside(path: str) -> Tuple[str, str]:
    folder, name = os.path.split(path)
    return folder, os.path.join(folder, f".{name}.tmp")


def make_private_dir(path: str) -> None:
    """Makes directory `path` (0700) and its parents, durably; what exists is left as it is."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        make_private_dir(parent)
    mkdir(path, 0o700)
    sync_dir(parent)
