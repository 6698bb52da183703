"""A service's log: segment files named by the offset of their first byte.

An offset counts every byte the service ever wrote, over all its restarts, and only grows; it is
the cursor that readers keep. What rotated away, or could not be written, is a gap: readers learn
how many bytes it had.
"""

import os
import re
from typing import List, NamedTuple, Optional, Pattern

from playbooks.agent.session import VerbError

_NAME = re.compile(r"(\d{20})\.log\Z")
_TAIL = 1 << 16


class Segment(NamedTuple):
    """The bytes [start, end) of the log are in the file `path`."""

    start: int
    end: int
    path: str


class Piece(NamedTuple):
    """Contiguous bytes of a log.

    `lost`: bytes between the cursor asked for and `data` that are gone. `complete`: a gap or the
    end asked for follows, so that the last line will not go on. `cursor`: where to read on.
    """

    data: bytes
    lost: int
    cursor: int
    complete: bool


def segments(folder: str) -> List[Segment]:
    """The kept segments, oldest first. All but the last have their final size."""
    try:
        names = sorted(name for name in os.listdir(folder) if _NAME.match(name))
    except FileNotFoundError:
        return []
    found = []
    for name in names:
        path = os.path.join(folder, name)
        try:
            size = os.stat(path).st_size
        except FileNotFoundError:
            continue
        found.append(Segment(int(name[:20]), int(name[:20]) + size, path))
    return found


def end(folder: str) -> int:
    """The offset of the next byte to be logged: the cursor that sees only what comes."""
    found = segments(folder)
    return found[-1].end if found else 0


class Writer:
    """Appends to a log; keeps at most `keep` segments of about `max_bytes` each."""

    def __init__(self, folder: str, max_bytes: int, keep: int) -> None:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self._folder, self._max_bytes, self._keep = folder, max_bytes, max(1, keep)
        self.offset = end(folder)
        self._fd: Optional[int] = None
        self._room = 0

    def write(self, data: bytes) -> None:
        """Log `data`. What the disk refuses is left out and becomes a gap of its length."""
        while data:
            try:
                written = os.write(self._file(), data[: self._room])
            except OSError:
                self.close()
                written = len(data)
            self.offset += written
            self._room -= written
            data = data[written:]

    def _file(self) -> int:
        """The segment to append to: the last one while it has room, else a new one."""
        if self._fd is not None and self._room > 0:
            return self._fd
        self.close()
        found = segments(self._folder)
        start = found[-1].start if found and found[-1].end == self.offset else self.offset
        if self.offset - start >= self._max_bytes:
            start = self.offset
        path = os.path.join(self._folder, f"{start:020d}.log")
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._room = self._max_bytes - (self.offset - start)
        for old in segments(self._folder)[: -self._keep]:
            os.unlink(old.path)
        return self._fd

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None


def read(folder: str, cursor: int, until: int, limit: int) -> Piece:
    """At most `limit` bytes of [cursor, until): those before the first gap after their start."""
    kept = [one for one in segments(folder) if one.end > cursor and one.start < until]
    if not kept:
        return Piece(b"", max(0, until - cursor), max(cursor, until), True)
    start = max(cursor, kept[0].start)
    data = bytearray()
    for segment in kept:
        at = start + len(data)
        if segment.start > at or len(data) >= limit:
            break
        try:
            data += _read_file(segment, at, min(segment.end, until, start + limit))
        except FileNotFoundError:  # rotated away since it was listed
            return read(folder, cursor, until, limit)
    at = start + len(data)
    return Piece(bytes(data), start - cursor, at, at >= until or len(data) < limit)


def _read_file(segment: Segment, start: int, until: int) -> bytes:
    with open(segment.path, "rb") as file:
        file.seek(start - segment.start)
        return file.read(until - start)


def read_lines(folder: str, cursor: int, until: int, limit: int) -> Piece:
    """As `read`, ending with a whole line unless one line is longer than `limit`."""
    piece = read(folder, cursor, until, limit)
    cut = len(piece.data) if piece.complete else piece.data.rfind(b"\n") + 1
    left = len(piece.data) - cut if cut else 0
    return piece._replace(data=piece.data[: cut or None], cursor=piece.cursor - left)


def compile_pattern(text: str) -> Pattern[bytes]:
    """A regular expression for lines of UTF-8; error "bad-request" where it is none."""
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise VerbError("bad-request", f"{text!r} is no regular expression: {error}") from None


def matching(data: bytes, pattern: Pattern[bytes]) -> bytes:
    """The lines of `data` in which `pattern` is found."""
    return b"".join(line for line in data.splitlines(True) if pattern.search(line))


def last_lines(folder: str, cursor: int, count: int = 20) -> List[str]:
    """The newest `count` lines since `cursor`, for an error message."""
    until = end(folder)
    piece = read(folder, max(cursor, until - _TAIL), until, _TAIL)
    return piece.data.decode("utf-8", "replace").splitlines()[-count:]
