"""Files as they are now, and how one is replaced: a temporary beside it, then a rename."""

import contextlib
import errno
import hashlib
import os
import stat
import time
from typing import Dict, Iterator, Mapping, NamedTuple, Optional, Tuple

from playbooks.agent import durable
from playbooks.agent.framing import MAX_BODY, Header
from playbooks.agent.places import Place, from_os_error, is_link_error, place
from playbooks.agent.session import Session, VerbError

_KEPT_XATTRS = ("user.", "security.", "trusted.", "system.posix_acl_")
_DERIVED_XATTRS = ("security.ima", "security.evm")
_TAIL_MAX = 4 * 1024 * 1024


class State(NamedTuple):
    """What a path holds. `sha256` None: no file. Extended attributes are hexadecimal."""

    sha256: Optional[str]
    mode: int
    uid: int
    gid: int
    mtime_ns: int
    xattrs: Mapping[str, str]


ABSENT = State(None, 0o644, 0, 0, 0, {})


class Live(NamedTuple):
    """A file as it was read, with `names` names. `stamp` changes whenever anyone touches it."""

    state: State
    content: Optional[bytes]
    stamp: Optional[Tuple[int, ...]]
    names: int = 1


def sha256(content: Optional[bytes]) -> Optional[str]:
    """The hexadecimal hash of some bytes; None for none."""
    return None if content is None else hashlib.sha256(content).hexdigest()


def short(digest: Optional[str]) -> str:
    """A hash for a line that people read."""
    return "no file" if digest is None else digest[:12]


def look(at: Place) -> Live:
    """Reads what is there. Raises VerbError: "escape" (a link), "not-a-file", "too-large", ..."""
    if at.parent is None:
        return Live(ABSENT, None, None)
    try:
        _require_regular(at.where, os.stat(at.name, dir_fd=at.parent, follow_symlinks=False))
        with _opened(at, os.O_RDONLY) as fd, open(fd, "rb", closefd=False) as file:
            info = os.fstat(fd)
            content = file.read()
            return Live(_state(fd, info, content), content, _stamp(info), info.st_nlink)
    except FileNotFoundError:
        return Live(ABSENT, None, None)
    except OSError as error:
        raise from_os_error(error, at.where, "read") from None


def untouched(at: Place, live: Live) -> bool:
    """Whether nobody touched the file since it was read."""
    if at.parent is None:
        return live.stamp is None
    try:
        info = os.stat(at.name, dir_fd=at.parent, follow_symlinks=False)
    except FileNotFoundError:
        return live.stamp is None
    return live.stamp == _stamp(info)


def refuse_immutable(at: Place) -> None:
    """Raises VerbError where the file may not be replaced (chattr +i, a read-only mount).

    One that merely lacks write permission can be.
    """
    if at.parent is None:
        return
    try:
        with _opened(at, os.O_WRONLY):
            pass
    except OSError as error:
        if error.errno in (errno.EPERM, errno.EROFS):
            raise from_os_error(error, at.where, "change") from None


def write_temporary(at: Place, name: str, content: bytes, state: State, exact: bool) -> None:
    """Writes file `name` beside `at` with the mode, owner and attributes of `state`, durably.

    `exact`: with its modification time too. Raises VerbError, with no temporary left.
    """
    discard(at, name)
    try:
        fd = durable.create(name, 0o600, at.directory)
        try:
            durable.write(fd, content)
            dress(fd, state, exact)
            durable.fsync(fd)
        finally:
            os.close(fd)
    except OSError as error:
        with contextlib.suppress(VerbError):
            discard(at, name)
        raise from_os_error(error, at.where, "write") from None


CLAIM = "user.campaign"
"""The attribute of a changed file that says whose journal holds its base: a state directory."""


def claimed(state: State) -> str:
    """The state directory whose journal holds the base of this file; empty where none does."""
    return bytes.fromhex(state.xattrs.get(CLAIM, "")).decode("utf-8", "replace")


def unclaim(at: Place) -> None:
    """The file is kept as it is: it is nobody's change any more."""
    fd = os.open(at.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at.directory)
    try:
        if CLAIM in _xattrs(fd):
            durable.removexattr(fd, CLAIM)
    finally:
        os.close(fd)


def dress(fd: int, state: State, exact: bool) -> None:
    """Gives an open file the owner, mode, attributes and (`exact`) time of `state`.

    Owner first: changing it clears set-user-id bits and capabilities.
    """
    info = os.fstat(fd)
    if (info.st_uid, info.st_gid) != (state.uid, state.gid):
        durable.chown(fd, state.uid, state.gid)
    present = _xattrs(fd)
    for name in present:
        if name not in state.xattrs:
            durable.removexattr(fd, name)
    for name, value in state.xattrs.items():
        if present.get(name) == value:
            continue
        try:
            durable.setxattr(fd, name, bytes.fromhex(value))
        except OSError:
            if name != CLAIM:  # not every file system has room for it
                raise
    if stat.S_IMODE(os.fstat(fd).st_mode) != state.mode:
        durable.chmod(fd, state.mode)
    if exact:
        durable.utime(fd, time.time_ns(), state.mtime_ns)


