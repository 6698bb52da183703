"""Every figure of the statistics, the edges, and how rates are written."""

import re
import subprocess
import sys
import time
from collections import Counter
from itertools import product
from math import comb

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.observation import Counts
from hypotheses.rates import (
    Interval,
    chance_of_at_least,
    clean_trials_needed,
    design_effect,
    difference_text,
    fisher,
    fisher_within,
    largest_separating,
    newcombe,
    p_text,
    percent,
    power,
    rate_text,
    separated,
    share_text,
    smallest_separating_above,
    trials_for_yield,
    trials_to_settle,
    wilson,
)

steady = settings(deadline=None, derandomize=True, max_examples=200)
sides = st.integers(0, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
small_sides = st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
Side = tuple[int, int]
nothing_claimed = re.compile(r"(?<![\d.])0+(\.0+)?%")


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [
        (3, 40, 2.6, 19.9),
        (7, 40, 8.8, 32.0),
        (9, 40, 12.3, 37.5),
        (0, 40, 0, 8.8),
        (0, 3, 0, 56.1),
        (40, 40, 91.2, 100),
        (1, 1, 20.7, 100),
        (0, 0, 0, 100),
    ],
)
def test_wilson_figures(k: int, n: int, low: float, high: float) -> None:
    interval = wilson(k, n)
    assert (interval.low * 100, interval.high * 100) == pytest.approx((low, high), abs=0.06)


@pytest.mark.parametrize(
    ("counts", "low", "high"),
    [
        ((3, 40, 7, 40), -25.3, 5.1),
        ((9, 40, 7, 40), -12.7, 22.4),
        ((0, 40, 7, 40), -31.9, -5.1),
        ((0, 0, 7, 40), -100, 100),
        ((3, 40, 0, 0), -100, 100),
    ],
)
def test_newcombe_figures(counts: tuple[int, int, int, int], low: float, high: float) -> None:
    interval = newcombe(*counts)
    assert (interval.low * 100, interval.high * 100) == pytest.approx((low, high), abs=0.06)


@pytest.mark.parametrize(
    ("counts", "p"),
    [
        ((3, 40, 7, 40), 0.311),
        ((9, 40, 7, 40), 0.781),
        ((0, 40, 7, 40), 0.0117),
        ((0, 5, 3, 5), 0.167),
        ((0, 3, 12, 13), 0.0071),
        ((5, 6, 7, 7), 0.46),
        ((7, 593, 0, 1544), 0.00012),
        ((0, 2, 7, 7), 0.0278),
        ((0, 80, 4, 80), 0.120),
        ((0, 0, 7, 40), 1.0),
        ((0, 40, 0, 40), 1.0),
        ((40, 40, 7, 7), 1.0),
    ],
)
def test_fisher_figures(counts: tuple[int, int, int, int], p: float) -> None:
    assert fisher(*counts) == pytest.approx(p, rel=0.03)


def test_fisher_within_strata_gives_what_r_gives() -> None:
    """R: mantelhaen.test(Rabbits, exact = TRUE) gives S = 16, p-value = 0.03994."""
    rabbits = [(0, 6, 0, 5), (3, 6, 0, 6), (6, 6, 2, 6), (5, 6, 6, 6), (2, 2, 5, 5)]
    assert fisher_within(rabbits) == pytest.approx(0.03994, abs=5e-6)
    assert fisher_within([]) == fisher_within([(0, 0, 3, 9), (4, 4, 2, 2)]) == 1
    many = [(900, 2000, 1100, 2000)] * 20
    assert fisher_within(many) < 1e-100


@pytest.mark.parametrize(
    ("counts", "apart"),
    [
        ((3, 40, 7, 40), False),
        ((9, 40, 7, 40), False),
        ((0, 40, 7, 40), True),
        ((7, 593, 0, 1544), True),
        ((0, 80, 4, 80), False),
        ((0, 0, 7, 40), False),
    ],
)
def test_separated(counts: tuple[int, int, int, int], apart: bool) -> None:
    assert separated(*counts) is apart


def test_trials_to_settle() -> None:
    assert trials_to_settle(3, 40, 7, 40) == 165
    assert trials_to_settle(7, 40, 3, 40) == 165
    assert trials_to_settle(7, 40, 14, 80) is None
    assert trials_to_settle(0, 40, 0, 3) is None
    assert trials_to_settle(0, 0, 7, 40) is None


