"""The posterior: what may not change it, what must, and the shapes it has."""

import subprocess
import sys
import time
from itertools import combinations
from math import exp, isclose, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.assumptions import Grid, Settings
from hypotheses.drift import predictive_p
from hypotheses.model import (
    Restart,
    grid_for,
    log_likelihoods,
    points,
    posterior,
)

CAUSES = ("topk", "mtp", "detokenizer", "transfer")
NONE = frozenset[str]()
steady = settings(deadline=None, derandomize=True, max_examples=30)

counts = st.integers(0, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
restarts = st.builds(
    lambda toggles, pair, epoch: Restart(toggles, *pair, epoch=epoch),
    st.frozensets(st.sampled_from(CAUSES)),
    counts,
    st.integers(0, 1),
)
many = st.lists(restarts, max_size=8)


def after(*some: Restart, causes: tuple[str, ...] = CAUSES, **assumed: object):
    return posterior(causes, None, some, Settings(**assumed))


@steady
@given(many, st.randoms(use_true_random=False))
def test_the_order_of_restarts_does_not_matter(some, random) -> None:
    shuffled = random.sample(some, len(some))
    assert np.array_equal(after(*some).weights, after(*shuffled).weights)


@steady
@given(many, st.frozensets(st.sampled_from(CAUSES)), st.integers(0, 3))
def test_a_restart_without_trials_changes_nothing(some, toggles, epoch) -> None:
    assert np.array_equal(
        after(*some).weights, after(*some, Restart(toggles, 0, 0, epoch=epoch)).weights
    )


@steady
@given(many, st.permutations(CAUSES))
def test_other_names_give_the_same_beliefs_by_other_names(some, names) -> None:
    new = dict(zip(CAUSES, names, strict=True))
    weights = dict(zip(CAUSES, (4.0, 3.0, 2.0, 1.0), strict=True))
    renamed = [
        Restart(
            frozenset(new[one] for one in restart.toggles), restart.fail, restart.n, restart.epoch
        )
        for restart in some
    ]
    before = posterior(CAUSES, weights, some)
    then = posterior(CAUSES, {new[one]: weight for one, weight in weights.items()}, renamed)
    for state in before.states:
        there = frozenset(new[one] for one in state)
        assert isclose(before.probability(state), then.probability(there), abs_tol=1e-9)


@steady
@given(counts, st.sampled_from((Grid(), Grid(p0=(0.9,)))))
def test_a_batch_is_worth_the_same_however_it_was_cut_up(pair, grid) -> None:
    """The chance of a sequence is that of each trial given those before it: no rule enters."""
    k, n = pair
    fails = np.array([0] * (n - k + 1) + list(range(1, k + 1)))
    trials = np.arange(n + 1)
    for side in log_likelihoods(grid, 0.005, fails, trials):
        steps = np.diff(side, axis=0)
        assert np.all(steps <= 1e-12)
        assert np.allclose(side[-1], side[0] + steps.sum(axis=0))
    all_ends = sum(
        exp(log_ways(at, n)) * np.exp(log_likelihoods(grid, 0.005, *as_arrays(at, n))[0])
        for at in range(n + 1)
    )
    assert np.allclose(all_ends, 1)


@steady
@given(counts, st.frozensets(st.sampled_from(CAUSES)))
def test_looking_before_a_batch_is_over_costs_nothing(pair, toggles) -> None:
    """What is believed after part of a batch is the mean of what will be after one trial more."""
    fail, n = pair
    baseline = Restart(NONE, 7, 40)
    now = after(baseline, Restart(toggles, fail, n))
    passed = after(baseline, Restart(toggles, fail, n + 1), grid=now.grid)
    failed = after(baseline, Restart(toggles, fail + 1, n + 1), grid=now.grid)
    assumed = after(baseline, Restart(toggles, fail, n), grid=now.grid)
    chances = [exp(one.evidence - assumed.evidence) for one in (passed, failed)]
    assert sum(chances) == pytest.approx(1)
    mean = chances[0] * passed.probabilities + chances[1] * failed.probabilities
    assert np.allclose(mean, assumed.probabilities)


def test_states_are_none_each_cause_and_each_pair() -> None:
    fifty = tuple(f"cause-{at}" for at in range(50))
    belief = posterior(fifty)
    assert len(belief.states) == 1276
    assert belief.states[0] == NONE
    assert set(belief.states[51:]) == {frozenset(pair) for pair in combinations(fifty, 2)}
    assert belief.none == pytest.approx(0.10)
    assert sum(belief.by_cause.values()) == pytest.approx(0.80)


def test_the_prior_follows_the_weights_mixed_with_equal_ones() -> None:
    belief = posterior(("a", "b", "c"), {"a": 3, "b": 1}, settings=Settings(uniform=0.1))
    assert belief.alone("a") == pytest.approx(0.8 * (0.9 * 3 / 6 + 0.1 / 3))
    assert belief.alone("c") == pytest.approx(0.8 * (0.9 * 2 / 6 + 0.1 / 3)), "the mean of the rest"
    pairs = [belief.probability(pair) for pair in ("ab", "ac", "bc")]
    assert sum(pairs) == pytest.approx(0.10)
    assert pairs[0] / pairs[2] == pytest.approx(belief.alone("a") / belief.alone("c"))


def test_a_set_removes_the_failure_when_all_of_the_cause_is_in_it() -> None:
    belief = posterior(CAUSES)
    removed = belief.removed([frozenset({"topk", "mtp"})])[:, 0]
    removing = {state for state, yes in zip(belief.states, removed, strict=True) if yes}
    assert removing == {frozenset({"topk"}), frozenset({"mtp"}), frozenset({"topk", "mtp"})}
    assert belief.removed_by(()) == 0
    assert belief.removed_by(CAUSES) == pytest.approx(1 - belief.none)


def test_a_clean_restart_points_at_its_cause_and_a_failing_one_away() -> None:
    baseline = Restart(NONE, 14, 80)
    clean = after(baseline, Restart(frozenset({"topk"}), 0, 40))
    failing = after(baseline, Restart(frozenset({"topk"}), 8, 40))
    assert clean.alone("topk") > 0.8
    assert failing.alone("topk") < 0.01
    assert failing.part("topk") > failing.alone("topk"), "it may still be one of two"
    assert clean.entropy < after(baseline).entropy


def test_a_lying_restart_is_never_believed_on_its_own() -> None:
    baseline = Restart(NONE, 200, 1000)
    once = after(baseline, Restart(frozenset({"topk"}), 0, 1000))
    twice = after(baseline, *[Restart(frozenset({"topk"}), 0, 1000)] * 2)
    assert once.alone("topk") < 0.99 < twice.alone("topk")


@pytest.mark.parametrize(
    ("fail", "n", "rho", "at_least", "at_most"),
    [
        (9, 40, 0.0, 100, 3000),
        (9, 40, 0.03, 40, 120),
        (9, 40, 0.08, 15, 40),
    ],
)
def test_failures_speak_against_a_removal_and_less_so_where_restarts_share_luck(
    fail, n, rho, at_least, at_most
) -> None:
    """9/40 against 7/40: no proof that nothing changed, but strong that it is not the cause."""
    grid = Grid(p0=(0.175,), rho=((rho, 1.0),))
    belief = after(Restart(frozenset({"a"}), fail, n), causes=("a",), grid=grid)
    prior = after(causes=("a",), grid=grid)
    factor = belief.none / belief.alone("a") * prior.alone("a") / prior.none
    assert at_least < factor < at_most


def test_forty_clean_sessions_weigh_much_less_where_restarts_share_luck() -> None:
    """0/40 gives fixed:same about 1,000 at rho 0 and 20 at .08, before slips are allowed for."""
    factors = []
    for rho in (0.0, 0.08):
        grid = Grid(p0=(0.175,), rho=((rho, 1.0),))
        belief = after(Restart(frozenset({"a"}), 0, 40), causes=("a",), grid=grid, slip=1e-9)
        factors.append(belief.alone("a") / belief.none / 8)
    assert factors[0] == pytest.approx(1600, rel=0.3)
    assert factors[1] == pytest.approx(21, rel=0.1)


def test_each_epoch_has_a_baseline_of_its_own() -> None:
    first = [Restart(NONE, 16, 40), Restart(frozenset({"topk"}), 16, 40)]
    moved = [Restart(NONE, 2, 40), Restart(frozenset({"mtp"}), 2, 40)]
    naive = after(*first, *moved)
    aware = after(*first, *(Restart(one.toggles, one.fail, one.n, epoch=1) for one in moved))
    assert aware.evidence > naive.evidence
    assert aware.alone("mtp") < naive.alone("mtp")
    assert aware.rate == pytest.approx(0.06, abs=0.03)
    assert after(*first).rate == pytest.approx(0.36, abs=0.06)


def test_the_grid_follows_baselines_beyond_its_ends() -> None:
    assert grid_for([Restart(NONE, 7, 40)]) == Grid()
    assert grid_for([Restart(frozenset({"topk"}), 40, 40)]) == Grid(), "only controls stretch it"
    often, rarely = grid_for([Restart(NONE, 38, 40)]), grid_for([Restart(NONE, 1, 300)])
    assert often.p0[-1] > 0.95
    assert often.p0[0] == pytest.approx(0.05)
    assert rarely.p0[0] < 1 / 300
    assert after(Restart(NONE, 38, 40)).rate == pytest.approx(0.92, abs=0.04)


def test_a_control_that_fits_is_no_surprise_and_one_that_does_not_is() -> None:
    belief = after(*[Restart(NONE, 8, 40)] * 4)
    assert predictive_p(belief, Restart(NONE, 7, 40)) > 0.5
    assert predictive_p(belief, Restart(NONE, 0, 40)) < 0.05
    assert predictive_p(belief, Restart(NONE, 30, 40)) < 0.001
    assert predictive_p(belief, Restart(NONE, 0, 0)) == 1
    assert predictive_p(belief, Restart(NONE, 0, 60)) < 0.01, "a slip does not explain it away"


def test_a_long_control_is_as_surprising_when_not_every_count_is_looked_at(monkeypatch) -> None:
    belief = after(*[Restart(NONE, 7, 40)] * 2)
    controls = [Restart(NONE, fail, 400) for fail in (4, 16, 32, 120)]
    exact = [predictive_p(belief, one) for one in controls]
    monkeypatch.setattr("hypotheses.drift.MOST_COUNTS", 200)
    assert [predictive_p(belief, one) for one in controls] == pytest.approx(exact, abs=0.01)
    monkeypatch.undo()
    assert predictive_p(belief, Restart(NONE, 51_000, 300_000)) > 0.3
    assert predictive_p(belief, Restart(NONE, 900, 300_000)) < 0.05


def test_hundreds_of_thousands_of_trials_stay_exact() -> None:
    belief = after(Restart(NONE, 35_000, 200_000), *[Restart(frozenset({"mtp"}), 50, 200_000)] * 2)
    assert belief.alone("mtp") > 0.95
    assert np.isfinite(belief.evidence)
    assert belief.probabilities.sum() == pytest.approx(1)


def test_one_cause_alone_can_be_asked_about() -> None:
    belief = after(Restart(NONE, 7, 40), causes=("only",))
    assert len(belief.states) == 2
    assert belief.alone("only") == pytest.approx(0.8 / 0.9)


def test_without_pairs_there_are_none() -> None:
    belief = posterior(CAUSES, settings=Settings(pairs=0))
    assert len(belief.states) == 5
    assert belief.probability({"topk", "mtp"}) == 0


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Restart(NONE, 3, 2), "3 failures in 2 trials"),
        (lambda: Restart(NONE, -1, 2), "-1 failures"),
        (lambda: posterior(()), "need one or more"),
        (lambda: posterior(("a", "a")), "each once"),
        (lambda: posterior(("a",), {"b": 1}), "weight 1 of 'b'"),
        (lambda: posterior(("a",), {"a": 0}), "weight 0 of 'a'"),
        (lambda: posterior(("a",), {"a": float("nan")}), "weight nan"),
        (lambda: posterior(("a",), None, [Restart(frozenset({"b"}), 1, 2)]), "'b' is not one of"),
        (lambda: posterior(("a",)).part("b"), "'b' is not one of the causes: a"),
        (lambda: Settings(slip=0), "slip is 0: need over 0"),
        (lambda: Settings(decided=0.99, supported=0.95), "supported is 0.95"),
        (lambda: Settings(singles=0), "prior shares"),
        (lambda: Settings(control_every=0), "control_every is 0"),
        (lambda: Settings(max_trials=0), "max_trials is 0"),
        (lambda: Grid(p0=()), "grid of baseline rates"),
        (lambda: Grid(p0=(0.0, 0.1)), "grid of baseline rates"),
        (lambda: Grid(rho=((1.0, 1.0),)), "grid of rho"),
        (lambda: Grid(residual=((0.1, 0.0),)), "grid of residual"),
    ],
)
def test_what_cannot_be_is_said_in_one_line(build, says) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        build()
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_fifty_causes_take_tens_of_milliseconds() -> None:
    fifty = tuple(f"cause-{at}" for at in range(50))
    some = [Restart(NONE, 14, 80), *(Restart(frozenset(fifty[:at]), 2, 20) for at in range(1, 20))]
    posterior(fifty, None, some)
    started = time.process_time()
    posterior(fifty, None, some)
    assert time.process_time() - started < 0.5


