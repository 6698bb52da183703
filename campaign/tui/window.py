"""A window on a text file of any size, also one that grows: bounded in lines and in bytes."""

import os
import re
from bisect import bisect_right
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from campaign.cli.text import shown

MOST_LINES = 2000
CHUNK = 256 * 1024
LONGEST = 4096
"""As many bytes of a line are kept; of a longer one, its end."""

_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")


class Line(Struct, frozen=True):
    """A line without its end; `at` is where it begins in the file, in bytes."""

    at: int
    data: bytes

    @property
    def text(self) -> str:
        """What a terminal would be left with: no colours, no control characters."""
        text = self.data.decode("utf-8", "replace").rstrip("\r")
        text = _ESCAPES.sub("", text.rpartition("\r")[2])
        return shown(text.expandtabs(8))


class Window(Struct, frozen=True):
    """The lines of `path` from `start` to `end`, in bytes; `size` is the file's when it was read.

    The last line may be unfinished. Reading gives a new window; a file that is not there yet is an
    empty one, and a file that has become shorter is read from its start.
    """

    path: Path
    lines: tuple[Line, ...] = ()
    start: int = 0
    end: int = 0
    size: int = 0

    @property
    def at_end(self) -> bool:
        return self.end >= self.size

    def follow(self) -> "Window":
        """The file's end: with what was added since; what is too much to show is passed over."""
        size = _size(self.path)
        here = self if size >= self.end else Window(self.path)
        if size - here.end > CHUNK:
            return _read(here, size - CHUNK, size, size, MOST_LINES)
        return _grown(here, size, size, MOST_LINES)

    def later(self) -> "Window":
        """Some lines further on, half as many as fit; the same at the end of the file."""
        size = _size(self.path)
        grown = _grown(self, min(size, self.end + CHUNK), size, CHUNK)
        most = len(self.lines) + MOST_LINES // 2
        end = grown.lines[most].at if len(grown.lines) > most else grown.end
        lines = grown.lines[:most][-MOST_LINES:]
        return replace(grown, lines=lines, start=lines[0].at if lines else 0, end=end)

    def earlier(self) -> "Window":
        """Some lines further back, half as many as fit; the same at the start of the file."""
        if not self.start:
            return self
        begin, most = max(0, self.start - CHUNK), MOST_LINES // 2
        before = _read(self, begin, self.start, self.size, most)
        both = (*before.lines, *self.lines)
        end = both[MOST_LINES].at if len(both) > MOST_LINES else self.end
        return replace(self, lines=both[:MOST_LINES], start=both[0].at if both else 0, end=end)

    def around(self, offset: int) -> "Window":
        """The window that has the line at `offset` in its middle."""
        size = _size(self.path)
        begin = max(0, offset - CHUNK // 2)
        read = _read(self, begin, min(size, begin + CHUNK), size, CHUNK)
        first = max(0, read.index(offset) - MOST_LINES // 2)
        lines = read.lines[first : first + MOST_LINES]
        beyond = read.lines[first + MOST_LINES :]
        start, end = lines[0].at if lines else read.start, beyond[0].at if beyond else read.end
        return replace(read, lines=lines, start=start, end=end)

    def index(self, offset: int) -> int:
        """Which of the lines holds the byte at `offset`."""
        return max(0, bisect_right(self.lines, offset, key=lambda line: line.at) - 1)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _grown(window: Window, end: int, size: int, most: int) -> Window:
    """The window with the bytes up to `end` too; of all lines the last, `most` at most."""
    data = _bytes(window.path, window.end, end)
    last = window.lines[-1:] if window.lines and not _is_closed(window) else ()
    kept = window.lines[: len(window.lines) - len(last)]
    begin = last[0].at if last else window.end
    new = _split((last[0].data if last else b"") + data, begin, window.end + len(data), most)
    lines = (*kept, *new)[-most:]
    start = lines[0].at if lines else window.start
    return Window(window.path, lines, start, window.end + len(data), size)


def _is_closed(window: Window) -> bool:
    """Whether the last line is whole: the byte before the window's end ends it."""
    return _bytes(window.path, window.end - 1, window.end) == b"\n"


def _read(window: Window, begin: int, end: int, size: int, most: int) -> Window:
    """The last lines from `begin` to `end`; the first, where it is cut, is left out."""
    data = _bytes(window.path, begin, end)
    skipped = data.find(b"\n") + 1 if begin else 0
    first = begin + skipped
    lines = _split(data[skipped:], first, begin + len(data), most)
    return Window(window.path, lines, lines[0].at if lines else first, begin + len(data), size)


def _bytes(path: Path, begin: int, end: int) -> bytes:
    if end <= begin:
        return b""
    try:
        with path.open("rb") as file:
            return os.pread(file.fileno(), end - begin, begin)
    except OSError:
        return b""


def _split(data: bytes, begin: int, end: int, most: int) -> tuple[Line, ...]:
    """The last lines of `data`, from `begin` to `end`; of the first only its end may be known."""
    pieces = data.split(b"\n")
    at = end
    lines = []
    for index, piece in enumerate(reversed(pieces)):
        at = begin if index == len(pieces) - 1 else at - len(piece)
        if piece or index:
            lines.append(Line(at, piece[-LONGEST:]))
        at -= 1
        if len(lines) >= most:
            break
    return tuple(reversed(lines))


def find(path: Path, wanted: str, start: int, *, backwards: bool = False) -> int | None:
    """Where `wanted` is next in the file after the byte `start` (or before it), in any case.

    Reads the file in pieces; None where it is not there.
    """
    needle = wanted.encode().lower()
    size, step, overlap = _size(path), CHUNK * 4, len(needle) - 1
    at = start
    while needle and (at > 0 if backwards else at < size):
        begin = max(0, at - step) if backwards else at
        end = at + overlap if backwards else at + step + overlap
        data = _bytes(path, begin, min(end, size)).lower()
        found = data.rfind(needle) if backwards else data.find(needle)
        if found >= 0:
            return begin + found
        at = begin if backwards else at + step
    return None
