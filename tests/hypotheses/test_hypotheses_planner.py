"""The next restart: what is chosen, when it stops, when controls are due, and that it finds."""

import time

import numpy as np
import pytest

from hypotheses.assumptions import Grid, Settings
from hypotheses.model import Restart, posterior
from hypotheses.planner import (
    Candidate,
    Purpose,
    control_due,
    decided,
    next_restart,
    rank,
    toggle_sets,
    trials_to_reproduce,
)
from hypotheses.sequential import WhenDecided

NONE = frozenset[str]()
CAUSES = tuple(f"cause-{at:02d}" for at in range(16))
BASELINE = Restart(NONE, 14, 80)
SECONDS = (75.0, 4.0)


def only(*causes: int) -> frozenset[str]:
    return frozenset(CAUSES[at] for at in causes)


def test_the_first_restart_halves_what_is_believed() -> None:
    choice = next_restart(posterior(CAUSES, None, [BASELINE]), None, *SECONDS)
    assert choice is not None
    assert choice.purpose is Purpose.SEARCH
    assert 0.3 < choice.removes < 0.6
    assert 0.4 < choice.bits < 1
    assert choice.if_there < 0.15
    assert choice.if_gone > 0.8
    assert choice.seconds == pytest.approx(75 + 4 * choice.trials)
    assert choice.rate == pytest.approx(choice.bits / choice.seconds)
    assert 5 < choice.trials <= choice.rule.at_most == 40


def test_what_is_expected_is_what_was_believed() -> None:
    """The mean of both ways out is the probability before."""
    belief = posterior(CAUSES, None, [BASELINE])
    for choice in rank(belief, [Candidate(only(*range(8))), Candidate(only(3))], *SECONDS):
        assert min(choice.if_there, choice.if_gone) <= choice.removes
        assert choice.removes <= max(choice.if_there, choice.if_gone)
        assert choice.removes == pytest.approx(belief.removed_by(choice.toggles))


def test_a_failure_at_once_stops_a_restart_and_passes_go_on() -> None:
    choice = next_restart(posterior(CAUSES, None, [BASELINE]), None, *SECONDS)
    assert choice is not None
    assert isinstance(choice.rule, WhenDecided)
    assert choice.rule.stop([True, True, True]) is not None
    assert choice.rule.stop([False, False, False]) is None
    assert choice.rule.stop([False] * 39) is not None


def test_a_restart_that_decides_the_search_stops_at_once() -> None:
    some = [BASELINE, Restart(only(0), 0, 60), Restart(NONE, 8, 40)]
    belief = posterior(CAUSES, None, some)
    choice = rank(belief, [Candidate(only(0))], *SECONDS)[0]
    decides = "the search is decided"
    n = next(n for n in range(1, 41) if choice.rule.stop([False] * n) == decides)
    assert decided(posterior(CAUSES, None, [*some, Restart(only(0), 0, n)])) == only(0)


def test_decided_ends_the_search() -> None:
    some = [BASELINE, *[Restart(only(0), 0, 40), Restart(NONE, 8, 40)] * 2]
    belief = posterior(CAUSES, None, some)
    assert decided(belief) == only(0)
    assert next_restart(belief, None, *SECONDS) is None
    assert decided(posterior(CAUSES, None, [BASELINE])) is None


def test_all_off_and_still_failing_is_none_of_the_listed() -> None:
    some = [BASELINE, *[Restart(frozenset(CAUSES), 8, 40)] * 3]
    assert decided(posterior(CAUSES, None, some)) == NONE


def test_nothing_is_toggled_before_the_failure_was_seen() -> None:
    belief = posterior(CAUSES, None, [Restart(NONE, 0, 40), Restart(only(1), 3, 40)])
    choice = next_restart(belief, None, *SECONDS)
    assert choice is not None
    assert (choice.purpose, choice.toggles) == (Purpose.REPRODUCE, NONE)
    assert choice.rule.at_most == trials_to_reproduce(belief.restarts) == 59
    assert choice.rule.stop([False, True]) == "1 failure seen"
    assert trials_to_reproduce([]) == 59
    assert trials_to_reproduce([Restart(NONE, 0, 400)]) == 314


def test_a_control_is_due_after_so_many_restarts_without_one() -> None:
    toggled = [Restart(only(at), 4, 20) for at in range(6)]
    belief = posterior(CAUSES, None, [BASELINE, *toggled[:5]])
    assert control_due(belief) is Purpose.CONTROL
    choice = next_restart(belief, None, *SECONDS)
    assert choice is not None
    assert (choice.toggles, choice.purpose, choice.bits) == (NONE, Purpose.CONTROL, 0)
    assert 10 < choice.rule.at_most < 60
    assert control_due(posterior(CAUSES, None, [BASELINE, *toggled[:4]])) is None
    again = [BASELINE, *toggled[:5], Restart(NONE, 1, 3)]
    assert control_due(posterior(CAUSES, None, again)) is None


