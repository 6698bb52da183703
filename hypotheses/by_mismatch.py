"""The verdict of a run by mismatching keys, and of a run that tests the detector itself."""

from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hypotheses.comparison import BootCompared, Comparison, KeyCounts, TwoByTwo
from hypotheses.observation import Counts
from hypotheses.rates import (
    fisher_within,
    p_text,
    rate_text,
    share_text,
    trials_for_yield,
    trials_to_settle,
    wilson,
)
from hypotheses.verdict import Effect, Qualifier, Verdict, Word, ineffective, unproven

ENOUGH_FAILURES = 3
"""Failing trials that must have been looked into before a mechanism is refuted."""
NAMED_KEYS = 5
"""As many keys are named in a reason; the others are counted."""


class _Run(Struct, frozen=True):
    """The boots of a run that compared; a key is one of its boot, whatever others call theirs."""

    boots: Sequence[BootCompared]

    @property
    def keys(self) -> KeyCounts:
        return sum((one.comparison.counts for one in self.boots), KeyCounts())

    @property
    def table(self) -> TwoByTwo:
        return sum((one.table for one in self.boots), TwoByTwo())

    @property
    def counts(self) -> Counts:
        return sum((one.counts for one in self.boots), Counts())

    @property
    def lost(self) -> int:
        return sum(one.comparison.lost for one in self.boots)

    @property
    def coverage_known(self) -> bool:
        return bool(self.boots) and all(one.comparison.coverage_known for one in self.boots)

    @property
    def p(self) -> float:
        """Of failing against passing trials by their mismatches, each boot by itself."""
        return fisher_within(_four(one.table) for one in self.boots)

    @property
    def more_often(self) -> bool:
        """Whether failing trials mismatched more often than if either half of a boot were alike."""
        tables = [one.table for one in self.boots]
        expected = sum(
            (one.fail_mismatch + one.pass_mismatch) * one.failing / (one.failing + one.passing)
            for one in tables
            if one.failing
        )
        return sum(one.fail_mismatch for one in tables) > expected


def _four(table: TwoByTwo) -> tuple[int, int, int, int]:
    return table.fail_mismatch, table.failing, table.pass_mismatch, table.passing


def judge_mismatch(
    boots: Sequence[BootCompared],
    *,
    min_coverage: float,
    trusted: bool,
    effect: Effect,
    detectors: Sequence[str] = (),
) -> Verdict:
    """The verdict by mismatching keys: do they belong to the trials that failed?

    `boots` are those of the run that compared, each with trials of its own: rates of failures and
    mismatches may differ between them, so that trials are set against those of their boot alone.
    `min_coverage` is the share of keys (0 to 1) that must have been compared, and of failing trials
    that must have been looked into before anything is refuted; `trusted` says that a detector run
    of this very comparison was seen right, `detectors` which playbooks may be run for that.
    """
    run = _Run(boots)
    verdict = (
        ineffective(effect)
        or _coverage_fault(run, min_coverage)
        or _no_failure(run.counts)
        or _untrusted(run.keys, trusted, detectors)
    )
    if verdict is None:
        verdict = _associated(run, min_coverage)
        if effect is Effect.UNPROVEN:
            verdict = unproven(verdict)
    return replace(verdict, numbers=_mismatch_numbers(run))


def judge_detector(comparisons: Sequence[Comparison], effect: Effect) -> Verdict:
    """Whether the detector saw exactly the keys that were known to be bad, in each of its boots."""
    verdict = ineffective(effect)
    if verdict is None:
        verdict = _seen(comparisons)
        if effect is Effect.UNPROVEN and verdict.word is not Word.INVALID:
            verdict = unproven(verdict)
    known_bad = sum(len(one.known_bad) for one in comparisons)
    run = _Run([BootCompared(one) for one in comparisons])
    return replace(verdict, numbers={**_key_numbers(run), "known_bad": known_bad})


