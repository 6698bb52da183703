"""A log file that someone else writes and rotates, read by cursor.

A cursor is `DEVICE:INODE:OFFSET:CHECKSUM`, the last of the bytes just before it. A file that was
renamed away is found beside the log by its inode, and read to its end before the newer ones. Where
it is gone (deleted, compressed, or cut short by copytruncate) what it had is a gap.
"""

import os
import re
import zlib
from typing import List, NamedTuple, Optional, Tuple

from playbooks.agent.managed import Cursor, Follow, LogPiece, wrong_cursor
from playbooks.agent.places import from_os_error

_CURSOR = re.compile(r"(\d+):(\d+):(\d+):(\d+)\Z")
_BEFORE = "0:0:0:0"
_CHECKED = 64
_OTHER = 1 << 32
_CHUNK = 1 << 20
_TAIL = 1 << 16
_LAST_LINES = 20


class _File(NamedTuple):
    """One of the log's files: which one, how long, and when it was written last."""

    identity: Tuple[int, int]
    size: int
    changed_at: int
    path: str


class FileLog:
    """The log at `path` of the service `name`."""

    def __init__(self, name: str, path: str) -> None:
        self._name, self._path = name, path

    def end(self) -> str:
        """The cursor behind the last byte; of a log that is not there yet, before its first."""
        found = _file(self._path)
        return _cursor(found, found.size) if found else _BEFORE

    def read(self, cursor: Cursor, end: Optional[Cursor]) -> LogPiece:
        """The next whole lines up to `end` (None: the end now). Errors: "bad-request", "denied"."""
        at, offset, _ = self._split(cursor)
        behind = self.end() if end is None else end
        until, stop, _ = self._split(behind)
        files, gap = self._files_from(cursor)
        for file in files:
            start = offset if file.identity == at and not gap else 0
            last = file.identity == until
            size = min(file.size, stop) if last else file.size
            data = _bytes(file.path, start, size)
            if data:
                data = data if len(data) < _CHUNK or b"\n" not in data else _whole(data)
                here = _cursor(file, start + len(data))
                done = last and start + len(data) >= size
                return LogPiece(data, here, behind, done, gap=gap)
            if last:
                break
        return LogPiece(b"", behind, behind, True, gap=gap)

    def follow(self, cursor: Cursor) -> Follow:
        return _Following(self, cursor)

    def last_lines(self, cursor: Optional[Cursor]) -> List[str]:
        """The newest lines since `cursor`."""
        found = _file(self._path)
        if found is None:
            return []
        at, offset, _ = self._split(_BEFORE if cursor is None else cursor)
        start = max(found.size - _TAIL, offset if found.identity == at else 0)
        text = _bytes(self._path, start, found.size).decode("utf-8", "replace")
        return text.splitlines()[-_LAST_LINES:]

    def _split(self, cursor: Cursor) -> Tuple[Tuple[int, int], int, int]:
        match = _CURSOR.match(cursor) if isinstance(cursor, str) else None
        if match is None:
            raise wrong_cursor(self._name, cursor)
        device, inode, offset, checksum = map(int, match.groups())
        return (device, inode), offset, checksum

    def _files_from(self, cursor: Cursor) -> Tuple[List[_File], bool]:
        """The file that a cursor is in and the newer ones; whether something between is gone."""
        at, offset, checksum = self._split(cursor)
        files = self._files()
        for number, file in enumerate(files):
            if file.identity == at:
                return files[number:], _checksum(file.path, offset) != checksum
        return files[-1:], at != (0, 0)

    def _files(self) -> List[_File]:
        """The log and what it was renamed to, uncompressed, oldest first."""
        folder, name = os.path.split(self._path)
        try:
            beside = [one for one in os.listdir(folder) if one.startswith(name)]
        except OSError:
            return []
        plain = (one for one in beside if not one.endswith((".gz", ".xz", ".zst", ".bz2")))
        found = (_file(os.path.join(folder, one)) for one in plain)
        rotated = [one for one in found if one is not None and one.path != self._path]
        current = _file(self._path)
        return [*sorted(rotated, key=lambda one: one.changed_at), *([current] if current else [])]


class _Following(Follow):
    def __init__(self, log: FileLog, cursor: Cursor) -> None:
        self._log, self._cursor = log, cursor

    def read(self) -> bytes:
        piece = self._log.read(self._cursor, None)
        self._cursor = piece.cursor
        return piece.data

    def close(self) -> None:
        """Nothing is open between two looks."""


def _file(path: str) -> Optional[_File]:
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise from_os_error(error, path, "read") from None
    return _File((found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns, path)


def _cursor(file: _File, offset: int) -> str:
    return f"{file.identity[0]}:{file.identity[1]}:{offset}:{_checksum(file.path, offset)}"


def _checksum(path: str, offset: int) -> int:
    """Of what stands before the offset; another one where the file was written anew since."""
    data = _bytes(path, max(0, offset - _CHECKED), offset)
    return zlib.crc32(data) if len(data) == min(offset, _CHECKED) else _OTHER


def _bytes(path: str, start: int, end: int) -> bytes:
    try:
        with open(path, "rb") as file:
            file.seek(start)
            return file.read(max(0, min(end - start, _CHUNK)))
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise from_os_error(error, path, "read") from None


def _whole(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]
