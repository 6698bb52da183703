"""What tests compare: a whole tree as bytes, modes, owners, times and attributes."""

import hashlib
import os
from pathlib import Path
from typing import NamedTuple


class Seen(NamedTuple):
    """One path of a tree; `data` None for a directory, whose time is left out."""

    mode: int
    owner: tuple[int, int]
    mtime_ns: int
    data: bytes | None
    xattrs: dict[str, bytes]


def snapshot(tree: Path) -> dict[str, Seen]:
    """Every path below `tree`."""
    return {str(path.relative_to(tree)): _seen(path) for path in sorted(tree.rglob("*"))}


def _seen(path: Path) -> Seen:
    info = path.lstat()
    data = path.read_bytes() if path.is_file() else None
    xattrs = {name: os.getxattr(path, name) for name in os.listxattr(path)}
    mtime = 0 if path.is_dir() else info.st_mtime_ns
    return Seen(info.st_mode, (info.st_uid, info.st_gid), mtime, data, xattrs)


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write(
    path: Path, data: bytes, mode: int = 0o644, mtime_ns: int = 1_600_000_000_123_456_789
) -> str:
    """Makes a file (and its directories) with a time long past; returns its hash."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    path.chmod(mode)
    os.utime(path, ns=(mtime_ns, mtime_ns))
    return sha256(data)
