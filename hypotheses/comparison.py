"""Two logs joined on a key, and the mismatches set against the trials that failed."""

from collections.abc import Iterable
from dataclasses import dataclass

from hypotheses.observation import Result, Trial


@dataclass(frozen=True)
class Comparison:
    """Counts of a join, and the keys behind them.

    `matched` + `mismatched` keys stood on both sides; `left_only` and `right_only` on one;
    `duplicate` keys were logged more than once on a side and are in none of the others;
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

    @property
    def joined(self) -> int:
        return len(self.matched) + len(self.mismatched)

    @property
    def keys(self) -> int:
        """Distinct keys seen on either side."""
        one_sided = len(self.left_only) + len(self.right_only) + len(self.duplicate)
        return self.joined + one_sided

    @property
    def coverage(self) -> float:
        """The share of keys that could be compared, 0 to 1; 0 when there are none."""
        return self.joined / self.keys if self.keys else 0.0


@dataclass(frozen=True)
class TwoByTwo:
    """Trials by whether they failed and whether any of their keys mismatched."""

    fail_mismatch: int = 0
    fail_match: int = 0
    pass_mismatch: int = 0
    pass_match: int = 0
    uncovered: int = 0


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
