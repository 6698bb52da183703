"""Paths that cannot leave their root: walked by descriptor, one component at a time.

The root itself may be reached through links; below it no component may be a link, `..` or
absolute, and none is followed even if one is put there while we look.
"""

import contextlib
import errno
import os
import stat
from typing import Iterator, List, NamedTuple, Optional, Tuple, Union

from playbooks.agent.session import VerbError

_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST_LINKS = 40
_NOWHERE = ("", ".", "..")


class Place(NamedTuple):
    """One name in an open directory; `parent` None: the directory does not exist.

    `root` has no links; `where` is the absolute path for people and for keys, `missing` how many
    directories of the path have yet to be made.
    """

    root: str
    where: str
    name: str
    parent: Optional[int]
    missing: int = 0

    @property
    def directory(self) -> int:
        """The open parent. Raises VerbError("no-file") where there is none."""
        if self.parent is None:
            folder = os.path.dirname(self.where)
            raise VerbError("no-file", f"there is no directory {folder}", path=self.where)
        return self.parent


def components(path: str) -> List[str]:
    """The names of a relative path. Raises VerbError("escape") for one that could leave a root."""
    names = [name for name in path.split("/") if name not in ("", ".")]
    if path.startswith("/") or ".." in names or not names or "\0" in path:
        raise VerbError(
            "escape", f"{path!r} is no path below its root: give it relative, without '..'"
        )
    return names


@contextlib.contextmanager
def place(root: str, path: str, pid: Optional[int] = None) -> Iterator[Place]:
    """The place of `path` below `root`; with `pid` as that process sees the file system.

    Raises VerbError: "escape" for a path that leaves the root or meets a link, "no-root" where
    the root is no directory, "no-process", "denied", "not-a-file" where a file is on the way.
    """
    names = components(path)
    with contextlib.ExitStack() as stack:
        folder, resolved = _open_root(root, pid)
        stack.callback(os.close, folder)
        where = os.path.join(resolved, *names)
        for done, name in enumerate(names[:-1]):
            try:
                folder = os.open(name, _DIRECTORY, dir_fd=folder)
            except FileNotFoundError:
                yield Place(resolved, where, names[-1], None, len(names) - 1 - done)
                return
            except OSError as error:
                raise _refused(os.path.join(resolved, *names[: done + 1]), error) from None
            stack.callback(os.close, folder)
        yield Place(resolved, where, names[-1], folder)


def _refused(where: str, error: OSError) -> VerbError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        try:
            is_link = stat.S_ISLNK(os.lstat(where).st_mode)
        except OSError:
            is_link = error.errno == errno.ELOOP
        if is_link:
            return is_link_error(where)
        return VerbError("not-a-file", f"{where} is not a directory", path=where)
    return from_os_error(error, where)


def is_link_error(where: str) -> VerbError:
    """The refusal of a path that is a link, or leads through one; it says where that leads."""
    real = os.path.realpath(where)
    to = f" to {real}: give that path" if real != where else ": give the path it leads to"
    return VerbError("escape", f"{where} is a link{to}", path=where)


def from_os_error(error: OSError, where: str, doing: str = "use") -> VerbError:
    """An OSError as a line for people: what could not be done where, and why."""
    kinds = {
        errno.ENOENT: "no-file",
        errno.ENOSPC: "disk-full",
        errno.EDQUOT: "disk-full",
        errno.EFBIG: "disk-full",
        errno.EROFS: "read-only",
        errno.EPERM: "denied",
        errno.EACCES: "denied",
    }
    kind = kinds.get(error.errno or 0, "io")
    return VerbError(kind, f"cannot {doing} {where}: {error.strerror}", path=where)


def as_verb_error(error: Union[VerbError, OSError]) -> VerbError:
    """A failure that no one said more about."""
    if isinstance(error, VerbError):
        return error
    return from_os_error(error, str(error.filename or "a file"))


def _open_root(root: str, pid: Optional[int]) -> Tuple[int, str]:
    """Opens `root` as the process sees it; links are resolved within that process's view."""
    if not root.startswith("/"):
        raise VerbError("escape", f"root {root!r} is not an absolute path")
    top = "/" if pid is None else f"/proc/{pid}/root"
    try:
        return _walk(top, root)
    except OSError as error:
        if pid is not None and not os.path.exists(f"/proc/{pid}"):
            raise VerbError("no-process", f"process {pid} is gone", pid=pid) from None
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            raise VerbError("no-root", f"{root} is not a directory here", path=root) from None
        raise from_os_error(error, root) from None


def _walk(top: str, root: str) -> Tuple[int, str]:
    """Opens `root` below `top`, following links as if `top` were `/`. Raises OSError."""
    opened = [os.open(top, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
    passed: List[str] = []
    todo = root.split("/")[::-1]
    links = 0
    try:
        while todo:
            name = todo.pop()
            target = _link(name, opened[-1])
            if name == ".." and passed:
                passed.pop()
                os.close(opened.pop())
            elif target is not None:
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                todo.extend(target.split("/")[::-1])
                if target.startswith("/"):
                    _close_all(opened[1:])
                    del opened[1:], passed[:]
            elif name not in _NOWHERE:
                opened.append(os.open(name, _DIRECTORY, dir_fd=opened[-1]))
                passed.append(name)
        return os.dup(opened[-1]), "/" + "/".join(passed)
    finally:
        _close_all(opened)


def _link(name: str, folder: int) -> Optional[str]:
    if name in _NOWHERE or not stat.S_ISLNK(
        os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
    ):
        return None
    return os.readlink(name, dir_fd=folder)


def _close_all(descriptors: List[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
