"""Verdicts by failure rates: what counts may say, and what they may not."""

import re
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.by_rate import differences, judge_rate
from hypotheses.observation import Counts, Observation
from hypotheses.verdict import Effect, Expect, Verdict, Word

steady = settings(deadline=None, derandomize=True, max_examples=150)
counts = st.builds(Counts, st.integers(0, 60), st.integers(0, 60), st.integers(0, 20))
nothing_claimed = re.compile(r"(?<![\d.])0+(\.0+)?%")
strength = {"": 0, "leading": 1}


def seen(
    fail: int, n: int, *, censored: int = 0, restart: str = "r", **conditions: str
) -> Observation:
    return Observation(Counts(fail, n - fail, censored), restart, conditions=conditions)


def judged(
    treatment: tuple[int, int] | list[Observation],
    control: tuple[int, int] | list[Observation],
    expect: Expect = Expect.DROP,
    effect: Effect = Effect.EFFECTIVE,
) -> Verdict:
    left = treatment if isinstance(treatment, list) else [seen(*treatment, restart="t")]
    right = control if isinstance(control, list) else [seen(*control, restart="c")]
    return judge_rate(left, right, expect=expect, effect=effect, against="baseline")


def all_text(verdict: Verdict) -> str:
    return "\n".join((str(verdict), *verdict.reasons, verdict.still_needed))


def test_three_of_forty_against_seven_is_inconclusive_and_says_what_would_settle_it() -> None:
    verdict = judged((3, 40), (7, 40))
    assert (verdict.word, verdict.qualifier) == (Word.INCONCLUSIVE, "")
    assert verdict.reasons == (
        "treatment 3/40, 7.5% (2.6-19.9%); baseline 7/40, 17.5% (8.7-31.9%)",
        "difference -10.0 points (-25.3 to +5.1), Fisher p = .31",
    )
    assert verdict.still_needed == (
        "about 165 trials an arm would settle it four times in five if these rates are true;"
        " more restarts tell more than more trials"
    )


def test_no_failures_in_forty_is_leading_and_gives_the_bound() -> None:
    verdict = judged((0, 40), (7, 40))
    assert str(verdict) == "inconclusive, leading"
    assert "0/40, at most 8.8%" in verdict.reasons[0]
    assert "one restart a side: restarts share their luck" in verdict.reasons[-1]
    assert "fresh restarts" in verdict.still_needed


def test_many_restarts_are_leading_still_and_are_counted() -> None:
    treatment = [seen(0, 40, restart=f"t{i}") for i in range(3)]
    verdict = judged(treatment, [seen(20, 40, restart="c")])
    assert str(verdict) == "inconclusive, leading"
    assert "restarts: 3 against 1" in verdict.reasons[-1]
    assert (verdict.numbers["restarts"], verdict.numbers["control_restarts"]) == (3, 1)


def test_the_seed_case_of_topk_is_not_ruled_out() -> None:
    verdict = judged((9, 40), (7, 40))
    assert (verdict.word, verdict.qualifier) == (Word.INCONCLUSIVE, "")
    assert "p = .78" in verdict.reasons[1]


@pytest.mark.parametrize(
    ("expect", "treatment", "control", "qualifier"),
    [
        (Expect.DROP, (20, 40), (7, 40), "worse, or a new failure"),
        (Expect.RISE, (20, 40), (7, 40), "leading"),
        (Expect.RISE, (9, 40), (0, 40), "leading"),
        (Expect.RISE, (0, 40), (7, 40), "lower, not higher"),
        (Expect.SAME, (0, 40), (7, 40), "differs"),
        (Expect.SAME, (3, 40), (7, 40), ""),
    ],
)
def test_direction(
    expect: Expect, treatment: tuple[int, int], control: tuple[int, int], qualifier: str
) -> None:
    verdict = judged(treatment, control, expect)
    assert (verdict.word, verdict.qualifier) == (Word.INCONCLUSIVE, qualifier)


def test_same_gives_the_room_that_is_left() -> None:
    verdict = judged((3, 40), (7, 40), Expect.SAME)
    assert "-25.3 to +5.1" in verdict.reasons[1]
    assert "may still differ by up to 25.3 points" in verdict.still_needed


def test_equal_rates_ask_for_no_number_of_trials() -> None:
    needed = judged((7, 40), (7, 40)).still_needed
    assert "trials an arm" not in needed
    assert "may still differ by up to" in needed


def test_an_ineffective_change_is_invalid_before_all_else() -> None:
    verdict = judge_rate(
        [], [], expect=Expect.DROP, effect=Effect.NOT_EFFECTIVE, against="baseline"
    )
    assert str(verdict) == "invalid, not effective"
    assert str(judged((0, 40), (7, 40), effect=Effect.NOT_EFFECTIVE)) == "invalid, not effective"


def test_unproven_effect_is_no_more_than_inconclusive() -> None:
    verdict = judged((0, 40), (7, 40), effect=Effect.UNPROVEN)
    assert str(verdict) == "inconclusive, effect unproven"
    assert "not every process" in verdict.reasons[0]
    assert verdict.still_needed.startswith("proof that every process runs the change; then")


def test_without_a_control_there_is_nothing_to_compare() -> None:
    verdict = judged((3, 40), [])
    assert str(verdict) == "inconclusive, nothing to compare with"
    assert verdict.still_needed == "trials of baseline under the same conditions"


@pytest.mark.parametrize(
    ("treatment", "control", "empty"),
    [((0, 0), (7, 40), "the treatment"), ((3, 40), (0, 0), "baseline")],
)
def test_no_trials(treatment: tuple[int, int], control: tuple[int, int], empty: str) -> None:
    verdict = judged(treatment, control)
    assert str(verdict) == "inconclusive, no trials"
    assert empty in verdict.reasons[0]


