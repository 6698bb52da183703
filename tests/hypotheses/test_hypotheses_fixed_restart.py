"""What a restart teaches that drives all its trials, held against the planner's own."""

import pytest
from msgspec.structs import replace

from hypotheses.assumptions import Settings
from hypotheses.fixed_restart import rank_fixed
from hypotheses.model import Restart, posterior
from hypotheses.planner import Candidate, rank

CAUSES = tuple("abcdef")
BASELINE = Restart(frozenset(), 14, 80)
SETS = [frozenset("a"), frozenset("abc"), frozenset("abcdef")]


def test_where_trials_are_free_the_planner_drives_them_all() -> None:
    belief = posterior(CAUSES, None, [BASELINE], Settings(max_trials=20))
    free = rank(belief, [Candidate(one, 100.0, 1e-9) for one in SETS], 1.0, 1.0)
    fixed = rank_fixed(belief, [Candidate(one, 100.0) for one in SETS], 20)
    assert [one.toggles for one in fixed] == [one.toggles for one in free]
    for ours, planned in zip(fixed, free, strict=True):
        assert ours.bits == pytest.approx(planned.bits, abs=0.01)
        assert ours.removes == pytest.approx(planned.removes)
        assert ours.if_gone == pytest.approx(planned.if_gone, abs=0.02)
        assert ours.worth == pytest.approx(planned.worth, rel=0.05)


def test_the_mean_of_both_ways_out_is_what_was_believed() -> None:
    belief = posterior(CAUSES, None, [BASELINE])
    for choice in rank_fixed(belief, [Candidate(one, 60.0) for one in SETS], 40):
        assert choice.if_there < choice.removes < choice.if_gone
        assert choice.removes == pytest.approx(belief.removed_by(choice.toggles))
        assert (choice.trials, choice.rule.at_most, choice.seconds) == (40, 40, 60.0)


def test_more_trials_teach_more_and_a_dear_restart_is_worth_less() -> None:
    belief = posterior(CAUSES, None, [BASELINE])
    bits = [rank_fixed(belief, [Candidate(SETS[1], 60.0)], n)[0].bits for n in (1, 10, 100, 1000)]
    assert bits == sorted(bits)
    assert 0 < bits[0] < bits[-1] < 1
    cheap, dear = rank_fixed(belief, [Candidate(SETS[0], 600.0), Candidate(SETS[1], 60.0)], 40)
    assert (cheap.toggles, dear.toggles) == (SETS[1], SETS[0])
    assert cheap.worth > dear.worth


def test_a_restart_that_would_decide_says_so() -> None:
    some = [BASELINE, Restart(SETS[0], 0, 40), Restart(frozenset(), 8, 40)]
    belief = posterior(CAUSES, None, some)
    (choice,) = rank_fixed(belief, [Candidate(SETS[0], 60.0)], 40)
    unsure = replace(belief, settings=replace(belief.settings, decided=0.6, supported=0.99))
    assert 0 <= choice.decides <= rank_fixed(unsure, [Candidate(SETS[0], 60.0)], 40)[0].decides


def test_what_cannot_be_ranked() -> None:
    belief = posterior(CAUSES, None, [BASELINE])
    assert rank_fixed(belief, [], 40) == ()
    with pytest.raises(ValueError, match="None seconds for a restart"):
        rank_fixed(belief, [Candidate(SETS[0])], 40)
    with pytest.raises(ValueError, match="0"):
        rank_fixed(belief, [Candidate(SETS[0], 60.0)], 0)