def repair(at: Place, state: State) -> None:
    """Gives the file back the metadata of `state`; its content is left alone."""
    try:
        with _opened(at, os.O_RDONLY) as fd:
            dress(fd, state, exact=True)
            durable.fsync(fd)
    except OSError as error:
        raise from_os_error(error, at.where, "restore the owner, mode or attributes of") from None


def discard(at: Place, name: str) -> None:
    """Removes the temporary `name` beside `at`, where there is one. Raises VerbError."""
    if at.parent is None:
        return
    try:
        durable.unlink(name, at.parent)
    except OSError as error:
        raise from_os_error(error, at.where, "write beside") from None


def replace(at: Place, temporary: Optional[str]) -> None:
    """The temporary becomes the file; None: the file goes. Stale bytecode goes with the old."""
    try:
        if temporary is None:
            durable.unlink(at.name, at.directory)
        else:
            durable.rename(temporary, at.name, at.directory)
        drop_bytecode(at)
        sync(at)
    except OSError as error:
        raise from_os_error(error, at.where, "replace") from None


def sync(at: Place) -> None:
    """Makes the names in the file's directory durable, where we may read it."""
    with contextlib.suppress(PermissionError):
        durable.sync_dir(".", at.directory)


def drop_bytecode(at: Place) -> None:
    """Removes `__pycache__/NAME.*.pyc` of a `.py`: same size and same second would keep it."""
    stem, extension = os.path.splitext(at.name)
    if extension != ".py" or at.parent is None:
        return
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        cache = os.open("__pycache__", flags, dir_fd=at.parent)
    except OSError:
        return
    try:
        for name in os.listdir(cache):
            if name.startswith(stem + ".") and name.endswith(".pyc"):
                durable.unlink(name, cache)
    finally:
        os.close(cache)


def owner_beside(folder: int) -> Tuple[int, int]:
    """Whom a new file in this directory belongs to: as root its directory's owner, else us."""
    info = os.stat(".", dir_fd=folder)
    if os.geteuid() == 0:
        return info.st_uid, info.st_gid
    return os.geteuid(), info.st_gid if info.st_mode & stat.S_ISGID else os.getegid()


@contextlib.contextmanager
def _opened(at: Place, flags: int) -> Iterator[int]:
    safe = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(at.name, flags | safe, dir_fd=at.directory)
    try:
        yield fd
    finally:
        os.close(fd)


def _require_regular(where: str, info: os.stat_result) -> None:
    if stat.S_ISLNK(info.st_mode):
        raise is_link_error(where)
    if not stat.S_ISREG(info.st_mode):
        raise VerbError("not-a-file", f"{where} is not a regular file", path=where)
    if info.st_size > MAX_BODY:
        raise VerbError("too-large", f"{where} has more than {MAX_BODY} bytes", path=where)


def _state(fd: int, info: os.stat_result, content: bytes) -> State:
    return State(
        sha256=sha256(content),
        mode=stat.S_IMODE(info.st_mode),
        uid=info.st_uid,
        gid=info.st_gid,
        mtime_ns=info.st_mtime_ns,
        xattrs=_xattrs(fd),
    )


def _stamp(info: os.stat_result) -> Tuple[int, ...]:
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns


def _xattrs(fd: int) -> Dict[str, str]:
    try:
        names = os.listxattr(fd)
    except OSError:
        return {}
    return {
        name: os.getxattr(fd, name).hex()
        for name in sorted(names)
        if name.startswith(_KEPT_XATTRS) and name not in _DERIVED_XATTRS
    }


def read(_session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: the state and content of `path` below `root`, as process `pid` sees it where given."""
    with place(request["root"], request["path"], request.get("pid")) as at:
        live = look(at)
    found = {"where": at.where, "state": live.state._asdict(), "names": live.names}
    return found, live.content or b""


def tail(_session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: up to `max_bytes` of a file from `offset`; a negative one counts from the end."""
    with place(request["root"], request["path"]) as at:
        try:
            info = os.stat(at.name, dir_fd=at.directory, follow_symlinks=False)
            _require_regular(at.where, info)
            with _opened(at, os.O_RDONLY) as fd:
                offset, size = request["offset"], info.st_size
                start = max(size + offset, 0) if offset < 0 else min(offset, size)
                data = os.pread(fd, min(request["max_bytes"], _TAIL_MAX), start)
        except OSError as error:
            raise from_os_error(error, at.where, "read") from None
    return {"next_offset": start + len(data), "size": size}, data


VERBS = {"read": read, "tail": tail}
