"""Time to failure: exact intervals, comparisons, and how they are written."""

from math import exp, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.exposure import (
    Exposure,
    clean_needed,
    clean_to_separate,
    compare,
    compared_text,
    exposure_text,
    pooled,
    rate_interval,
    to_settle,
)

steady = settings(deadline=None, derandomize=True, max_examples=40)
exposures = st.builds(Exposure, st.integers(0, 50), st.floats(0.5, 1e5))


def test_three_clean_soaks_against_five_that_failed() -> None:
    clean, failing = pooled([Exposure(0, 600)] * 3), pooled([Exposure(1, 120)] * 5)
    assert exposure_text(clean) == "0 in 30 min, at most one in 8.13 min"
    assert exposure_text(failing) == "5 in 10 min, one in 2 min (51.4 s to 6.16 min)"
    assert compared_text(clean, failing) == "rate ratio at most 0.364, p = .00098"
    assert compare(clean, failing).separated
    assert compare(clean, failing).p == pytest.approx(0.25**5)


@pytest.mark.parametrize(
    ("k", "low", "high"),
    [(0, 0, 3.689), (1, 0.0253, 5.572), (5, 1.623, 11.668), (10, 4.795, 18.39)],
)
def test_poisson_interval_figures(k, low, high) -> None:
    bounds = rate_interval(Exposure(k, 1))
    assert (bounds.low, bounds.high) == pytest.approx((low, high), abs=0.002)


@steady
@given(st.integers(1, 40))
def test_each_end_of_the_interval_leaves_its_tail(k) -> None:
    bounds = rate_interval(Exposure(k, 1))
    assert sum(poisson(at, bounds.high) for at in range(k + 1)) == pytest.approx(0.025)
    assert sum(poisson(at, bounds.low) for at in range(k)) == pytest.approx(0.975)


@steady
@given(exposures, exposures)
def test_the_sides_may_be_swapped(first, second) -> None:
    there, back = compare(first, second), compare(second, first)
    assert there.p == pytest.approx(back.p)
    assert there.separated == back.separated
    if there.ratio.low:
        assert 1 / there.ratio.low == pytest.approx(back.ratio.high)


@steady
@given(exposures, exposures, st.floats(0.001, 1000))
def test_the_unit_does_not_matter(first, second, unit) -> None:
    scaled = [Exposure(one.failures, one.amount * unit) for one in (first, second)]
    assert compare(*scaled).p == pytest.approx(compare(first, second).p, rel=1e-6)


def test_nothing_seen_says_nothing() -> None:
    none, clean = Exposure(), Exposure(0, 100)
    assert none.rate is None
    assert (rate_interval(none).low, rate_interval(none).high) == (0, inf)
    for pair in ((none, clean), (clean, clean), (Exposure(3, 5), none)):
        assert compare(*pair).p == 1
        assert not compare(*pair).separated
    assert exposure_text(none) == "0 in no exposure"
    assert compared_text(clean, clean) == "no failures to compare"
    assert compared_text(Exposure(5, 600), Exposure(0, 1800)).startswith("rate ratio at least 2.75")


def test_what_clean_exposure_can_show() -> None:
    """One in 2 min: 6 clean minutes show it gone; of 5 in 10 min alone, a few more are needed."""
    failing = Exposure(5, 600)
    assert clean_needed(5 / 600) == pytest.approx(359.5, abs=0.1)
    apart = clean_to_separate(failing)
    assert apart is not None
    assert compare(Exposure(0, apart), failing).separated
    assert not compare(Exposure(0, 0.99 * apart), failing).separated
    assert 600 < apart < 900
    assert clean_to_separate(Exposure(0, 600)) is None
    with pytest.raises(ValueError, match="need a rate over 0"):
        clean_needed(0)


def test_what_would_settle_two_rates() -> None:
    """By simulation: the exposure that is named separates them about four times in five."""
    random = np.random.default_rng(3)
    for first, second in (
        (Exposure(10, 600), Exposure(5, 600)),
        (Exposure(0, 60), Exposure(3, 600)),
    ):
        amount = to_settle(first, second)
        assert amount is not None
        rates = first.failures / first.amount, second.failures / second.amount
        pairs = random.poisson([rate * amount for rate in rates], (400, 2)).tolist()
        found = [compare(Exposure(a, amount), Exposure(b, amount)).separated for a, b in pairs]
        assert 0.68 < sum(found) / 400 < 0.9
    assert to_settle(Exposure(1, 10), Exposure(2, 20)) is None


def test_attempts_are_an_exposure_too_and_many_are_quick() -> None:
    assert exposure_text(Exposure(3, 40), "attempts").startswith(
        "3 in 40 attempts, one in 13.3 attempts ("
    )
    assert not compare(Exposure(200_000, 1e6), Exposure(201_000, 1e6)).separated
    assert compare(Exposure(200_000, 1e6), Exposure(204_000, 1e6)).separated


@pytest.mark.parametrize("bad", [(-1, 5.0), (1, -5.0), (1, inf), (0, float("nan")), (2, 0.0)])
def test_impossible_exposures_are_refused(bad) -> None:
    with pytest.raises(ValueError, match=r"exposure of|no exposure"):
        Exposure(*bad)


def poisson(k: int, mean: float) -> float:
    value = exp(-mean)
    for at in range(1, k + 1):
        value *= mean / at
    return value
