"""What is wrong in a file, where, and how to say so."""

import difflib
import unicodedata
from collections.abc import Collection, Iterable

from msgspec import Struct

_WIDTH = 160
_NAMED = 8


class Problem(Struct, frozen=True):
    """One thing wrong at `line` and `column` (from 1) of a file; line 0 is the file as a whole.

    `source` is that line's text. `str()` gives `file:line:column: what`, the line and a caret.
    """

    file: str
    line: int
    column: int
    what: str
    source: str

    def __str__(self) -> str:
        if not self.line:
            return f"{self.file}: {self.what}"
        head = f"{self.file}:{self.line}:{self.column}: {self.what}"
        if not self.source.strip():
            return head
        before, after = self._excerpt()
        return f"{head}\n  {before}{after}\n  {' ' * _columns(before)}^"

    def _excerpt(self) -> tuple[str, str]:
        """The source before and from the column on, tabs expanded, cut to a readable width."""
        before = self.source[: self.column - 1].expandtabs(8)
        after = self.source[self.column - 1 :].expandtabs(8)
        if len(before) > _WIDTH:
            before = "..." + before[-_WIDTH // 2 :]
        if len(after) > _WIDTH:
            after = after[:_WIDTH] + "..."
        return before, after.rstrip()


class LoadError(Exception):
    """All that is wrong with a file: `problems`, in the order of their places."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(sorted(problems, key=lambda one: (one.file, one.line, one.column)))
        super().__init__("\n".join(map(str, self.problems)))


def shown(text: str) -> str:
    """`text` in quotes on one line, cut where it is long."""
    line = " ".join(text.split())
    return f"'{line[:57]}...'" if len(line) > 60 else f"'{line}'"


def meant(name: str, known: Iterable[str]) -> str:
    """What may have been meant by `name`: ` (did you mean 'x'?)`, or nothing."""
    close = difflib.get_close_matches(name[:80], list(known), n=1)
    return f" (did you mean '{close[0]}'?)" if close else ""


def suggest(name: str, known: Collection[str]) -> str:
    """What may have been meant by `name`, else the names there are where they are few."""
    listed = f" (known: {', '.join(known)})" if 0 < len(known) <= _NAMED else ""
    return meant(name, known) or listed


def _columns(text: str) -> int:
    """How many columns of a terminal `text` takes."""
    return sum(_wide(char) for char in text)


def _wide(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
