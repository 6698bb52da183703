"""Stopping rules, the e-process, and the best stopping by dynamic programming."""

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.sequential import (
    Failures,
    Fixed,
    Sequences,
    Sequential,
    Walk,
    WhenDecided,
    binary_entropy,
    by_trials,
    e_value,
)

steady = settings(deadline=None, derandomize=True, max_examples=40)
outcomes = st.lists(st.booleans(), max_size=60)
rates = st.floats(0.02, 0.98)


@steady
@given(outcomes)
def test_fixed_stops_at_its_number_and_at_nothing_else(some) -> None:
    assert (Fixed(40).stop(some) is None) == (len(some) < 40)


@steady
@given(outcomes)
def test_failures_stops_at_so_many_or_at_the_end(some) -> None:
    assert (Failures(2, 40).stop(some) is None) == (sum(some) < 2 and len(some) < 40)


def test_every_rule_says_what_it_is_and_why_it_stopped() -> None:
    assert str(Fixed(1)) == "fixed: 1 trial"
    assert str(Failures(1, 40)) == "until 1 failure, at most 40 trials"
    assert str(WhenDecided(("-", "tt"))) == "when decided, at most 1 trial"
    assert str(Sequential((), 40)) == "until the e-value is 20, at most 40 trials"
    assert Failures(1, 40).stop([False, True]) == "1 failure seen"
    assert Fixed(2).stop([False, True]) == "all 2 trials done"


def test_a_table_is_followed_mark_by_mark() -> None:
    rule = WhenDecided(("-", "-t", "s--", "----"))
    assert rule.at_most == 3
    assert rule.stop([]) is None
    assert rule.stop([True]) == "one more trial would teach too little"
    assert rule.stop([False]) is None
    assert rule.stop([False, False]) == "the search is decided"
    assert rule.stop([False, True]) is None
    assert rule.stop([False, True, True]) == "all 3 trials done"


@pytest.mark.parametrize(
    ("build", "says"),
    [
        (lambda: Fixed(0), "at most 0 trials: need 1 or more"),
        (lambda: Failures(0, 3), "stop after 0 failures"),
        (lambda: WhenDecided(("-",)), "at most 0 trials"),
        (lambda: WhenDecided(("-", "-x")), "row 1 is '-x': need 2 marks out of - s t"),
        (lambda: WhenDecided(("-", "-")), "row 1"),
        (lambda: Sequential((), 10, limit=1), "e-value of 1: need more than 1"),
    ],
)
def test_rules_that_cannot_be_are_refused(build, says) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        build()
    assert says in str(caught.value)


@steady
@given(rates, st.integers(1, 4))
def test_under_equal_rates_the_e_value_is_one_on_average(rate, pairs) -> None:
    """Exact: the mean over all outcomes is at most 1, whatever the common rate."""
    total = 0.0
    for flat in product((False, True), repeat=2 * pairs):
        chance = np.prod([rate if one else 1 - rate for one in flat])
        total += chance * e_value(zip(flat[::2], flat[1::2], strict=True))
    assert total <= 1 + 1e-9


def test_peeking_at_the_e_value_keeps_its_promise() -> None:
    """Of 400 series without a difference, looked at after every pair, at most 5% reach 20."""
    random = np.random.default_rng(5)
    reached = 0
    for _ in range(400):
        rate = random.uniform(0.05, 0.4)
        left, right = (random.random((2, 100)) < rate).tolist()
        rule = Sequential(tuple(right), 1000)
        reached += any(rule.stop(left[:n]) for n in range(10, 101, 10))
    assert reached <= 20


def test_a_real_difference_is_found_and_the_reference_bounds_what_is_used() -> None:
    failing, clean = (True, False, False) * 40, (False,) * 120
    assert e_value(zip(clean, failing, strict=True)) > 20
    rule = Sequential(failing, 500)
    stopped = next(n for n in range(121) if rule.stop(clean[:n]))
    assert stopped < 80
    assert "the rates differ" in str(rule.stop(clean[:stopped]))
    assert Sequential((), 500).stop(clean) is None, "nothing to pair with says nothing"
    assert e_value([]) == 1
    assert e_value([(True, False)] * 5000) > 1e200


