"""Output as it comes, in bytes, to lines of text, in bounded memory."""

import re
from collections.abc import Iterator

from msgspec import Struct

LINE_LIMIT = 1024 * 1024
"""Bytes of one line that are read; the rest of it is dropped, and said."""

DOCUMENT_LIMIT = 64 * 1024 * 1024
"""Bytes that a document (JSON, XML) may have, which often is one line."""

ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # colours, cursor movements
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, hyperlinks
    r"|\x1b[ -/]*[0-Z\\^-~]"  # the two-character ones
)


class Line(Struct, frozen=True):
    """A line that is not blank, without escape codes; `number` is 1 for the output's first.

    `capped`: it was longer than the limit. `cut`: the output ended within it because its program
    was stopped, so its end may be missing.
    """

    text: str
    number: int
    capped: bool = False
    cut: bool = False

    @property
    def where(self) -> str:
        return f"line {self.number}"


def without_escapes(text: str) -> str:
    """`text` without the escape codes of terminals (ECMA-48)."""
    return ESCAPES.sub("", text) if "\x1b" in text else text


class Lines:
    """Splits chunks of bytes into lines; a carriage return ends a line as a newline does."""

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self.number = 1
        self._limit = limit
        self.read = 0
        self._open = bytearray()
        self._open_capped = False
        self._last_return = 0
        self._returns = self._capped = self._escaped = self._not_utf8 = 0

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """The lines that `chunk` completes. Exhaust it before feeding the next chunk."""
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            yield from self._add(piece)
            yield from self._end()
            self.number += 1
        yield from self._add(rest)

    def rest(self, *, cut: bool) -> Iterator[Line]:
        """The last line, where no newline ended it; `cut` says that its end may be missing."""
        yield from self._end(cut=cut)

    def warnings(self) -> tuple[str, ...]:
        """What had to be changed to read the output, one line each."""
        said = (
            (self._capped, f"longer than {self._limit} bytes: read up to there"),
            (self._not_utf8, "not UTF-8: the bytes in question were replaced"),
            (self._escaped, "with colour codes: they were removed"),
            (self._returns, "with carriage returns (CRLF, progress bar): each ended a line"),
        )
        return tuple(f"{plural(count, 'line')} {text}" for count, text in said if count)

    def _add(self, piece: bytes) -> Iterator[Line]:
        if b"\r" not in piece:
            self._extend(piece)
            return
        self._count_return()
        first, *others = piece.split(b"\r")
        self._extend(first)
        for part in others:
            yield from self._end()
            self._extend(part)

    def _count_return(self) -> None:
        self._returns += self._last_return != self.number
        self._last_return = self.number

    def _extend(self, piece: bytes) -> None:
        room = self._limit - len(self._open)
        self._open += piece[:room]
        self._open_capped = self._open_capped or len(piece) > room

    def _end(self, *, cut: bool = False) -> Iterator[Line]:
        raw, capped = bytes(self._open), self._open_capped
        self._open.clear()
        self._open_capped = False
        self._capped += capped
        text = self._text(raw, capped or cut)
        if text.strip():
            self.read += 1
            yield Line(text, self.number, capped, cut)

    def _text(self, raw: bytes, shortened: bool) -> str:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode(errors="replace")
            self._not_utf8 += not shortened
        if not self.read:
            text = text.removeprefix("\ufeff")
        plain = without_escapes(text)
        self._escaped += plain != text
        return plain


def plural(count: int, word: str) -> str:
    """ "1 line", "2 lines"."""
    return f"{count} {word}" if count == 1 else f"{count} {word}s"
