"""The standing of a hypothesis from all its runs."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.by_rate import judge_rate
from hypotheses.hypothesis import Standing
from hypotheses.observation import Counts, Observation
from hypotheses.standing import Evidence, Proposal, propose
from hypotheses.verdict import Effect, Expect, Verdict, Word

steady = settings(deadline=None, derandomize=True, max_examples=300)


def by_mismatch(run: str, word: Word, playbook: str = "checksum", kind: str = "probe") -> Evidence:
    return Evidence(run, playbook, kind, Verdict(word))


def by_rate(
    run: str,
    fail: int,
    control: int,
    expect: Expect = Expect.DROP,
    *,
    playbook: str = "fix",
    against: str = "baseline",
) -> Evidence:
    """Of 40 trials a side."""
    verdict = judge_rate(
        [Observation(Counts(fail, 40 - fail), run)],
        [Observation(Counts(control, 40 - control), "c")],
        expect=expect,
        effect=Effect.EFFECTIVE,
        against=against,
    )
    return Evidence(run, playbook, "fix", verdict, expect, against)


SEEN = by_mismatch("r1", Word.SUPPORTED)
DENIED = by_mismatch("r2", Word.REFUTED, "checksum-again")
STOPPED = by_rate("r3", 0, 16)
LOWERED = by_rate("r4", 4, 20, playbook="narrower")
RETURNED = by_rate("r5", 15, 0, Expect.RISE, playbook="back", against="fix")
UNSETTLED = by_rate("r6", 3, 7, playbook="topk-off")
WORSE = by_rate("r7", 30, 7, playbook="mtp-off")
LEAKED = by_rate("r8", 5, 7)
DETECTOR = by_mismatch("r9", Word.SUPPORTED, "known-bad", kind="detector")
INVALID = by_mismatch("r10", Word.INVALID, "broken")


def proposed(*evidence: Evidence, current: Standing = Standing.OPEN) -> Proposal:
    return propose(current, evidence)


@pytest.mark.parametrize(
    ("evidence", "standing", "runs"),
    [
        ((), Standing.OPEN, ()),
        ((INVALID,), Standing.OPEN, ()),
        ((DETECTOR,), Standing.OPEN, ()),
        ((UNSETTLED,), Standing.OPEN, ()),
        ((STOPPED,), Standing.LEADING, ("r3",)),
        ((STOPPED, RETURNED), Standing.LEADING, ("r3", "r5")),
        ((SEEN,), Standing.SUPPORTED, ("r1",)),
        ((SEEN, STOPPED), Standing.SUPPORTED, ("r1", "r3")),
        ((SEEN, LOWERED), Standing.SUPPORTED, ("r1", "r4")),
        ((SEEN, STOPPED, RETURNED), Standing.CONFIRMED, ("r1", "r3", "r5")),
        ((DENIED,), Standing.REFUTED, ("r2",)),
        ((DENIED, UNSETTLED), Standing.REFUTED, ("r2",)),
        ((SEEN, DENIED), Standing.OPEN, ("r1", "r2")),
        ((STOPPED, DENIED), Standing.OPEN, ("r3", "r2")),
        ((WORSE,), Standing.OPEN, ("r7",)),
        ((STOPPED, WORSE), Standing.OPEN, ("r3", "r7")),
        ((SEEN, WORSE), Standing.SUPPORTED, ("r1", "r7")),
        ((SEEN, STOPPED, RETURNED, WORSE), Standing.SUPPORTED, ("r1", "r3", "r7")),
        ((SEEN, STOPPED, RETURNED, LEAKED), Standing.SUPPORTED, ("r1", "r3")),
        ((SEEN, STOPPED, RETURNED, INVALID, DETECTOR), Standing.CONFIRMED, ("r1", "r3", "r5")),
    ],
)
def test_standing(
    evidence: tuple[Evidence, ...], standing: Standing, runs: tuple[str, ...]
) -> None:
    proposal = proposed(*evidence)
    assert (proposal.standing, proposal.runs) == (standing, runs)


def test_the_way_to_confirmed_is_explained() -> None:
    assert "remove the cause to stop the failure" in proposed(SEEN).reason
    assert "put it back and see the failure return" in proposed(SEEN, STOPPED).reason
    assert "a mitigation so far" in proposed(SEEN, LOWERED).reason
    assert "mechanism has not been seen" in proposed(STOPPED, RETURNED).reason
    assert proposed(SEEN, STOPPED, RETURNED).reason == (
        "its mechanism was seen (checksum), removing the cause stopped the failure (fix),"
        " putting it back brought it back (back)"
    )


def test_a_disagreement_names_both_sides() -> None:
    reason = proposed(SEEN, DENIED).reason
    assert reason == "the runs disagree: checksum for it, checksum-again against it"


def test_a_rise_against_the_baseline_is_no_return() -> None:
    rise = by_rate("r5", 35, 7, Expect.RISE, playbook="back", against="baseline")
    assert proposed(SEEN, STOPPED, rise).standing is Standing.SUPPORTED


def test_a_rise_against_a_mere_mitigation_is_no_return() -> None:
    rise = by_rate("r5", 20, 4, Expect.RISE, playbook="back", against="narrower")
    assert proposed(SEEN, LOWERED, rise).standing is Standing.SUPPORTED


def test_a_verdict_without_its_count_is_no_proof_that_it_stopped() -> None:
    bare = Evidence("r3", "fix", "fix", Verdict(Word.INCONCLUSIVE, "leading"), Expect.DROP)
    assert proposed(SEEN, bare, RETURNED).standing is Standing.SUPPORTED


def test_the_same_evidence_again_changes_nothing() -> None:
    first = proposed(SEEN, STOPPED, RETURNED)
    again = proposed(SEEN, STOPPED, RETURNED, current=first.standing)
    assert again == first


def test_retracting_the_evidence_takes_the_standing_back() -> None:
    assert proposed(current=Standing.CONFIRMED).standing is Standing.OPEN


@pytest.mark.parametrize("standing", Standing)
def test_what_the_operator_decided_stays(standing: Standing) -> None:
    everything = (SEEN, STOPPED, RETURNED)
    proposal = propose(standing, everything, overruled=True)
    assert (proposal.standing, proposal.runs) == (standing, ())
    assert proposed(*everything, current=Standing.ABANDONED).standing is Standing.ABANDONED


order = [Standing.OPEN, Standing.LEADING, Standing.SUPPORTED, Standing.CONFIRMED]
favourable = st.lists(
    st.sampled_from([SEEN, STOPPED, LOWERED, RETURNED, DETECTOR, INVALID, UNSETTLED]),
    unique_by=lambda one: one.run,
)
anything = st.lists(
    st.sampled_from(
        [SEEN, DENIED, STOPPED, LOWERED, RETURNED, UNSETTLED, WORSE, LEAKED, DETECTOR, INVALID]
    ),
    unique_by=lambda one: one.run,
)


@steady
@given(favourable, st.integers(0, 10))
def test_dropping_a_run_in_favour_never_strengthens(
    evidence: Sequence[Evidence], index: int
) -> None:
    fewer = [one for position, one in enumerate(evidence) if position != index]
    whole, part = proposed(*evidence).standing, proposed(*fewer).standing
    assert order.index(part) <= order.index(whole)


@steady
@given(anything)
def test_detectors_and_invalid_runs_never_move_anything(evidence: Sequence[Evidence]) -> None:
    kept = [one for one in evidence if one not in (DETECTOR, INVALID)]
    assert proposed(*evidence) == proposed(*kept)


@steady
@given(anything)
def test_rates_alone_never_reach_further_than_leading(evidence: Sequence[Evidence]) -> None:
    rates = [one for one in evidence if one.expect is not None]
    assert proposed(*rates).standing in {Standing.OPEN, Standing.LEADING}


@steady
@given(anything.flatmap(lambda runs: st.tuples(st.just(runs), st.permutations(runs))))
def test_the_order_of_runs_does_not_matter(
    orders: tuple[Sequence[Evidence], Sequence[Evidence]],
) -> None:
    one, other = orders
    assert proposed(*one).standing is proposed(*other).standing
