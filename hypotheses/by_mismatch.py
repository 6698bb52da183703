"""The verdict of a run by mismatching keys, and of a run that tests the detector itself."""

from collections.abc import Iterable

from msgspec.structs import replace

from hypotheses.comparison import Comparison, TwoByTwo
from hypotheses.observation import Counts
from hypotheses.rates import (
    fisher,
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


def judge_mismatch(
    comparison: Comparison,
    table: TwoByTwo,
    counts: Counts,
    *,
    min_coverage: float,
    trusted: bool,
    effect: Effect,
) -> Verdict:
    """The verdict by mismatching keys: do they belong to the trials that failed?

    `counts` are all trials of the run and `table` sets them against the keys; `min_coverage` is
    the share of keys (0 to 1) that must have been compared, and of failing trials that must have
    been looked into before anything is refuted; `trusted` says that a detector run of this very
    comparison was seen right.
    """
    verdict = (
        ineffective(effect)
        or _coverage_fault(comparison, min_coverage)
        or _no_failure(counts)
        or _untrusted(comparison, trusted)
    )
    if verdict is None:
        verdict = _associated(comparison, table, counts, min_coverage)
        if effect is Effect.UNPROVEN:
            verdict = unproven(verdict)
    return replace(verdict, numbers=_mismatch_numbers(comparison, table, counts))


def judge_detector(comparison: Comparison, effect: Effect) -> Verdict:
    """Whether the detector saw exactly the keys that were known to be bad."""
    verdict = ineffective(effect)
    if verdict is None:
        verdict = _seen(comparison)
        if effect is Effect.UNPROVEN and verdict.word is not Word.INVALID:
            verdict = unproven(verdict)
    numbers = {**_key_numbers(comparison), "known_bad": len(comparison.known_bad)}
    return replace(verdict, numbers=numbers)


def _coverage_fault(comparison: Comparison, min_coverage: float) -> Verdict | None:
    if not comparison.coverage_known or comparison.lost:
        lost = f"log lines lost: {comparison.lost}" if comparison.lost else "log lines may be lost"
        return Verdict(
            Word.INCONCLUSIVE,
            Qualifier.COVERAGE_UNKNOWN,
            (f"{lost}, so nobody knows what was not compared",),
            still_needed="both logs in full, from the restart on",
        )
    if comparison.counts.joined and comparison.coverage >= min_coverage:
        return None
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.COVERAGE_TOO_LOW,
        (_coverage_reason(comparison, min_coverage),),
        still_needed="logs in which each key stands once on both sides",
    )


def _coverage_reason(comparison: Comparison, min_coverage: float) -> str:
    counts = comparison.counts
    if not counts.total:
        return "no key was found in either log"
    return (
        f"{counts.joined} of {counts.total} keys could be compared and"
        f" {share_text(min_coverage)} are required: {counts.left_only} only on the left,"
        f" {counts.right_only} only on the right, {counts.duplicate} twice"
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


def _untrusted(comparison: Comparison, trusted: bool) -> Verdict | None:
    """What forbids to believe the comparison: no control of it, or it cries at everything."""
    if not trusted:
        return untrusted_yet()
    if comparison.counts.matched:
        return None
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.ALL_MISMATCH,
        (f"all {comparison.counts.joined} keys mismatch: the comparison itself is suspect",),
        still_needed="a comparison under which some keys match",
    )


def untrusted_yet() -> Verdict:
    """The verdict where no detector run has vouched for the comparison."""
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.UNTRUSTED_YET,
        ("no detector run has shown that this comparison sees known-bad keys and no others",),
        still_needed="run a detector playbook with known-bad rooms, same patch and comparison",
    )


def _associated(
    comparison: Comparison, table: TwoByTwo, counts: Counts, min_coverage: float
) -> Verdict:
    """Set against the failures: supported, refuted, or what is still needed."""
    failing = table.fail_mismatch + table.fail_match
    if failing == 0 or (not comparison.counts.mismatched and failing < min_coverage * counts.fail):
        return _failures_uncovered(failing, counts)
    if not comparison.counts.mismatched:
        return _no_mismatch(failing, counts)
    passing = table.pass_mismatch + table.pass_match
    four = table.fail_mismatch, failing, table.pass_mismatch, passing
    shares = (
        f"mismatch in {table.fail_mismatch} of {failing} failing trials,"
        f" {table.pass_mismatch} of {passing} passing ({p_text(fisher(*four))})"
    )
    if table.fail_mismatch * passing > table.pass_mismatch * failing and fisher(*four) < 0.05:
        return Verdict(Word.SUPPORTED, "", (shares, *_unexplained(table)))
    return Verdict(
        Word.INCONCLUSIVE,
        "",
        (shares, *_strays(comparison, table)),
        still_needed=_more_of_both(four),
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
    failing = table.fail_mismatch + table.fail_match
    return (
        f"{table.fail_match} of {failing} failed without a mismatch: it is not the whole cause",
    )


def _strays(comparison: Comparison, table: TwoByTwo) -> tuple[str, ...]:
    if table.fail_mismatch or table.pass_mismatch:
        return ()
    named = _named(comparison.mismatched, comparison.unnamed.mismatched)
    return (f"keys that mismatched without belonging to a trial: {named}",)


def _more_of_both(four: tuple[int, int, int, int]) -> str:
    fail_mismatch, failing, pass_mismatch, passing = four
    if passing == 0:
        return "passing trials with keys, to set against the failing ones"
    each = trials_to_settle(*four)
    if each is None or fail_mismatch * passing < pass_mismatch * failing:
        return "more failing trials with keys, from more restarts"
    return (
        f"about {each} failing and {each} passing trials would settle it four times in five"
        " if these shares are true"
    )


def _seen(comparison: Comparison) -> Verdict:
    faults = tuple(_detector_faults(comparison))
    if faults:
        return Verdict(
            Word.INVALID,
            Qualifier.NOT_TRUSTED,
            faults,
            still_needed="a detector run in which exactly the known-bad keys mismatch",
        )
    return Verdict(
        Word.SUPPORTED,
        Qualifier.SEEN_RIGHT,
        (
            f"exactly the known-bad keys mismatched ({len(comparison.known_bad)})"
            f" and the others matched ({comparison.counts.matched})",
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


def _key_numbers(comparison: Comparison) -> dict[str, float | int | str]:
    counts = comparison.counts
    return {
        "matched": counts.matched,
        "mismatched": counts.mismatched,
        "left_only": counts.left_only,
        "right_only": counts.right_only,
        "duplicate": counts.duplicate,
        "lost": comparison.lost,
        "coverage": comparison.coverage,
    }


def _mismatch_numbers(
    comparison: Comparison, table: TwoByTwo, counts: Counts
) -> dict[str, float | int | str]:
    failing = table.fail_mismatch + table.fail_match
    passing = table.pass_mismatch + table.pass_match
    return {
        "fail": counts.fail,
        "n": counts.n,
        "censored": counts.censored,
        **_key_numbers(comparison),
        "fail_mismatch": table.fail_mismatch,
        "fail_match": table.fail_match,
        "pass_mismatch": table.pass_mismatch,
        "pass_match": table.pass_match,
        "uncovered": table.uncovered,
        "fisher_p": fisher(table.fail_mismatch, failing, table.pass_mismatch, passing),
    }