def _coverage_fault(run: _Run, min_coverage: float) -> Verdict | None:
    if not run.coverage_known or run.lost:
        lost = f"log lines lost: {run.lost}" if run.lost else "log lines may be lost"
        return Verdict(
            Word.INCONCLUSIVE,
            Qualifier.COVERAGE_UNKNOWN,
            (f"{lost}, so nobody knows what was not compared",),
            still_needed="both logs in full, from the restart on",
        )
    if run.keys.joined and run.keys.coverage >= min_coverage:
        return None
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.COVERAGE_TOO_LOW,
        (_coverage_reason(run.keys, min_coverage),),
        still_needed="logs in which each key stands once on both sides",
    )


def _coverage_reason(keys: KeyCounts, min_coverage: float) -> str:
    if not keys.total:
        return "no key was found in either log"
    return (
        f"{keys.joined} of {keys.total} keys could be compared and"
        f" {share_text(min_coverage)} are required: {keys.left_only} only on the left,"
        f" {keys.right_only} only on the right, {keys.duplicate} twice"
    )


def _no_failure(counts: Counts) -> Verdict | None:
    """Without a failing trial there is nothing to look into: masked, and never refuted."""
    if counts.fail:
        return None
    if counts.n == 0:
        return Verdict(
            Word.INCONCLUSIVE,
            Qualifier.NO_TRIALS,
            ("no trial ended as a pass or a failure",),
            still_needed="trials that run to their end",
        )
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.MASKED,
        (f"no trial failed ({rate_text(counts)}), so there was nothing to look into",),
        still_needed=_plan_failures(wilson(0, counts.n).high),
    )


def _plan_failures(rate: float) -> str:
    trials = trials_for_yield(ENOUGH_FAILURES, rate)
    return (
        f"{ENOUGH_FAILURES} failing trials: {trials} trials bring them 19 times in 20"
        f" if {share_text(rate)} fail"
    )


def _untrusted(keys: KeyCounts, trusted: bool, detectors: Sequence[str]) -> Verdict | None:
    """What forbids to believe the comparison: no control of it, or it cries at everything."""
    if not trusted:
        return untrusted_yet(detectors)
    if keys.matched:
        return None
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.ALL_MISMATCH,
        (f"all {keys.joined} keys mismatch: the comparison itself is suspect",),
        still_needed="a comparison under which some keys match",
    )


def untrusted_yet(detectors: Sequence[str] = ()) -> Verdict:
    """The verdict where no detector run has vouched for the comparison; `detectors` could."""
    needed = "run a detector playbook with known-bad keys, same patch and comparison"
    if detectors:
        needed = f"run {' or '.join(detectors)}, which tests this comparison, under the same patch"
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.UNTRUSTED_YET,
        ("no detector run has shown that this comparison sees known-bad keys and no others",),
        still_needed=needed,
    )


def _associated(run: _Run, min_coverage: float) -> Verdict:
    """Set against the failures: supported, refuted, or what is still needed."""
    table, counts, mismatched = run.table, run.counts, run.keys.mismatched
    if not table.failing or (not mismatched and table.failing < min_coverage * counts.fail):
        return _failures_uncovered(table.failing, counts)
    if not mismatched:
        return _no_mismatch(table.failing, counts)
    if run.more_often and run.p < 0.05:
        return Verdict(Word.SUPPORTED, "", (_shares(run), *_unexplained(table)))
    return Verdict(
        Word.INCONCLUSIVE,
        "",
        (_shares(run), *_strays(run)),
        still_needed=_more_of_both(run),
    )


def _shares(run: _Run) -> str:
    table = run.table
    within = f" within {len(run.boots)} restarts" if len(run.boots) > 1 else ""
    return (
        f"mismatch in {table.fail_mismatch} of {table.failing} failing trials,"
        f" {table.pass_mismatch} of {table.passing} passing ({p_text(run.p)}{within})"
    )


def _failures_uncovered(failing: int, counts: Counts) -> Verdict:
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.COVERAGE_TOO_LOW,
        (f"{failing} of {counts.fail} failing trials have a key that could be compared",),
        still_needed="the keys of failing trials in both logs and in the reproducer's output",
    )


def _no_mismatch(failing: int, counts: Counts) -> Verdict:
    bound = share_text(wilson(0, failing).high)
    reason = (
        f"no key mismatched, those of {failing} failing trials included:"
        f" at most {bound} of failing trials have one that does"
    )
    if failing >= ENOUGH_FAILURES:
        return Verdict(Word.REFUTED, "", (reason,))
    return Verdict(
        Word.INCONCLUSIVE, "", (reason,), still_needed=_plan_failures(counts.fail / counts.n)
    )


