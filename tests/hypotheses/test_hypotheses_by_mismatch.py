"""Verdicts by mismatching keys, and verdicts on the detector that finds them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from hypotheses.by_mismatch import judge_detector, judge_mismatch
from hypotheses.comparison import BootCompared, Comparison, TwoByTwo, associate
from hypotheses.observation import Counts, Observation, Result, Trial, count, pooled
from hypotheses.verdict import Effect, Verdict, Word

steady = settings(deadline=None, derandomize=True, max_examples=150)
small = st.integers(0, 30)
tables = st.builds(TwoByTwo, small, small, small, small)


def keys(prefix: str, number: int) -> frozenset[str]:
    return frozenset(f"{prefix}{i}" for i in range(number))


def joined(bad: int, good: int, only_left: int = 0) -> Comparison:
    return Comparison(
        matched=keys("g", good), mismatched=keys("b", bad), left_only=keys("l", only_left)
    )


def judged(
    comparison: Comparison,
    table: TwoByTwo,
    *,
    counts: Counts | None = None,
    trusted: bool = True,
    effect: Effect = Effect.EFFECTIVE,
) -> Verdict:
    covered = Counts(table.fail_mismatch + table.fail_match, table.pass_mismatch + table.pass_match)
    return judge_mismatch(
        [BootCompared(comparison, table, counts or covered)],
        min_coverage=0.95,
        trusted=trusted,
        effect=effect,
    )


def test_supported_gives_both_shares() -> None:
    verdict = judged(joined(13, 47), TwoByTwo(12, 1, 1, 46))
    assert str(verdict) == "supported"
    assert verdict.reasons[0].startswith("mismatch in 12 of 13 failing trials, 1 of 47 passing (p")
    assert verdict.reasons[1] == "1 of 13 failed without a mismatch: it is not the whole cause"


def test_all_failing_and_no_passing_trial() -> None:
    verdict = judged(joined(3, 37), TwoByTwo(3, 0, 0, 37))
    assert str(verdict) == "supported"
    assert verdict.reasons == ("mismatch in 3 of 3 failing trials, 0 of 37 passing (p = .0001)",)
    assert verdict.still_needed == ""


def test_refuted_keeps_the_bound() -> None:
    verdict = judged(joined(0, 60), TwoByTwo(0, 13, 0, 47))
    assert str(verdict) == "refuted"
    assert "13 failing trials" in verdict.reasons[0]
    assert "at most 22.8%" in verdict.reasons[0]


def test_two_failing_trials_are_too_few_to_refute() -> None:
    verdict = judged(joined(0, 40), TwoByTwo(0, 2, 0, 38))
    assert (verdict.word, verdict.qualifier) == (Word.INCONCLUSIVE, "")
    assert "3 failing trials: 124 trials" in verdict.still_needed


def test_failing_trials_that_nobody_looked_into_refute_nothing() -> None:
    table = TwoByTwo(0, 3, 0, 40, uncovered=10)
    verdict = judged(joined(0, 60), table, counts=Counts(13, 40))
    assert str(verdict) == "inconclusive, coverage too low"
    assert verdict.reasons == ("3 of 13 failing trials have a key that could be compared",)


def test_no_failing_trial_is_masked_and_says_what_to_plan() -> None:
    verdict = judged(joined(0, 60), TwoByTwo(0, 0, 0, 40))
    assert str(verdict) == "inconclusive, masked"
    assert "0/40, at most 8.8%" in verdict.reasons[0]
    assert verdict.still_needed == (
        "3 failing trials: 70 trials bring them 19 times in 20 if 8.8% fail"
    )


def test_no_trials_at_all() -> None:
    verdict = judged(joined(0, 60), TwoByTwo(), counts=Counts(censored=40))
    assert str(verdict) == "inconclusive, no trials"


@pytest.mark.parametrize(
    ("comparison", "qualifier", "reason"),
    [
        (replace(joined(3, 37), lost=4), "coverage unknown", "log lines lost: 4"),
        (replace(joined(3, 37), coverage_known=False), "coverage unknown", "may be lost"),
        (joined(0, 37, only_left=3), "coverage too low", "37 of 40 keys"),
        (Comparison(), "coverage too low", "no key was found"),
        (Comparison(left_only=keys("l", 5)), "coverage too low", "5 only on the left"),
    ],
)
def test_poor_coverage(comparison: Comparison, qualifier: str, reason: str) -> None:
    verdict = judged(comparison, TwoByTwo(0, 13, 0, 27))
    assert (verdict.word, verdict.qualifier) == (Word.INCONCLUSIVE, qualifier)
    assert reason in verdict.reasons[0]
    assert verdict.still_needed


def in_boots(*tables: TwoByTwo) -> Verdict:
    """The verdict over boots with these tables, in which some keys mismatched and some did not."""
    boots = [BootCompared(joined(9, 9), one, Counts(one.failing, one.passing)) for one in tables]
    return judge_mismatch(boots, min_coverage=0.95, trusted=True, effect=Effect.EFFECTIVE)


def test_boots_that_settle_nothing_alone_settle_it_together() -> None:
    one = TwoByTwo(1, 0, 0, 4)
    assert str(in_boots(one)) == "inconclusive"
    verdict = in_boots(one, one, one)
    assert str(verdict) == "supported"
    assert verdict.reasons == (
        "mismatch in 3 of 3 failing trials, 0 of 12 passing (p = .008 within 3 restarts)",
    )
    assert (verdict.numbers["n"], verdict.numbers["fisher_p"]) == (15, pytest.approx(1 / 125))


def test_restarts_that_differ_in_both_rates_associate_nothing() -> None:
    """Pooled, mismatches seem to go with failures: 17 of 22 failing trials, 5 of 18 passing."""
    much, little = TwoByTwo(16, 1, 3, 0), TwoByTwo(1, 4, 2, 13)
    assert str(in_boots(much + little)) == "supported"
    verdict = in_boots(much, little)
    assert str(verdict) == "inconclusive"
    assert "(p = 1 within 2 restarts)" in verdict.reasons[0]


def test_lost_lines_of_any_boot_leave_its_coverage_unknown() -> None:
    whole = BootCompared(joined(0, 20), TwoByTwo(0, 5, 0, 15), Counts(5, 15))
    rules = {"min_coverage": 0.95, "trusted": True, "effect": Effect.EFFECTIVE}
    assert str(judge_mismatch([whole, whole], **rules)) == "refuted"  # type: ignore[arg-type]
    lossy = replace(whole, comparison=replace(whole.comparison, lost=1))
    verdict = judge_mismatch([whole, lossy], **rules)  # type: ignore[arg-type]
    assert str(verdict) == "inconclusive, coverage unknown"
    assert str(judge_mismatch([], **rules)) == "inconclusive, coverage unknown"  # type: ignore[arg-type]


def test_an_untrusted_detector_settles_nothing() -> None:
    verdict = judged(joined(3, 37), TwoByTwo(3, 0, 0, 37), trusted=False)
    assert str(verdict) == "inconclusive, detector not yet trusted"
    assert verdict.still_needed == (
        "run a detector playbook with known-bad keys, same patch and comparison"
    )


def test_every_key_mismatching_is_suspect() -> None:
    verdict = judged(joined(40, 0), TwoByTwo(13, 0, 27, 0))
    assert str(verdict) == "inconclusive, every key mismatches"


@pytest.mark.parametrize(
    ("table", "needed"),
    [
        (TwoByTwo(2, 4, 4, 30), "failing and"),
        (TwoByTwo(3, 3, 0, 0), "passing trials with keys"),
        (TwoByTwo(1, 9, 25, 5), "more failing trials"),
        (TwoByTwo(5, 5, 10, 10), "more failing trials"),
    ],
)
def test_mismatches_that_do_not_go_with_failures(table: TwoByTwo, needed: str) -> None:
    verdict = judged(joined(10, 90), table)
    assert (verdict.word, verdict.qualifier) == (Word.INCONCLUSIVE, "")
    assert needed in verdict.still_needed


def test_mismatching_keys_of_no_trial_are_named() -> None:
    verdict = judged(joined(2, 60), TwoByTwo(0, 13, 0, 47))
    assert verdict.word is Word.INCONCLUSIVE
    assert verdict.reasons[1] == "keys that mismatched without belonging to a trial: b0, b1"


def test_numbers() -> None:
    numbers = judged(joined(13, 47, only_left=1), TwoByTwo(12, 1, 1, 46)).numbers
    assert numbers["fail_mismatch"] == 12
    assert numbers["matched"] == 47
    assert numbers["left_only"] == 1
    assert numbers["coverage"] == pytest.approx(60 / 61)
    assert numbers["n"] == 60


@steady
@given(tables, small, small)
def test_an_ineffective_change_beats_any_table(table: TwoByTwo, bad: int, good: int) -> None:
    verdict = judged(joined(bad, good), table, effect=Effect.NOT_EFFECTIVE)
    assert str(verdict) == "invalid, not effective"


@steady
@given(tables, small, small)
def test_without_trust_or_proof_nothing_is_settled(table: TwoByTwo, bad: int, good: int) -> None:
    comparison = joined(bad, good)
    assert judged(comparison, table, trusted=False).word is Word.INCONCLUSIVE
    assert judged(comparison, table, effect=Effect.UNPROVEN).word is Word.INCONCLUSIVE


@steady
@given(tables, small, small)
def test_refuted_only_without_mismatch_and_over_failures(
    table: TwoByTwo, bad: int, good: int
) -> None:
    verdict = judged(joined(bad, good), table)
    if verdict.word is Word.REFUTED:
        assert bad == 0
        assert table.fail_mismatch + table.fail_match >= 3
    if verdict.word is Word.SUPPORTED:
        assert bad > 0
        assert good > 0
        assert table.fail_mismatch > 0
    assert verdict.reasons


def test_unproven_effect_of_a_supported_mismatch() -> None:
    verdict = judged(joined(13, 47), TwoByTwo(12, 1, 1, 46), effect=Effect.UNPROVEN)
    assert str(verdict) == "inconclusive, effect unproven"
    assert verdict.still_needed == "proof that every process runs the change"


def detector(**parts: object) -> Comparison:
    whole = Comparison(
        matched=keys("g", 10), mismatched=keys("b", 2), known_bad=keys("b", 2), detector="d"
    )
    return replace(whole, **parts)  # type: ignore[arg-type]


def test_a_detector_seen_right() -> None:
    verdict = judge_detector([detector()], Effect.EFFECTIVE)
    assert str(verdict) == "supported, detector seen right"
    assert verdict.reasons == (
        "exactly the known-bad keys mismatched (2) and the others matched (10)",
    )
    assert verdict.numbers["known_bad"] == 2


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ({"mismatched": keys("b", 1)}, "known bad, but not seen: b1"),
        ({"mismatched": keys("b", 2) | {"x"}}, "seen as bad, but not known to be: x"),
        (
            {"mismatched": keys("b", 1), "right_only": frozenset({"b1"})},
            "known bad, but not once on both sides: b1",
        ),
        ({"known_bad": frozenset()}, "no key was known to be bad"),
        ({"matched": frozenset()}, "no key matched"),
        ({"coverage_known": False}, "log lines may be missing"),
        ({"lost": 1}, "log lines may be missing"),
    ],
)
def test_a_detector_that_is_not_trusted(parts: dict[str, object], reason: str) -> None:
    verdict = judge_detector([detector(), detector(**parts)], Effect.EFFECTIVE)
    assert str(verdict) == "invalid, detector not trusted"
    assert any(one.startswith(reason) for one in verdict.reasons)


def test_only_the_first_keys_are_named_in_the_order_of_their_numbers() -> None:
    rooms = frozenset(str(i) for i in range(2, 14))
    verdict = judge_detector([detector(known_bad=rooms | keys("b", 2))], Effect.EFFECTIVE)
    assert verdict.reasons == ("known bad, but not seen: 2, 3, 4, 5, 6 and 7 more",)


def test_the_effect_of_a_detector_run() -> None:
    assert str(judge_detector([detector()], Effect.NOT_EFFECTIVE)) == "invalid, not effective"
    assert str(judge_detector([detector()], Effect.UNPROVEN)) == "inconclusive, effect unproven"
    wrong = detector(mismatched=frozenset())
    assert judge_detector([wrong], Effect.UNPROVEN).word is Word.INVALID


def test_trials_are_set_against_their_keys() -> None:
    comparison = Comparison(matched=frozenset({"1", "2", "3"}), mismatched=frozenset({"4"}))
    trials = [
        Trial("leak", Result.FAIL, keys=("1", "4")),
        Trial("leak", Result.FAIL, keys=("2",)),
        Trial("done", Result.PASS, keys=("3", "9")),
        Trial("done", Result.PASS, keys=("9",)),
        Trial("done", Result.PASS),
        Trial("cut", Result.CENSORED, keys=("4",)),
    ]
    assert associate(trials, comparison) == TwoByTwo(1, 1, 0, 1, uncovered=2)
    assert count(trials) == Counts(2, 3, 1)


def test_counts_add_up() -> None:
    both = [Observation(Counts(3, 37), "a"), Observation(Counts(7, 33, 2), "b")]
    assert pooled(both) == Counts(10, 70, 2)
    assert (pooled(both).n, pooled(both).total, str(pooled(both))) == (80, 82, "10/80")
    assert pooled([]) == Counts()


def test_coverage_is_the_share_of_keys_on_both_sides() -> None:
    comparison = replace(joined(1, 7), right_only=keys("r", 1), duplicate=keys("d", 1))
    counts = comparison.counts
    assert (counts.joined, counts.total, counts.coverage) == (8, 10, 0.8)
    assert Comparison().counts.coverage == 0
