"""Verdicts by time to failure."""

import pytest

from hypotheses.by_time import judge_time
from hypotheses.observation import Counts, Observation
from hypotheses.tally import Tally, tally
from hypotheses.verdict import Effect, Expect, Qualifier, Verdict, Word


def soak(failures: int, minutes: float, restart: str = "1", **fields: object) -> Observation:
    counts = Counts(failures, 0 if failures else 1)
    return Observation(counts, restart, exposure=60 * minutes, unit="seconds", **fields)  # type: ignore[arg-type]


FAILING = [soak(1, minutes, str(at)) for at, minutes in enumerate((1, 2, 3, 2, 2))]
CLEAN = [soak(0, 10, f"fix-{at}") for at in range(3)]


def judged(treatment, control=FAILING, expect=Expect.DROP, effect=Effect.EFFECTIVE) -> Verdict:
    return judge_time(treatment, control, expect=expect, effect=effect, against="baseline")


def test_three_clean_soaks_against_five_that_failed_lead() -> None:
    verdict = judged(CLEAN)
    assert (verdict.word, verdict.qualifier) == (Word.INCONCLUSIVE, Qualifier.LEADING)
    assert verdict.reasons[:2] == (
        "treatment 0 in 30 min, at most one in 8.13 min;"
        " baseline 5 in 10 min, one in 2 min (51.4 s to 6.16 min)",
        "rate ratio at most 0.364, p = .00098",
    )
    assert "restarts: 3 against 5" in verdict.reasons[2]
    assert (verdict.numbers["exposure"], verdict.numbers["control_fail"]) == (1800, 5)


def test_too_short_a_soak_says_how_long_it_takes() -> None:
    verdict = judged(CLEAN[:1])
    assert verdict.qualifier == ""
    assert verdict.still_needed.startswith("10.9 min in all")
    assert "min in all without a failure would be separated" in verdict.still_needed
    both = judged([soak(2, 10)])
    assert "min a side would settle it four times in five" in both.still_needed


def test_what_was_cut_short_counts_as_far_as_it_ran() -> None:
    cut = Observation(Counts(censored=1), "4", exposure=1800.0, unit="seconds")
    assert judged([cut]).qualifier == Qualifier.LEADING


@pytest.mark.parametrize(
    ("treatment", "control", "expect", "qualifier"),
    [
        (FAILING, CLEAN, Expect.RISE, Qualifier.LEADING),
        (FAILING, [*CLEAN, soak(1, 100)], Expect.DROP, Qualifier.WORSE),
        (CLEAN, FAILING, Expect.RISE, Qualifier.LOWER),
        (CLEAN, FAILING, Expect.SAME, Qualifier.DIFFERS),
        (CLEAN, [], Expect.DROP, Qualifier.NO_CONTROL),
        (CLEAN, CLEAN, Expect.DROP, Qualifier.REPRODUCE_FIRST),
        ([Observation(Counts(0, 1), "1")], FAILING, Expect.DROP, Qualifier.NO_TRIALS),
        ([soak(0, 30, conditions={"load": "6"})], FAILING, Expect.DROP, Qualifier.NOT_COMPARABLE),
    ],
)
def test_directions_and_refusals(treatment, control, expect, qualifier) -> None:
    assert judged(treatment, control, expect).qualifier == qualifier


def test_an_effect_that_is_not_proven_beats_any_time() -> None:
    assert judged(CLEAN, effect=Effect.NOT_EFFECTIVE).word is Word.INVALID
    assert judged(CLEAN, effect=Effect.UNPROVEN).qualifier == Qualifier.EFFECT_UNPROVEN


def test_observations_add_up_only_in_one_unit() -> None:
    assert tally(FAILING).rate == "5 in 10 min, one in 2 min (51.4 s to 6.16 min)"
    assert tally([*CLEAN, Observation(Counts(0, 1), "9")]).exposure is None
    assert str(Tally(Counts(1), ("stopped at the first failure",))) == (
        "1/1, stopped at the first failure"
    )
    assert str(tally([])) == "no trials"
