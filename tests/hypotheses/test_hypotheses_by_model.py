"""Verdicts and standings by the posterior, rule by rule; ratios and outlooks behind them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.by_model import judge, record
from hypotheses.hypothesis import Standing
from hypotheses.model import Restart, posterior
from hypotheses.outlook import MOST, outlook
from hypotheses.ratio import rate_ratio
from hypotheses.standing import Evidence
from hypotheses.standing_by_model import propose_by_model
from hypotheses.verdict import Effect, Qualifier, Verdict, Word

CAUSES = ("topk", "mtp", "detokenizer", "transfer")
NONE = frozenset[str]()
steady = settings(deadline=None, derandomize=True, max_examples=20)


def boots(*some: str) -> list[Restart]:
    """Restarts written as "topk mtp 3/40" or "7/40", each of its own run."""
    restarts = []
    for at, text in enumerate(some):
        *toggles, counts = text.split()
        fail, n = map(int, counts.split("/"))
        restarts.append(Restart(frozenset(toggles), fail, n, run=f"run-{at}"))
    return restarts


def believe(*some: str):
    return posterior(CAUSES, None, boots(*some))


SHOWN = ("7/40", "transfer 0/40", "8/40", "transfer 0/40", "7/40")
CLEAN_TWICE = ("14/80", "transfer 0/60", "transfer 0/60", "transfer 0/60")
OTHERS = "mtp detokenizer"
PAIR = (
    *("14/80", "topk transfer 0/40", "topk 8/40", "transfer 8/40", "topk transfer 0/40", "9/40"),
    *(f"topk {OTHERS} 8/40", f"transfer {OTHERS} 8/40", "topk transfer 0/40", "8/40"),
)


def test_off_and_on_again_supports() -> None:
    verdict = judge(believe(*SHOWN), "transfer")
    assert str(verdict) == "supported"
    assert verdict.reasons[:3] == (
        f"{100 * believe(*SHOWN).alone('transfer'):.3g}% that transfer is the cause",
        "with only transfer off: 0/40, 0/40",
        "with it back: 8/40, 7/40",
    )
    assert verdict.numbers["alone"] > 0.99
    assert verdict.numbers["clean"] == verdict.numbers["returned"] == 2


def test_without_the_return_it_is_only_leading() -> None:
    belief = believe(*CLEAN_TWICE)
    assert belief.alone("transfer") > 0.99
    verdict = judge(belief, "transfer")
    assert str(verdict) == "inconclusive, leading"
    assert verdict.still_needed == "a restart with nothing off in which the failure returns"


def test_without_a_restart_of_its_own_it_is_only_leading() -> None:
    """All else was cleared: probable, but never shown by removing it."""
    belief = believe(
        *["14/80", "topk mtp detokenizer 8/40", "transfer topk 0/60"],
        *["transfer mtp detokenizer 0/60", "transfer topk 0/60", "transfer mtp detokenizer 0/60"],
    )
    assert belief.alone("transfer") > 0.95
    verdict = judge(belief, "transfer")
    assert str(verdict) == "inconclusive, leading"
    assert verdict.still_needed == (
        "a restart with only transfer off that comes out clean,"
        " then one with nothing off in which the failure returns"
    )


def test_a_clean_restart_alone_settles_nothing() -> None:
    verdict = judge(believe("7/40", "transfer 0/40"), "transfer", seconds_per_restart=75)
    assert verdict.word is Word.INCONCLUSIVE
    assert "more restarts alternately with nothing off and with only transfer off, 40 trials" in (
        verdict.still_needed
    )
    assert "min, would settle it four times in five" in verdict.still_needed


def test_failing_as_often_without_it_is_not_sufficient_alone_and_never_refuted_at_once() -> None:
    """9/40 against 7/40: it is not the cause by itself; a pair stays open."""
    verdict = judge(believe("7/40", "topk 9/40"), "topk")
    assert str(verdict) == "inconclusive, not sufficient alone"
    assert "failures although topk was off: 9/40" in verdict.reasons
    assert verdict.numbers["part"] > 0.01


def test_two_restarts_may_refute() -> None:
    belief = believe("14/80", "topk mtp 9/40", "topk mtp detokenizer 8/40", "topk mtp 9/40")
    verdict = judge(belief, "topk")
    assert belief.part("topk") > 0.01, "half of a pair may still be among the others"
    assert verdict.qualifier == Qualifier.NOT_SUFFICIENT
    sure = believe(*SHOWN)
    assert str(judge(sure, "topk")) == "refuted"
    assert "none or few although topk was on: 0/40, 0/40" in judge(sure, "topk").reasons


def test_one_restart_of_each_kind_refutes_nothing() -> None:
    belief = believe("15/60", "topk 14/60", "transfer 0/60", "16/60")
    assert belief.part("topk") < 0.01
    assert judge(belief, "topk").qualifier == Qualifier.NOT_SUFFICIENT
    assert stands("15/60", "topk 14/60", "transfer 0/60", cause="topk").standing is Standing.OPEN


def test_all_off_and_failing_is_none_of_the_listed() -> None:
    everything = " ".join(CAUSES)
    belief = believe("14/80", *[f"{everything} 9/40"] * 3)
    for cause in CAUSES:
        verdict = judge(belief, cause)
        assert str(verdict) == "refuted, none of the listed"
        assert "new hypotheses" in verdict.still_needed


def test_a_lower_rate_that_stays_is_partial() -> None:
    verdict = judge(believe(*["8/40", "topk 4/40"] * 8), "topk")
    assert str(verdict) == "supported, partial"
    assert "a mitigation, not the cause" in verdict.reasons[0]
    assert 0.25 < verdict.numbers["ratio_low"] < verdict.numbers["ratio_high"] < 1


def test_a_much_higher_rate_is_worse_or_new() -> None:
    verdict = judge(believe(*["4/40", "topk 24/40"] * 3), "topk")
    assert str(verdict) == "inconclusive, worse, or a new failure"


def test_a_baseline_that_does_not_fail_is_to_be_reproduced_first() -> None:
    verdict = judge(believe("0/40", "topk 0/40"), "topk")
    assert str(verdict) == "inconclusive, reproduce first"
    assert verdict.still_needed == "a failure with nothing switched off: try 59 trials"
    assert judge(believe("topk 3/40"), "topk").qualifier == Qualifier.REPRODUCE_FIRST


def test_either_of_two_is_supported_but_not_alone() -> None:
    belief = believe(*PAIR)
    assert belief.best[0] == {"topk", "transfer"}
    verdict = judge(belief, "topk")
    assert belief.best[1] > 0.99
    assert str(verdict) == "supported, not sufficient alone"
    assert "together with transfer, either of which keeps the failure" in verdict.reasons[0]
    assert judge(belief, "mtp").word is Word.REFUTED


def test_an_effect_that_was_not_there_or_not_proven_bounds_the_verdict() -> None:
    belief = believe(*SHOWN)
    assert judge(belief, "transfer", effect=Effect.NOT_EFFECTIVE).word is Word.INVALID
    unproven = judge(belief, "transfer", effect=Effect.UNPROVEN)
    assert str(unproven) == "inconclusive, effect unproven"
    assert unproven.numbers["alone"] > 0.99


def test_no_restarts_no_verdict() -> None:
    verdict = judge(posterior(CAUSES), "topk")
    assert str(verdict) == "inconclusive, reproduce first"
    with pytest.raises(ValueError, match="'sloth' is not one of the causes: topk, mtp"):
        judge(posterior(CAUSES), "sloth")


@pytest.mark.parametrize("dropped", range(len(SHOWN)))
def test_dropping_a_restart_never_strengthens(dropped) -> None:
    fewer = [one for at, one in enumerate(SHOWN) if at != dropped]
    assert judge(believe(*fewer), "transfer").word in {Word.SUPPORTED, Word.INCONCLUSIVE}
    if fewer.count("transfer 0/40") < 2:
        assert judge(believe(*fewer), "transfer").word is Word.INCONCLUSIVE


def test_a_return_before_the_removal_is_none() -> None:
    some = believe("7/40", "8/40", "7/40", *["transfer 0/40"] * 3)
    assert record(some, frozenset({"transfer"})).returned == ()
    assert judge(some, "transfer").word is Word.INCONCLUSIVE


def test_a_return_that_is_hardly_one_is_not_enough() -> None:
    """The baseline faded by itself: 0/80 and 2/40 are not apart, whatever is believed."""
    belief = believe("16/40", "7/40", "transfer 0/40", "2/40", "transfer 0/40", "transfer 0/40")
    assert not record(belief, frozenset({"transfer"})).shows
    assert judge(belief, "transfer").word is Word.INCONCLUSIVE


def test_a_baseline_that_moved_between_epochs_is_no_effect() -> None:
    moved = [
        *boots("16/40", "18/40", "16/40"),
        *(Restart(one.toggles, one.fail, one.n, epoch=1) for one in boots("1/40", "topk 1/40")),
    ]
    verdict = judge(posterior(CAUSES, None, moved), "topk")
    assert verdict.word is Word.INCONCLUSIVE
    assert verdict.numbers["ratio_high"] > 1


# -- standings ---------------------------------------------------------------------------------


def seen(run: str, word: Word = Word.SUPPORTED) -> Evidence:
    return Evidence(run, "checksum", "probe", Verdict(word))


def stands(*some: str, cause: str = "transfer", evidence: tuple[Evidence, ...] = ()):
    return propose_by_model(Standing.OPEN, believe(*some), cause, evidence)


def test_off_on_off_confirms() -> None:
    proposal = stands(*SHOWN)
    assert proposal.standing is Standing.CONFIRMED
    assert proposal.reason.endswith(
        "removed, the failure was gone, put back, it returned, removed again, it was gone again"
    )
    assert proposal.runs == tuple(f"run-{at}" for at in range(5))


def test_off_and_on_supports_and_its_mechanism_confirms() -> None:
    some = ("14/80", "transfer 0/60", "transfer 0/60", "16/80")
    assert stands(*some).standing is Standing.SUPPORTED
    confirmed = stands(*some, evidence=(seen("look"),))
    assert confirmed.standing is Standing.CONFIRMED
    assert confirmed.runs[0] == "look"
    assert "its mechanism was seen" in confirmed.reason


def test_few_clean_trials_do_not_show_it_gone_again() -> None:
    some = ("14/80", "transfer 0/60", "transfer 0/60", "16/80")
    assert stands(*some, "transfer 0/6").standing is Standing.SUPPORTED
    assert stands(*some, "transfer 0/6", "transfer 0/40").standing is Standing.CONFIRMED


@pytest.mark.parametrize(
    ("some", "cause", "evidence", "standing", "says"),
    [
        ((), "topk", (), Standing.OPEN, "did not fail"),
        (("7/40", "topk 9/40"), "topk", (), Standing.OPEN, "topk alone removes"),
        (CLEAN_TWICE, "transfer", (), Standing.LEADING, "that transfer is the cause"),
        (SHOWN, "topk", (), Standing.REFUTED, "topk is part of the cause"),
        (("8/40", "topk 4/40") * 8, "topk", (), Standing.SUPPORTED, "partial: a mitigation"),
        (("7/40",), "topk", (seen("look"),), Standing.SUPPORTED, "its mechanism was seen"),
        (("7/40",), "topk", (seen("look", Word.REFUTED),), Standing.REFUTED, "not found"),
        (SHOWN, "topk", (seen("look"),), Standing.OPEN, "restarts speak against it"),
        (SHOWN, "transfer", (seen("no", Word.REFUTED),), Standing.OPEN, "restarts speak for it"),
        (("7/40",), "topk", (seen("a"), seen("b", Word.REFUTED)), Standing.OPEN, "disagree"),
    ],
)
def test_standings(some, cause, evidence, standing, says) -> None:
    proposal = stands(*some, cause=cause, evidence=evidence)
    assert proposal.standing is standing
    assert says in proposal.reason


def test_a_detector_run_and_rates_are_not_counted_as_seeing_it() -> None:
    detector = Evidence("d", "known-bad", "detector", Verdict(Word.SUPPORTED))
    assert stands("7/40", evidence=(detector,)).standing is Standing.OPEN


def test_what_the_operator_decided_stays() -> None:
    belief = believe(*SHOWN)
    kept = propose_by_model(Standing.REFUTED, belief, "transfer", overruled=True)
    assert kept.standing is Standing.REFUTED
    left = propose_by_model(Standing.ABANDONED, belief, "transfer")
    assert left.standing is Standing.ABANDONED


# -- ratios and outlooks -----------------------------------------------------------------------


def test_a_ratio_is_wide_from_one_restart_a_side_and_narrows_with_more() -> None:
    one = rate_ratio(boots("topk 4/40"), boots("8/40"))
    six = rate_ratio(boots(*["topk 4/40"] * 6), boots(*["8/40"] * 6))
    assert one is not None
    assert six is not None
    assert one.low < 0.25
    assert one.high > 1
    assert 0.25 < six.low < 0.5 < six.high < 1
    assert str(six).startswith(f"{six.middle:.2f} times the baseline's rate (")
    assert rate_ratio([], boots("8/40")) is None
    assert rate_ratio(boots("0/0"), boots("8/40")) is None


@steady
@given(st.integers(0, 40), st.integers(0, 40))
def test_a_ratio_the_other_way_round_is_its_inverse(left, right) -> None:
    there = rate_ratio(boots(f"{left}/40"), boots(f"{right}/40"))
    back = rate_ratio(boots(f"{right}/40"), boots(f"{left}/40"))
    assert there is not None
    assert back is not None
    assert there.low * back.high == pytest.approx(1, rel=0.15)
    assert there.low <= there.middle <= there.high


def test_more_restarts_settle_more_and_always_the_same() -> None:
    belief = believe("7/40", "transfer 0/40", "8/40")
    ahead = outlook(belief, {"transfer"}, 40)
    assert ahead == outlook(belief, {"transfer"}, 40)
    assert len(ahead.chances) == MOST
    assert ahead.chances[-1] > 0.8 > ahead.chances[0]
    needed = ahead.restarts()
    assert needed is not None
    assert ahead.chances[needed - 1] >= 0.8 > ahead.chances[needed - 2]
    assert outlook(belief, {"transfer"}, 1).restarts(0.99) is None


def test_an_outlook_over_hundreds_of_thousands_of_trials() -> None:
    assert outlook(believe("7/40"), {"topk"}, 300_000).chances[-1] > 0.95


def test_an_outlook_needs_a_trial() -> None:
    with pytest.raises(ValueError, match="0 trials a restart"):
        outlook(believe("7/40"), {"topk"}, 0)
