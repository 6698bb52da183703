"""Runs on a host ahead of the agent: finds the agent's code there, or asks for it, and starts it.

Its text goes in through standard input, so that no shell sees it. It reads on any Python 3, so
that one too old can say so, and loads what takes its time only where that is needed. Each line
that it says begins with MARK: what a login shell prints before is no part of the conversation.
"""

import contextlib
import fcntl
import hashlib
import io
import json
import os
import signal
import stat
import sys

MARK = b"campaign-agent "

KEPT = 3
"""As many versions of the agent stay on a host, those used last; and any that still runs."""


def boot(digest: str, size: int, state_dir: str, replaces: int) -> None:
    """Starts the agent whose bundle has this SHA-256 and size; `state_dir` "": the usual place.

    It says "ready" and becomes the agent; "send" where it first needs the bundle; or "python" and
    a version, where that is too old. The agent with pid `replaces`, if it is still there with the
    host's lock, is told to end.
    """
    if sys.version_info < (3, 8):
        return _say("python " + ".".join(str(part) for part in sys.version_info[:3]))
    state_dir = state_dir or _usual_state_dir()
    folder = os.path.join(state_dir, "agent", digest)
    if not (_is_ours(folder) and _in_use(folder) and _loads(folder)):
        _say("send")
        bundle = sys.stdin.buffer.read(size)
        if hashlib.sha256(bundle).hexdigest() != digest:
            sys.exit("the agent's code arrived damaged")
        kept = _keep(bundle, folder) and _in_use(folder)
        if not (kept and _loads(folder)) and not _loads(_hold(bundle)):
            sys.exit("the agent's code does not load")
    from playbooks.agent.main import main

    _send_off(os.path.join(state_dir, "lock"), replaces)
    sys.argv[:] = ["agent", state_dir]
    _say("ready")
    return main()


def _say(words: str) -> None:
    os.write(1, MARK + words.encode() + b"\n")


def _usual_state_dir() -> str:
    if os.geteuid() == 0:
        return "/var/lib/campaign"
    home = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    return os.path.join(home, "campaign")


def _is_ours(folder: str) -> bool:
    """Whether nobody else can have put anything there."""
    above = os.path.dirname(folder)
    return all(_is_private(each) for each in (os.path.dirname(above), above, folder))


def _is_private(folder: str) -> bool:
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return own and not found.st_mode & 0o022


def _in_use(folder: str) -> bool:
    """Marks this version as running, for as long as this process lives, and as used now."""
    try:
        fcntl.flock(os.open(folder, os.O_RDONLY), fcntl.LOCK_SH)
        os.utime(folder)
    except OSError:  # it was removed this moment, or the disk takes no change
        return os.path.isdir(folder)
    return True


def _loads(place: str) -> bool:
    """Whether the agent's code can be imported from this folder or archive; now it is."""
    sys.path.append(place)
    try:
        import playbooks.agent.main  # noqa: F401
    except Exception:  # noqa: BLE001 - whatever a damaged file does
        sys.path.remove(place)
        for name in [name for name in sys.modules if name.split(".")[0] == "playbooks"]:
            del sys.modules[name]
        return False
    return True


def _keep(bundle: bytes, folder: str) -> bool:
    """Unpacks it for later visits too; False where there is no safe place for it."""
    import shutil
    import tempfile

    above = os.path.dirname(folder)
    try:
        _make_private(os.path.dirname(above))
        _make_private(above)
        draft = tempfile.mkdtemp(dir=above)
        _in_use(draft)
    except OSError:
        return False
    with contextlib.suppress(OSError):  # another agent may be doing the same
        _unpack(bundle, draft)
        if os.path.isdir(folder):
            os.rename(folder, draft + ".old")
        os.rename(draft, folder)
    for left in (draft, draft + ".old"):
        shutil.rmtree(left, ignore_errors=True)
    _prune(above)
    return _is_ours(folder)


def _prune(above: str) -> None:
    """Removes the versions, and what is left of them, that nobody runs and few used since."""
    import shutil

    with contextlib.suppress(OSError):
        places = [os.path.join(above, name) for name in os.listdir(above)]
        for place in sorted(places, key=os.path.getmtime, reverse=True)[KEPT:]:
            fd = os.open(place, os.O_RDONLY)
            with contextlib.suppress(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(place, ignore_errors=True)
            os.close(fd)


def _make_private(folder: str) -> None:
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)


def _unpack(bundle: bytes, folder: str) -> None:
    import zipfile

    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        archive.extractall(folder)
        names = archive.namelist()
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            os.fsync(file.fileno())


def _hold(bundle: bytes) -> str:
    """Keeps it in memory only, at a path that the agent's own children can open."""
    fd = os.memfd_create("campaign-agent")
    with open(fd, "wb", closefd=False) as file:
        file.write(bundle)
    return "/proc/{}/fd/{}".format(os.getpid(), fd)


def _send_off(lock: str, agent: int) -> None:
    """Tells an agent to end, if it is the one that holds the lock."""
    try:
        with open(lock, "rb") as file:
            holder = json.loads(file.read().decode())
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        if agent and holder.get("pid") == agent:
            with contextlib.suppress(ProcessLookupError):
                os.kill(agent, signal.SIGTERM)
    except (OSError, ValueError):  # there is none, or it is being written by someone else
        return