@pytest.mark.parametrize("fails", [50, 175, 300, 600])
def test_trials_against_a_side_without_failures_keep_their_odds(fails: int) -> None:
    trials = trials_to_settle(0, 1000, fails, 1000)
    assert trials is not None
    assert trials == trials_to_settle(1000, 1000, 1000 - fails, 1000)
    fewest = smallest_separating_above(trials, 0, trials)
    assert fewest is not None
    assert chance_of_at_least(fewest, trials, fails / 1000) >= 0.8
    too_few = smallest_separating_above(trials * 2 // 3, 0, trials * 2 // 3)
    assert too_few is not None
    assert chance_of_at_least(too_few, trials * 2 // 3, fails / 1000) < 0.8


def test_clean_trials_needed() -> None:
    rates = (0.22, 0.17, 0.10, 0.05, 0.01, 1.0)
    assert [clean_trials_needed(p) for p in rates] == [13, 17, 29, 59, 299, 1]
    assert clean_trials_needed(0.10, confidence=0.99) == 44


def test_power_of_planned_trials() -> None:
    assert power(0.17, 0.08, 206) == pytest.approx(0.80, abs=0.005)
    assert power(0.17, 0.08, 40) == pytest.approx(0.23, abs=0.01)
    assert power(0.1, 0.1, 100) == pytest.approx(0.05, abs=0.001)
    assert power(0.1, 0.9, 0) == pytest.approx(0.05, abs=0.001)


def test_power_by_exact_count() -> None:
    """17% against 8%: four times in five by the formula, by Fisher's exact test a little less."""
    enough = next(n for n in range(1, 1000) if power(0.17, 0.08, n) >= 0.80)
    assert enough in range(162, 211)
    assert 0.74 < exact_power(0.17, 0.08, enough) < 0.80


def exact_power(high: float, low: float, n: int) -> float:
    """The chance that n trials an arm come out separated, the way the rates are."""
    likely = [k for k in range(n + 1) if binomial(k, n, high) > 1e-5]
    mosts = ((k, largest_separating(n, k, n)) for k in likely)
    return sum(
        binomial(k, n, high) * (1 - chance_of_at_least(most + 1, n, low))
        for k, most in mosts
        if most is not None
    )


def binomial(k: int, n: int, p: float) -> float:
    return comb(n, k) * p**k * (1 - p) ** (n - k)


def test_design_effect_of_a_shared_restart() -> None:
    assert design_effect(40, 0.05) == pytest.approx(2.95)
    assert 40 / design_effect(40, 0.05) == pytest.approx(13.6, abs=0.05)
    assert design_effect(1, 0.5) == 1


def test_trials_that_yield_three_failures() -> None:
    assert [trials_for_yield(3, p) for p in (0.17, 0.08, 0.04)] == [35, 77, 156]
    assert trials_for_yield(3, 1.0) == 3
    assert chance_of_at_least(3, 34, 0.17) < 0.95 <= chance_of_at_least(3, 35, 0.17)
    assert chance_of_at_least(0, 0, 0.5) == 1
    assert chance_of_at_least(5, 4, 0.5) == 0


def test_what_planned_trials_can_show() -> None:
    assert largest_separating(40, 7, 40) == 0
    assert smallest_separating_above(40, 7, 40) == 16
    assert largest_separating(3, 7, 40) is None
    assert largest_separating(40, 0, 40) is None
    assert smallest_separating_above(40, 40, 40) is None
    assert largest_separating(0, 7, 40) is None
    assert largest_separating(40, 0, 0) is None
    assert smallest_separating_above(40, 0, 0) is None


@steady
@given(small_sides, st.integers(0, 30))
def test_planned_limits_are_the_last_that_separate(side: tuple[int, int], n1: int) -> None:
    k2, n2 = side
    lower = [k for k in range(n1 + 1) if k * n2 < k2 * n1 and separated(k, n1, k2, n2)]
    higher = [k for k in range(n1 + 1) if k * n2 > k2 * n1 and separated(k, n1, k2, n2)]
    assert largest_separating(n1, k2, n2) == (max(lower) if lower else None)
    assert smallest_separating_above(n1, k2, n2) == (min(higher) if higher else None)


@steady
@given(sides)
def test_wilson_contains_the_rate_and_grows_with_it(side: tuple[int, int]) -> None:
    k, n = side
    interval = wilson(k, n)
    assert 0 <= interval.low <= interval.high <= 1
    if n:
        assert interval.low <= k / n <= interval.high
    if k < n:
        more = wilson(k + 1, n)
        assert interval.low < more.low
        assert interval.high < more.high


@steady
@given(sides, sides)
def test_swapping_sides_negates_newcombe_and_keeps_fisher(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    there, back = newcombe(*one, *other), newcombe(*other, *one)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low), abs=1e-12)
    assert -1 <= there.low <= there.high <= 1
    assert fisher(*one, *other) == pytest.approx(fisher(*other, *one), rel=1e-7)
    assert separated(*one, *other) is separated(*other, *one)


@steady
@given(st.lists(st.tuples(small_sides, small_sides), max_size=3))
def test_fisher_is_the_sum_over_tables_no_likelier(strata: list[tuple[Side, Side]]) -> None:
    """Whole numbers throughout: the ways to each sum of the first sides' failures."""
    ways, seen, total = Counter({0: 1}), 0, 1
    for (k1, n1), (k2, n2) in strata:
        k = k1 + k2
        own = {x: comb(n1, x) * comb(n2, k - x) for x in range(max(0, k - n2), min(n1, k) + 1)}
        both: Counter[int] = Counter()
        for x, y in product(ways, own):
            both[x + y] += ways[x] * own[y]
        ways, seen, total = both, seen + k1, total * comb(n1 + n2, k)
    exact = sum(one for one in ways.values() if one <= ways[seen]) / total
    p = fisher_within([(*one, *other) for one, other in strata])
    assert p == pytest.approx(exact, rel=1e-6)


@steady
@given(small_sides, small_sides)
def test_more_trials_are_needed_than_failed_to_separate(
    one: tuple[int, int], other: tuple[int, int]
) -> None:
    trials = trials_to_settle(*one, *other)
    if trials is not None and not separated(*one, *other):
        assert trials > min(one[1], other[1])


def test_hundreds_of_thousands_of_trials_are_quick() -> None:
    fisher(1, 3, 2, 3)
    start = time.process_time()
    assert fisher(50_000, 200_000, 51_000, 200_000) < 0.001
    assert fisher(0, 300_000, 300_000, 300_000) == pytest.approx(0.0)
    assert largest_separating(300_000, 100_000, 300_000) is not None
    assert largest_separating(300_000, 3, 3) is not None
    assert time.process_time() - start < 1.0


@pytest.mark.parametrize(("k", "n"), [(-1, 3), (4, 3), (0, -1), (1, 0)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    for attempt in (
        lambda: wilson(k, n),
        lambda: fisher(k, n, 1, 2),
        lambda: fisher(1, 2, k, n),
        lambda: newcombe(1, 2, k, n),
        lambda: trials_to_settle(k, n, 1, 2),
        lambda: largest_separating(5, k, n),
    ):
        with pytest.raises(ValueError, match=f"{k} failures in {n} trials"):
            attempt()


def test_impossible_rates_are_refused() -> None:
    for attempt in (
        lambda: power(1.2, 0.5, 10),
        lambda: power(0.5, -0.1, 10),
        lambda: clean_trials_needed(0),
        lambda: clean_trials_needed(0.5, confidence=1),
        lambda: chance_of_at_least(1, 2, 1.5),
        lambda: trials_for_yield(3, 0),
        lambda: design_effect(10, 2),
    ):
        with pytest.raises(ValueError, match=r"share|confidence"):
            attempt()


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        (Counts(3, 37), "3/40, 7.5% (2.6-19.9%)"),
        (Counts(7, 33), "7/40, 17.5% (8.7-31.9%)"),
        (Counts(0, 40), "0/40, at most 8.8%"),
        (Counts(0, 3), "0/3, at most 56.1%"),
        (Counts(0, 100_000), "0/100000, at most 0.004%"),
        (Counts(40, 0), "40/40, at least 91.2%"),
        (Counts(1, 0), "1/1, at least 20.7%"),
        (Counts(0, 0, 5), "no trials"),
        (Counts(1, 99_999), "1/100000, 0.001% (0.00018-0.006%)"),
    ],
)
def test_rates_as_text(counts: Counts, text: str) -> None:
    assert rate_text(counts) == text


@steady
@given(st.integers(1, 10**7))
def test_no_failures_never_read_as_none(n: int) -> None:
    text = rate_text(Counts(0, n))
    assert not nothing_claimed.search(text)
    assert "at most" in text
    assert "100%" not in rate_text(Counts(n, 0))


def test_percent_and_shares() -> None:
    assert percent(Interval(0.026, 0.199)) == "2.6-19.9%"
    assert percent(Interval(0.0, 1.0)) == "0-100%"
    assert share_text(0.99999) == "99.999%"
    assert share_text(0.0) == "0%"


def test_differences_as_text() -> None:
    assert difference_text(Counts(3, 37), Counts(7, 33)) == "-10.0 points (-25.3 to +5.1)"
    assert difference_text(Counts(9, 31), Counts(7, 33)) == "+5.0 points (-12.7 to +22.4)"
    assert difference_text(Counts(7, 33), Counts(7, 33)).startswith("+0.0 points")
    assert difference_text(Counts(), Counts(7, 33)) == "no trials to compare"


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.3109, "p = .31"),
        (0.0117, "p = .012"),
        (0.0071, "p = .0071"),
        (0.00012, "p = .00012"),
        (0.00001, "p < .0001"),
        (1.0, "p = 1"),
    ],
)
def test_p_as_text(p: float, text: str) -> None:
    assert p_text(p) == text


def test_belief_is_imported_without_numpy_and_scipy() -> None:
    code = (
        "import sys, hypotheses.standing, hypotheses.by_rate, hypotheses.by_mismatch;"
        "from hypotheses.rates import newcombe; newcombe(3, 40, 7, 40);"
        "print([name for name in ('numpy', 'scipy', 'statistics') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
