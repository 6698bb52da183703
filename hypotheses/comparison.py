"""Two logs joined on a key, and the mismatches set against the trials that failed."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property

from msgspec import Struct

from hypotheses.observation import Counts, Result, Trial


class State(StrEnum):
    """What is wrong with a key that did not simply match."""

    MISMATCHED = "mismatched"
    DUPLICATE = "duplicate"
    LEFT_ONLY = "left-only"
    RIGHT_ONLY = "right-only"


class KeyCounts(Struct, frozen=True):
    """How many keys of a join were found how."""

    matched: int = 0
    mismatched: int = 0
    left_only: int = 0
    right_only: int = 0
    duplicate: int = 0

    @property
    def joined(self) -> int:
        """The keys that could be compared."""
        return self.matched + self.mismatched

    @property
    def total(self) -> int:
        """The distinct keys seen on either side."""
        return self.joined + self.left_only + self.right_only + self.duplicate

    @property
    def coverage(self) -> float:
        """The share of keys that could be compared, 0 to 1; 0 when there are none."""
        return self.joined / self.total if self.total else 0.0

    def __add__(self, other: "KeyCounts") -> "KeyCounts":
        return KeyCounts(
            self.matched + other.matched,
            self.mismatched + other.mismatched,
            self.left_only + other.left_only,
            self.right_only + other.right_only,
            self.duplicate + other.duplicate,
        )


class Comparison(Struct, frozen=True, dict=True):
    """Counts of a join, and those of the keys behind them that somebody asks about, by name.

    `matched` + `mismatched` keys stood on both sides; `left_only` and `right_only` on one;
    `duplicate` keys were logged more than once on a side and are in none of the others; `unnamed`
    counts further keys: those of trials, and those known to be bad, are never among them.
    `lost` counts log lines that are known to be missing. `detector` identifies what was compared,
    patch included: trust in one detector does not carry over to another.
    """

    matched: frozenset[str] = frozenset()
    mismatched: frozenset[str] = frozenset()
    left_only: frozenset[str] = frozenset()
    right_only: frozenset[str] = frozenset()
    duplicate: frozenset[str] = frozenset()
    known_bad: frozenset[str] = frozenset()
    lost: int = 0
    coverage_known: bool = True
    detector: str = ""
    unnamed: KeyCounts = KeyCounts()

    @cached_property
    def counts(self) -> KeyCounts:
        """All keys, named or not."""
        named = KeyCounts(
            len(self.matched),
            len(self.mismatched),
            len(self.left_only),
            len(self.right_only),
            len(self.duplicate),
        )
        return named + self.unnamed


class TwoByTwo(Struct, frozen=True):
    """Trials by whether they failed and whether any of their keys mismatched."""

    fail_mismatch: int = 0
    fail_match: int = 0
    pass_mismatch: int = 0
    pass_match: int = 0
    uncovered: int = 0

    @property
    def failing(self) -> int:
        """Failing trials whose keys were compared."""
        return self.fail_mismatch + self.fail_match

    @property
    def passing(self) -> int:
        """Passing trials whose keys were compared."""
        return self.pass_mismatch + self.pass_match

    def __add__(self, other: "TwoByTwo") -> "TwoByTwo":
        return TwoByTwo(
            self.fail_mismatch + other.fail_mismatch,
            self.fail_match + other.fail_match,
            self.pass_mismatch + other.pass_mismatch,
            self.pass_match + other.pass_match,
            self.uncovered + other.uncovered,
        )


class BootCompared(Struct, frozen=True):
    """The comparison of one boot, and the trials that it was set against, in all as `counts`."""

    comparison: Comparison
    table: TwoByTwo = TwoByTwo()
    counts: Counts = Counts()


def associate(trials: Iterable[Trial], comparison: Comparison) -> TwoByTwo:
    """Sets mismatching keys against failing trials.

    A trial none of whose keys was joined is `uncovered`; censored trials are left out.
    """
    cells = {(fail, bad): 0 for fail in (True, False) for bad in (True, False)}
    uncovered = 0
    for trial in trials:
        if trial.result is Result.CENSORED:
            continue
        bad = any(key in comparison.mismatched for key in trial.keys)
        if not bad and not any(key in comparison.matched for key in trial.keys):
            uncovered += 1
            continue
        cells[trial.result is Result.FAIL, bad] += 1
    return TwoByTwo(
        cells[True, True], cells[True, False], cells[False, True], cells[False, False], uncovered
    )