def test_the_same_restarts_give_the_same_bytes_in_every_process() -> None:
    code = (
        "from hypotheses.model import *\n"
        "r = [Restart(frozenset(), 7, 40), Restart(frozenset({'a', 'b', 'c'}), 1, 20)]\n"
        "print(posterior(('a', 'b', 'c', 'd'), {'a': 2}, r).weights.tobytes().hex())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            check=True,
            capture_output=True,
            text=True,
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_importing_it_loads_neither_numpy_nor_scipy() -> None:
    code = (
        "import sys, hypotheses.planner, hypotheses.by_model, hypotheses.exposure\n"
        "import hypotheses.drift, hypotheses.standing_by_model\n"
        "print({'numpy', 'scipy'} & set(sys.modules))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )
    assert run.stdout.strip() == "set()"


def as_arrays(k: int, n: int):
    return np.array([k]), np.array([n])


def log_ways(k: int, n: int) -> float:
    return sum(log(n - at) - log(at + 1) for at in range(k))


def test_the_grid_has_every_point_once() -> None:
    grid = Grid()
    flat = points(grid)
    assert len(flat.p0) == len(grid.p0) * grid.rest == 120
    assert np.exp(flat.log_prior).sum() == pytest.approx(1)
    assert (grid.p0[0], grid.p0[-1]) == pytest.approx((0.05, 0.40))
