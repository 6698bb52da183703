"""Directories that a new file needs: made on the way in, removed on the way back."""

import contextlib
import errno
import os
from typing import List, Tuple

from playbooks.agent import durable, stack
from playbooks.agent.entries import Entry
from playbooks.agent.files import owner_beside
from playbooks.agent.journal import Journal
from playbooks.agent.places import components, from_os_error, place
from playbooks.agent.session import VerbError

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def missing(entry: Entry) -> List[Tuple[str, str]]:
    """The directories (root, path) that do not exist on the way to a file, outermost first."""
    with place(entry.root, entry.path) as at:
        count = at.missing
    names = components(entry.path)[:-1]
    ends = range(len(names) - count + 1, len(names) + 1)
    return [(entry.root, "/".join(names[:end])) for end in ends]


def make(root: str, path: str) -> None:
    """Makes one directory, 0755, its owner that of the directory it is in. Raises VerbError."""
    with place(root, path) as at:
        try:
            if durable.mkdir(at.name, 0o700, at.directory):
                fd = os.open(at.name, _OPEN, dir_fd=at.directory)
                try:
                    durable.chown(fd, *owner_beside(at.directory))
                    durable.chmod(fd, 0o755)
                finally:
                    os.close(fd)
                durable.sync_dir(".", at.directory)
        except OSError as error:
            raise from_os_error(error, at.where, "make directory") from None


def remove_empty(journal: Journal) -> None:
    """Removes directories we made that are empty again.

    One that holds a file of ours stays noted; one that holds only someone else's stays for good.
    """
    kept, own = [], [*journal.entries, *stack.paths(journal.stack)]
    for root, path in sorted(journal.directories, key=_depth, reverse=True):
        prefix = os.path.join(root, path) + "/"
        ours = any(where.startswith(prefix) for where in own)
        if not _remove(root, path) and ours:
            kept.append((root, path))
    journal.directories = kept[::-1]


def _depth(directory: Tuple[str, str]) -> int:
    return os.path.join(*directory).count("/")


def _remove(root: str, path: str) -> bool:
    """Whether the directory is gone. A `__pycache__` with nothing in it does not count."""
    try:
        with place(root, path + "/__pycache__") as cache, contextlib.suppress(OSError):
            if cache.parent is not None:
                durable.rmdir(cache.name, cache.parent)
        with place(root, path) as at:
            if at.parent is not None:
                durable.rmdir(at.name, at.parent)
                durable.sync_dir(".", at.parent)
    except VerbError:
        return False
    except OSError as error:
        return error.errno == errno.ENOENT
    return True