def two_rates(chance: float, there: float, gone: float, trials: int) -> Sequences:
    """A toggle set that removes the failure with `chance`, both rates known."""
    n = np.repeat(np.arange(trials + 1), np.arange(1, trials + 2))
    k = np.arange(len(n)) - n * (n + 1) // 2
    likely = [rate**k * (1 - rate) ** (n - k) for rate in (there, gone)]
    return Sequences(((1 - chance) * likely[0])[None], (chance * likely[1])[None], trials)


@steady
@given(rates, rates, rates)
def test_free_trials_are_all_made_and_bring_the_whole_information(chance, there, gone) -> None:
    walk = Walk(two_rates(chance, there, gone, 12))
    policy = walk.best(np.zeros(1))
    expected = 0.0
    for k in range(13):
        sides = [
            share * comb(12, k) * rate**k * (1 - rate) ** (12 - k)
            for share, rate in ((chance, gone), (1 - chance, there))
        ]
        odds = np.array(sides[0] / sum(sides))
        expected += sum(sides) * float(binary_entropy(np.array(chance)) - binary_entropy(odds))
    assert policy.bits[0] == pytest.approx(expected, abs=1e-9)
    assert policy.trials[0] <= 12 + 1e-9


@steady
@given(rates, st.floats(0.05, 0.5), st.floats(0.0001, 0.2))
def test_the_plan_is_at_least_as_good_as_any_fixed_number(chance, there, price) -> None:
    walk = Walk(two_rates(chance, there, there / 8, 20))
    policy = walk.best(np.full(1, price))
    best = policy.bits[0] - price * policy.trials[0]
    for trials in range(1, 21):
        fixed = Walk(two_rates(chance, there, there / 8, trials)).best(np.zeros(1))
        assert best >= fixed.bits[0] - price * trials - 1e-9


@steady
@given(rates, rates, rates, st.floats(0, 0.1))
def test_the_ends_of_a_plan_sum_to_one_and_give_its_bits_and_trials(
    chance, there, gone, price
) -> None:
    walk = Walk(two_rates(chance, there, gone, 15))
    policy = walk.best(np.full(1, price))
    ends = walk.ends(policy.stop)
    assert ends.sum() == pytest.approx(1)
    trials = sum(n * float(one.sum()) for n, one in enumerate(by_trials(ends, 15)))
    assert trials == pytest.approx(float(policy.trials[0]))
    assert float((ends * walk.gain).sum()) == pytest.approx(float(policy.bits[0]))


def test_a_dearer_trial_stops_sooner() -> None:
    walk = Walk(two_rates(0.5, 0.17, 0.02, 40))
    trials = [float(walk.best(np.full(1, price)).trials[0]) for price in (0, 0.005, 0.02, 0.1)]
    assert trials == sorted(trials, reverse=True)
    assert trials[-1] >= 1


def test_several_sets_at_once_are_as_each_alone() -> None:
    some = [two_rates(chance, 0.17, 0.02, 20) for chance in (0.1, 0.5, 0.9)]
    together = Sequences(
        np.concatenate([one.there for one in some]), np.concatenate([one.gone for one in some]), 20
    )
    prices = np.array([0.001, 0.01, 0.03])
    policy = Walk(together).best(prices)
    for at, one in enumerate(some):
        alone = Walk(one).best(prices[at : at + 1])
        assert policy.bits[at] == pytest.approx(alone.bits[0])
        assert policy.trials[at] == pytest.approx(alone.trials[0])
        assert np.array_equal(Walk(together.only([at])).best(prices[at : at + 1]).bits, alone.bits)
