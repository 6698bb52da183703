"""Time to failure: exact intervals, comparisons, and how they are written."""

from math import exp, inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.exposure import (
    Exposure,
    compare,
    compared_text,
    exposure_text,
    pooled,
    rate_interval,
)

steady = settings(deadline=None, derandomize=True, max_examples=40)
exposures = st.builds(Exposure, st.integers(0, 50), st.floats(0.5, 1e5))


def test_three_clean_soaks_against_five_that_failed() -> None:
    clean, failing = pooled([Exposure(0, 600)] * 3), pooled([Exposure(1, 120)] * 5)
    assert exposure_text(clean) == "0 in 1800 s, at most one in 488 s"
    assert exposure_text(failing) == "5 in 600 s, one in 120 s (51.4-370)"
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
    assert exposure_text(none) == "no exposure"
    assert compared_text(clean, clean) == "no failures to compare"
    assert compared_text(Exposure(5, 600), Exposure(0, 1800)).startswith("rate ratio at least 2.75")


def test_attempts_are_an_exposure_too_and_many_are_quick() -> None:
    assert exposure_text(Exposure(3, 40), "attempts").startswith("3 in 40 attempts, one in 13.3")
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
