"""Two logs joined on a key, in one pass over both."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import zip_longest

from hypotheses.comparison import Comparison
from playbooks.parsers.lines import LINE_LIMIT, without_escapes
from playbooks.parsers.parser import ParseError, pattern, quoted
from playbooks.playbook import LogSide

SHOWN = 500
"""Characters of a log line that are kept to be shown."""

_SHORT = 64


@dataclass(frozen=True, slots=True)
class Row:
    """What one log line says: `value` for `key`. `line` is its beginning, to be shown."""

    key: str
    value: str
    line: str


@dataclass(frozen=True)
class Joined:
    """The comparison, and for each key that did not simply match its left and right line.

    A side's line is empty where it logged none. Of a duplicate key the line is the last of the
    side that repeated it; the other side's is empty where it came before the repetition was seen.
    """

    comparison: Comparison
    lines: Mapping[str, tuple[str, str]]


class _Side(Enum):
    LEFT = 0
    RIGHT = 1


@dataclass
class _Join:
    """The state of a join. A key is in exactly one of the four collections."""

    waiting: dict[str, tuple[_Side, str, str]] = field(default_factory=dict)
    matched: set[str] = field(default_factory=set)
    mismatched: set[str] = field(default_factory=set)
    duplicate: set[str] = field(default_factory=set)
    lines: dict[str, tuple[str, str]] = field(default_factory=dict)

    def add(self, side: _Side, row: Row) -> None:
        key = row.key
        if key in self.duplicate:
            self._show(side, row)
        elif key in self.waiting:
            self._second(side, row)
        elif key in self.matched or key in self.mismatched:
            self.matched.discard(key)
            self.mismatched.discard(key)
            self.duplicate.add(key)
            self._show(side, row)
        else:
            self.waiting[key] = side, _short(row.value), row.line

    def _second(self, side: _Side, row: Row) -> None:
        """The key stands on one side already: this one or the other."""
        first, value, line = self.waiting.pop(row.key)
        if first is not side and value == _short(row.value):
            self.matched.add(row.key)
            return
        (self.duplicate if first is side else self.mismatched).add(row.key)
        self._show(first, Row(row.key, value, line))
        self._show(side, row)

    def _show(self, side: _Side, row: Row) -> None:
        left, right = self.lines.get(row.key, ("", ""))
        self.lines[row.key] = (row.line, right) if side is _Side.LEFT else (left, row.line)

    def one_sided(self, side: _Side) -> frozenset[str]:
        """The keys that waited in vain; their lines are kept with the others."""
        keys = [key for key, (first, _, _) in self.waiting.items() if first is side]
        for key in keys:
            self._show(side, Row(key, "", self.waiting[key][2]))
        return frozenset(keys)


def log_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The lines of a log that comes in `chunks`, of each at most LINE_LIMIT bytes: the rest of a
    longer one is skipped.
    """
    line = bytearray()
    for chunk in chunks:
        *ended, begun = chunk.split(b"\n")
        for piece in ended:
            line += piece[: LINE_LIMIT - len(line)]
            yield bytes(line)
            line.clear()
        line += begun[: LINE_LIMIT - len(line)]
    if line:
        yield bytes(line)


def scan(lines: Iterable[bytes], match: str, *, needs_value: bool = True) -> Iterator[Row]:
    """The rows of the lines that `match` finds, by its named groups `key` and `value`.

    Raises ParseError, at once, for an expression that is broken or lacks a group it needs.
    """
    compiled = pattern(match, "compare: match")
    for name in ("key", "value") if needs_value else ("key",):
        if name not in compiled.groupindex:
            raise ParseError(
                f"compare: match: {quoted(match)} has no group {name}: write (?P<{name}>...)"
            )
    return _rows(lines, compiled)


def join(
    left: Iterable[Row],
    right: Iterable[Row],
    known_bad: Iterable[Row] = (),
    *,
    lost: int = 0,
    detector: str = "",
) -> Joined:
    """Sets the rows of `left` against those of `right`.

    A key that one side logged more than once is a duplicate, whatever the values: which of its
    rows belongs to which is not known. `known_bad` gives the keys that a detector run corrupted;
    `lost` and `detector` go into the comparison as they are. The sides are read in turn, so that
    logs in about the same order need memory for their keys, not for their lines.
    """
    state = _Join()
    for one, other in zip_longest(left, right):
        if one is not None:
            state.add(_Side.LEFT, one)
        if other is not None:
            state.add(_Side.RIGHT, other)
    comparison = Comparison(
        matched=frozenset(state.matched),
        mismatched=frozenset(state.mismatched),
        left_only=state.one_sided(_Side.LEFT),
        right_only=state.one_sided(_Side.RIGHT),
        duplicate=frozenset(state.duplicate),
        known_bad=frozenset(row.key for row in known_bad),
        lost=lost,
        detector=detector,
    )
    return Joined(comparison, state.lines)


def detector_identity(
    left: LogSide, right: LogSide, edits: Iterable[tuple[str, str | None]]
) -> str:
    """What was compared, as 16 hex digits of a SHA-256: both sides and the edited files.

    `edits` are (path, sha256 after; None where the file is gone) in any order. The same detector
    has the same identity; another expression or another version of the patch has not.
    """
    files = sorted((path, after or "") for path, after in edits)
    sides = [[side.log, side.match] for side in (left, right)]
    text = json.dumps([sides, files])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _rows(lines: Iterable[bytes], match: re.Pattern[str]) -> Iterator[Row]:
    for raw in lines:
        line = without_escapes(raw.decode(errors="replace").rstrip("\r\n"))
        found = match.search(line)
        groups = found.groupdict() if found else {}
        if groups.get("key") is not None:
            yield Row(groups["key"], groups.get("value") or "", line[:SHOWN])


def _short(value: str) -> str:
    """`value`, or its hash where that is shorter."""
    if len(value) <= _SHORT:
        return value
    return hashlib.sha256(value.encode(errors="surrogatepass")).hexdigest()