def _unexplained(table: TwoByTwo) -> tuple[str, ...]:
    if not table.fail_match:
        return ()
    return (
        f"{table.fail_match} of {table.failing} failed without a mismatch:"
        " it is not the whole cause",
    )


def _strays(run: _Run) -> tuple[str, ...]:
    if run.table.fail_mismatch or run.table.pass_mismatch:
        return ()
    comparisons = [one.comparison for one in run.boots]
    keys = frozenset[str]().union(*(one.mismatched for one in comparisons))
    named = _named(keys, sum(one.unnamed.mismatched for one in comparisons))
    return (f"keys that mismatched without belonging to a trial: {named}",)


def _more_of_both(run: _Run) -> str:
    if run.table.passing == 0:
        return "passing trials with keys, to set against the failing ones"
    each = trials_to_settle(*_four(run.table))
    if each is None or not run.more_often:
        return "more failing trials with keys, from more restarts"
    return (
        f"about {each} failing and {each} passing trials would settle it four times in five"
        " if these shares are true"
    )


def _seen(comparisons: Sequence[Comparison]) -> Verdict:
    faults = tuple(dict.fromkeys(fault for one in comparisons for fault in _detector_faults(one)))
    if faults or not comparisons:
        return Verdict(
            Word.INVALID,
            Qualifier.NOT_TRUSTED,
            faults or ("nothing was compared",),
            still_needed="a detector run in which exactly the known-bad keys mismatch",
        )
    known_bad = sum(len(one.known_bad) for one in comparisons)
    matched = sum(one.counts.matched for one in comparisons)
    return Verdict(
        Word.SUPPORTED,
        Qualifier.SEEN_RIGHT,
        (
            f"exactly the known-bad keys mismatched ({known_bad})"
            f" and the others matched ({matched})",
        ),
    )


def _detector_faults(comparison: Comparison) -> Iterable[str]:
    one_sided = comparison.left_only | comparison.right_only | comparison.duplicate
    unseen = comparison.known_bad - comparison.mismatched
    false = comparison.mismatched - comparison.known_bad
    if not comparison.known_bad:
        yield "no key was known to be bad, so there was nothing to be seen"
    if not comparison.coverage_known or comparison.lost:
        yield "log lines may be missing, so a key that was not seen proves nothing"
    if unseen & one_sided:
        yield f"known bad, but not once on both sides: {_named(unseen & one_sided)}"
    if unseen - one_sided:
        yield f"known bad, but not seen: {_named(unseen - one_sided)}"
    if false or comparison.unnamed.mismatched:
        named = _named(false, comparison.unnamed.mismatched)
        yield f"seen as bad, but not known to be: {named}"
    if not comparison.counts.matched:
        yield "no key matched, so nothing shows that it knows a good one"


def _named(keys: frozenset[str], unnamed: int = 0) -> str:
    """The first few keys; those of digits in the order of their numbers."""
    ordered = sorted(keys, key=lambda key: (len(key) if key.isdigit() else 0, key))
    more = max(0, len(ordered) - NAMED_KEYS) + unnamed
    return ", ".join(ordered[:NAMED_KEYS]) + (f" and {more} more" if more > 0 else "")


def _key_numbers(run: _Run) -> dict[str, float | int | str]:
    keys = run.keys
    return {
        "matched": keys.matched,
        "mismatched": keys.mismatched,
        "left_only": keys.left_only,
        "right_only": keys.right_only,
        "duplicate": keys.duplicate,
        "lost": run.lost,
        "coverage": keys.coverage,
    }


def _mismatch_numbers(run: _Run) -> dict[str, float | int | str]:
    table, counts = run.table, run.counts
    return {
        "fail": counts.fail,
        "n": counts.n,
        "censored": counts.censored,
        **_key_numbers(run),
        "fail_mismatch": table.fail_mismatch,
        "fail_match": table.fail_match,
        "pass_mismatch": table.pass_mismatch,
        "pass_match": table.pass_match,
        "uncovered": table.uncovered,
        "fisher_p": run.p,
    }
