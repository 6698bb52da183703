"""Lines of a log by their numbers, with what stands around them."""

from bisect import bisect_right
from collections.abc import Iterable
from itertools import groupby
from typing import BinaryIO

from msgspec import Struct

from playbooks.join.blocks import BLOCK, Block, Source, blocks, texts

AROUND = 2
"""Lines that are kept before and behind one."""
SHOWN = 500
"""Characters of a line that are kept."""


class Excerpt(Struct, frozen=True):
    """A line with its number, from 1, and those around it."""

    number: int
    line: str
    before: tuple[str, ...]
    after: tuple[str, ...]


class Places:
    """Where the blocks of a log begin, so that few of them are read again for few lines.

    `lines` are all of them, `cut_off` those of JSON that have lost their end.
    """

    def __init__(self) -> None:
        self._firsts: list[int] = []
        self._offsets: list[int] = []
        self.lines = 0
        self.cut_off = 0

    def add(self, block: Block, lines: int) -> int:
        """Notes the next block, of so many lines; the number of its first."""
        self._firsts.append(self.lines + 1)
        self._offsets.append(block.offset)
        self.lines += lines
        return self._firsts[-1]

    def block_of(self, number: int) -> int:
        """Which block the line of this number is in, from 0."""
        return bisect_right(self._firsts, number) - 1

    def first(self, block: int) -> int:
        """The number of the block's first line."""
        return self._firsts[block]

    def extent(self, block: int) -> tuple[int, int | None]:
        """Where the block begins and ends in the log; None at the log's own end."""
        return self._offsets[block], next(iter(self._offsets[block + 1 : block + 2]), None)


def excerpts(
    source: Source, places: Places, numbers: Iterable[int], field: str | None
) -> dict[int, Excerpt]:
    """The lines of these numbers, by number; `field` is as for `blocks.texts`."""
    wanted = frozenset(numbers)
    lines = _lines(source, places, wanted, field) if wanted else {}
    return {
        number: Excerpt(
            number,
            lines[number],
            tuple(lines[one] for one in range(number - AROUND, number) if one in lines),
            tuple(lines[one] for one in range(number + 1, number + AROUND + 1) if one in lines),
        )
        for number in wanted
    }


def _lines(
    source: Source, places: Places, wanted: frozenset[int], field: str | None
) -> dict[int, str]:
    near = {one + by for one in wanted for by in range(-AROUND, AROUND + 1)}
    numbers = sorted(one for one in near if 0 < one <= places.lines)
    found: dict[int, str] = {}
    with source() as file:
        again = _Again(file)
        for block, within in groupby(numbers, places.block_of):
            lines = again.read(*places.extent(block)).split(b"\n")
            first = places.first(block)
            for number in within:
                (text,) = texts(lines[number - first] + b"\n", field)
                found[number] = (text or "")[:SHOWN]
    return found


class _Again:
    """Reads parts of a log, each behind the one before: going back in a packed one is slow."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._at = file, 0

    def read(self, start: int, end: int | None) -> bytes:
        """The lines from `start` to `end` (None: to the log's), long ones cut as before."""
        if self._file.seekable():
            self._at = self._file.seek(start)
        while self._at < start:
            self._at += len(self._file.read(min(BLOCK, start - self._at)))
        part = _Part(self._file, None if end is None else end - start)
        raw = b"".join(block.raw for block in blocks(part))
        self._at += part.read_so_far
        return raw


class _Part:
    """At most `size` bytes of a file from where it stands; None: all that is left."""

    def __init__(self, file: BinaryIO, size: int | None) -> None:
        self._file, self._size = file, size
        self.read_so_far = 0

    def read(self, size: int, /) -> bytes:
        left = size if self._size is None else min(size, self._size - self.read_so_far)
        chunk = self._file.read(left)
        self.read_so_far += len(chunk)
        return chunk