def test_candidates_are_ranked_by_bits_a_second_at_their_own_cost() -> None:
    belief = posterior(CAUSES, None, [BASELINE])
    half, one, all_of_them = only(*range(8)), only(0), frozenset(CAUSES)
    ranked = rank(belief, [Candidate(one), Candidate(half), Candidate(all_of_them)], *SECONDS)
    assert ranked[0].toggles == half
    rates = [choice.rate for choice in ranked]
    assert rates == sorted(rates, reverse=True)
    slow = rank(belief, [Candidate(one), Candidate(half, seconds_per_restart=3600)], *SECONDS)
    assert slow[0].toggles == one
    dear = rank(belief, [Candidate(half, seconds_per_trial=40)], *SECONDS)[0]
    assert dear.trials < ranked[0].trials


def test_a_candidate_that_can_teach_nothing_is_not_proposed() -> None:
    belief = posterior(CAUSES, None, [BASELINE])
    assert next_restart(belief, [Candidate(NONE)], *SECONDS) is None
    assert next_restart(belief, [], *SECONDS) is None
    assert rank(belief, [], *SECONDS) == ()
    assert rank(belief, [Candidate(NONE)], *SECONDS)[0].bits == 0


def test_toggle_sets_are_each_there_once_and_in_a_fixed_order() -> None:
    weights = {cause: 1.0 + at for at, cause in enumerate(CAUSES)}
    belief = posterior(CAUSES, weights, [BASELINE])
    sets = [one.toggles for one in toggle_sets(belief)]
    assert len(sets) == len(set(sets))
    assert NONE not in sets
    assert frozenset(CAUSES) in sets
    assert only(15) in sets
    assert only(15, 14) in sets
    assert frozenset(CAUSES) - only(15) in sets
    assert sets == [one.toggles for one in toggle_sets(belief)]


@pytest.mark.parametrize("seconds", [(0, 4), (75, 0), (float("nan"), 4), (75, float("inf"))])
def test_seconds_that_cannot_be_are_refused(seconds) -> None:
    with pytest.raises(ValueError, match="need more than 0"):
        rank(posterior(CAUSES, None, [BASELINE]), None, *seconds)


def test_two_suspects_are_enough_and_one_is_not_too_few() -> None:
    for size in (1, 2):
        choice = next_restart(posterior(CAUSES[:size], None, [BASELINE]), None, *SECONDS)
        assert choice is not None
        assert choice.toggles


def test_rare_failures_and_many_trials_are_planned_without_a_warning() -> None:
    grid = Grid(p0=(0.001,), residual=((0.0, 1.0),), rho=((0.0, 1.0),))
    belief = posterior(CAUSES, None, [Restart(NONE, 1, 900)], Settings(grid=grid, max_trials=200))
    choice = next_restart(belief, None, *SECONDS)
    assert choice is not None
    assert 0 < choice.bits < 0.5


def test_a_choice_among_fifty_takes_tens_of_milliseconds() -> None:
    fifty = tuple(f"cause-{at}" for at in range(50))
    next_restart(posterior(fifty, None, [BASELINE]), None, *SECONDS)
    started = time.process_time()
    next_restart(posterior(fifty, None, [BASELINE]), None, *SECONDS)
    assert time.process_time() - started < 1


@pytest.mark.parametrize("truth", [only(11), only(2, 9), NONE])
def test_a_search_finds_the_cause(truth) -> None:
    """Rates known, 8 systems each: at most two wrong answers, with the planner as shipped."""
    grid = Grid(p0=(0.3,), residual=((0.0, 1.0),), rho=((0.0, 1.0),))
    settings = Settings(grid=grid, slip=0.001)
    answers = [search(truth, settings, seed) for seed in range(8)]
    assert answers.count(truth) >= 6


def search(truth: frozenset[str], settings: Settings, seed: int) -> frozenset[str] | None:
    random = np.random.default_rng(seed)
    some = [Restart(NONE, 24, 80)]
    for _ in range(40):
        choice = next_restart(posterior(CAUSES, None, some, settings), None, *SECONDS)
        if choice is None:
            break
        rate = 0.0 if truth and truth <= choice.toggles else 0.3
        outcomes: list[bool] = []
        while choice.rule.stop(outcomes) is None:
            outcomes.append(bool(random.random() < rate))
        some.append(Restart(choice.toggles, sum(outcomes), len(outcomes)))
    return decided(posterior(CAUSES, None, some, settings))