def test_a_control_without_failures_is_refused() -> None:
    verdict = judged((0, 40), (0, 40))
    assert str(verdict) == "inconclusive, reproduce first"
    assert "baseline 0/40, at most 8.8%" in verdict.reasons[0]
    assert "33 clean trials" in verdict.still_needed


def test_each_difference_of_the_arms_is_named() -> None:
    treatment = [seen(0, 40, concurrency="60", host="a", uptime="5s")]
    control = [seen(7, 40, concurrency="40", host="a", version="2")]
    verdict = judged(treatment, control)
    assert str(verdict) == "invalid, arms not comparable"
    assert verdict.reasons == (
        "concurrency 60 against 40",
        "uptime 5s against not recorded",
        "version not recorded against 2",
    )
    assert verdict.numbers["control_fail"] == 7


def test_accepted_differences_do_not_count() -> None:
    verdict = judge_rate(
        [seen(0, 40, concurrency="60")],
        [seen(7, 40, concurrency="40")],
        expect=Expect.DROP,
        effect=Effect.EFFECTIVE,
        against="baseline",
        accepted=frozenset({"concurrency"}),
    )
    assert str(verdict) == "inconclusive, leading"


def test_one_odd_observation_among_many_is_found() -> None:
    control = [seen(1, 10, restart=str(i), concurrency="40") for i in range(50)]
    control.append(seen(1, 10, restart="odd", concurrency="60"))
    verdict = judged([seen(0, 10, concurrency="40")], control)
    assert verdict.reasons == ("concurrency 40 against 60",)


def test_many_censored_trials_are_said() -> None:
    verdict = judged([seen(3, 30, censored=10)], [seen(7, 40, censored=10)])
    assert verdict.reasons[-1] == ("10 of 40 trials of the treatment were cut short: more than 20%")
    assert verdict.numbers["control_censored"] == 10


def test_numbers() -> None:
    numbers = judged((3, 40), (7, 40)).numbers
    assert numbers["fail"] == 3
    assert numbers["n"] == 40
    assert numbers["control_fail"] == 7
    assert numbers["control_n"] == 40
    assert numbers["rate_low"] == pytest.approx(0.026, abs=0.001)
    assert numbers["control_rate_high"] == pytest.approx(0.320, abs=0.001)
    assert numbers["difference_low"] == pytest.approx(-0.253, abs=0.001)
    assert numbers["difference_high"] == pytest.approx(0.051, abs=0.001)
    assert numbers["fisher_p"] == pytest.approx(0.311, abs=0.001)


@pytest.mark.parametrize(
    ("left", "right", "named"),
    [
        ({}, {}, ()),
        ({"a": "1"}, {"a": "1"}, ()),
        ({"b": "1", "a": "2"}, {"a": "3", "b": "4"}, ("a 2 against 3", "b 1 against 4")),
    ],
)
def test_differences(
    left: Mapping[str, str], right: Mapping[str, str], named: tuple[str, ...]
) -> None:
    assert differences(left, right) == named


@steady
@given(counts, counts, st.sampled_from(Expect))
def test_an_ineffective_change_beats_any_count(
    treatment: Counts, control: Counts, expect: Expect
) -> None:
    verdict = judged(
        [Observation(treatment, "t")], [Observation(control, "c")], expect, Effect.NOT_EFFECTIVE
    )
    assert str(verdict) == "invalid, not effective"


@steady
@given(st.lists(counts, max_size=4), st.lists(counts, max_size=4), st.sampled_from(Expect))
def test_rates_alone_never_support_or_refute(
    treatment: list[Counts], control: list[Counts], expect: Expect
) -> None:
    verdict = judged(
        [Observation(one, f"t{i}") for i, one in enumerate(treatment)],
        [Observation(one, f"c{i}") for i, one in enumerate(control)],
        expect,
    )
    assert verdict.word is Word.INCONCLUSIVE
    assert verdict.still_needed


@steady
@given(counts, counts, st.sampled_from(Expect), st.sampled_from(Effect))
def test_no_text_reads_no_failures_as_none(
    treatment: Counts, control: Counts, expect: Expect, effect: Effect
) -> None:
    text = all_text(
        judged([Observation(treatment, "t")], [Observation(control, "c")], expect, effect)
    )
    assert not nothing_claimed.search(text)
    assert "fixed" not in text


@steady
@given(st.lists(counts, min_size=2, max_size=4), counts)
def test_the_same_counts_from_fewer_restarts_are_never_stronger(
    treatment: list[Counts], control: Counts
) -> None:
    spread = judged(
        [Observation(one, str(i)) for i, one in enumerate(treatment)], [Observation(control, "c")]
    )
    together = judged([Observation(one, "t") for one in treatment], [Observation(control, "c")])
    assert strength.get(together.qualifier, 0) <= strength.get(spread.qualifier, 0)


@steady
@given(st.integers(0, 40), st.integers(1, 40), st.integers(0, 3))
def test_dropping_a_clean_restart_of_the_treatment_is_never_stronger(
    fail: int, control_fail: int, clean: int
) -> None:
    def strength_with(restarts: int) -> int:
        treatment = [seen(fail, 40)] + [seen(0, 40, restart=str(i)) for i in range(restarts)]
        verdict = judged(treatment, [seen(control_fail, 40, restart="c")])
        return strength.get(verdict.qualifier, 0)

    assert strength_with(clean) <= strength_with(clean + 1)
