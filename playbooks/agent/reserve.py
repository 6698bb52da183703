"""Space kept aside while changes are outstanding, so that a full disk does not stop putting back.

It helps where the changed files lie on the same disk as the state directory.
"""

import contextlib
import errno
import os

from playbooks.agent.places import from_os_error

ROOM = 1 << 18
"""Bytes for the journal, for temporaries and for what services write when they start again."""

_UNPROMISED = (errno.EOPNOTSUPP, errno.EINVAL, errno.EFBIG)


def hold(state_dir: str) -> None:
    """Keeps aside ROOM, and as much as the bases there are.

    Raises VerbError("disk-full") where there is not that much left. None is kept where the file
    system cannot promise space, or this process may not write files of that size.
    """
    path = _path(state_dir)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(fd, 0, ROOM + _bases(state_dir))
        finally:
            os.close(fd)
    except OSError as error:
        if error.errno not in _UNPROMISED:
            raise from_os_error(error, path, "keep space in") from None


def release(state_dir: str) -> None:
    """Gives the space back, for putting back to use."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(_path(state_dir))


def _bases(state_dir: str) -> int:
    try:
        with os.scandir(os.path.join(state_dir, "bases")) as found:
            return sum(one.stat().st_size for one in found)
    except FileNotFoundError:
        return 0


def _path(state_dir: str) -> str:
    return os.path.join(state_dir, "reserve")
