"""Failure rates: intervals, tests, what trials can show, and how all that is written.

Rates and probabilities are shares from 0 to 1 here; texts give percent and percentage points.
Counts `k` of `n` are failing trials of the trials that count. Intervals and tests are at 95%.
"""

from bisect import bisect_left
from collections.abc import Iterable
from functools import reduce
from math import asin, ceil, erfc, exp, hypot, log, log1p, sqrt
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from hypotheses.observation import Counts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]

Z = 1.959963984540054
"""The normal quantile of a two-sided 95% interval."""

_ROUNDING = 1e-7
"""How far the logarithms of probabilities that are equal may be apart."""


class Interval(Struct, frozen=True):
    """From `low` to `high`: shares, or a difference of two shares (-1 to 1)."""

    low: float
    high: float


def wilson(k: int, n: int) -> Interval:
    """The score interval of a rate; 0 to 1 where n is 0 (Wilson 1927)."""
    _check(k, n)
    if n == 0:
        return Interval(0.0, 1.0)
    p, z2 = k / n, Z * Z
    middle = (p + z2 / (2 * n)) / (1 + z2 / n)
    reach = Z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n))
    low = 0.0 if k == 0 else middle - reach
    high = 1.0 if k == n else middle + reach
    return Interval(low, high)


def newcombe(k1: int, n1: int, k2: int, n2: int) -> Interval:
    """The interval of k1/n1 - k2/n2; -1 to 1 where a side is empty (Newcombe 1998, method 10)."""
    first, second = wilson(k1, n1), wilson(k2, n2)
    if n1 == 0 or n2 == 0:
        return Interval(-1.0, 1.0)
    p1, p2 = k1 / n1, k2 / n2
    down = hypot(p1 - first.low, second.high - p2)
    up = hypot(first.high - p1, p2 - second.low)
    return Interval(max(-1.0, p1 - p2 - down), min(1.0, p1 - p2 + up))


def fisher(k1: int, n1: int, k2: int, n2: int) -> float:
    """Fisher's exact p, two-sided; 1 where a side is empty or all trials ended the same way."""
    return fisher_within([(k1, n1, k2, n2)])


def fisher_within(strata: Iterable[tuple[int, int, int, int]]) -> float:
    """Fisher's exact p of k1/n1 against k2/n2 within strata (k1, n1, k2, n2), two-sided.

    Strata are not mixed: where sides differ because strata do, that is no effect. With the margins
    of each stratum given, it is the distribution of the sum of all k1 (Birch 1964; Gart 1970).
    """
    ways, at = [], 0
    for k1, n1, k2, n2 in strata:
        _check(k1, n1)
        _check(k2, n2)
        if n1 and n2 and k1 + k2 not in (0, n1 + n2):
            ways.append(_ways(n1, n2, k1 + k2))
            at += k1 - max(0, k1 + k2 - n2)
    return no_likelier(reduce(_of_the_sum, ways), at) if ways else 1.0


def _ways(n1: int, n2: int, k: int) -> "Floats":
    """Logarithms of how often each k1 comes among k failures of n1 + n2, from the least on."""
    import numpy as np
    from scipy.special import gammaln

    x = np.arange(max(0, k - n2), min(n1, k) + 1)
    ways: Floats = (
        gammaln(x + 1) + gammaln(n1 - x + 1) + gammaln(k - x + 1) + gammaln(n2 - k + x + 1)
    )
    return -ways


def _of_the_sum(first: "Floats", second: "Floats") -> "Floats":
    """The weights of the sum of two independent counts, from those of each; all logarithms."""
    import numpy as np

    with np.errstate(divide="ignore"):  # what is too rare for a float
        both: Floats = np.convolve(np.exp(first - first.max()), np.exp(second - second.max()))
        return np.log(both)


def no_likelier(weights: "Floats", at: int) -> float:
    """The probability of what is no likelier than the outcome `at`: an exact two-sided p.

    `weights` are the logarithms of what is proportional to each outcome's probability. Those that
    differ by no more than rounding count as equal.
    """
    from scipy.special import logsumexp

    as_far = weights[weights <= weights[at] + _ROUNDING]
    return min(1.0, exp(logsumexp(as_far) - logsumexp(weights)))


def separated(k1: int, n1: int, k2: int, n2: int) -> bool:
    """Whether the counts differ: Fisher's p under .05 and 0 outside Newcombe's interval."""
    difference = newcombe(k1, n1, k2, n2)
    if difference.low <= 0 <= difference.high:
        return False
    return fisher(k1, n1, k2, n2) < 0.05


def trials_to_settle(k1: int, n1: int, k2: int, n2: int) -> int | None:
    """Trials an arm that would separate the observed rates four times in five, were they true.

    By the arcsine approximation, n = 2 ((1.96 + .84) / h)^2: by exact count its odds are nearer
    three in four. Against a side without any failure (or pass) it would be far too hopeful; there
    it takes six on the other side for Fisher's p to fall under .05, so the answer is the trials
    that bring six. None where the observed rates are equal or a side is empty: no number would.
    """
    _check(k1, n1)
    _check(k2, n2)
    if n1 == 0 or n2 == 0 or k1 * n2 == k2 * n1:
        return None
    low, high = sorted((k1 / n1, k2 / n2))
    if low == 0 or high == 1:
        return trials_for_yield(6, high - low, confidence=0.8)
    return ceil(2 * ((1.96 + 0.84) / _arcsine_distance(low, high)) ** 2)


def power(p1: float, p2: float, n: int) -> float:
    """The chance that n trials an arm separate two true rates (arcsine approximation)."""
    _check_share(p1)
    _check_share(p2)
    reach = _arcsine_distance(p1, p2) * sqrt(n / 2)
    return (erfc((Z - reach) / sqrt(2)) + erfc((Z + reach) / sqrt(2))) / 2


def clean_trials_needed(p: float, confidence: float = 0.95) -> int:
    """Trials without a failure, one after the other, that show a rate of `p` to be gone."""
    _check_share(p)
    if p == 0 or not 0 < confidence < 1:
        raise ValueError(f"rate {p}, confidence {confidence}: need both over 0, confidence under 1")
    return 1 if p == 1 else ceil(log(1 - confidence) / log1p(-p))


def chance_of_at_least(k: int, n: int, p: float) -> float:
    """The chance of k or more failures in n independent trials at rate p."""
    _check_share(p)
    if k <= 0:
        return 1.0
    if k > n:
        return 0.0
    from scipy.special import bdtrc

    return float(bdtrc(k - 1, n, p))


def trials_for_yield(k: int, p: float, confidence: float = 0.95) -> int:
    """The fewest trials that bring k or more failures at rate p with that confidence."""
    if not (k >= 0 and 0 < p <= 1 and 0 < confidence < 1):
        raise ValueError(
            f"{k} failures at rate {p}, confidence {confidence}: need 0 or more failures,"
            " a rate over 0 and up to 1, a confidence between 0 and 1"
        )
    enough = max(1, k)
    while chance_of_at_least(k, enough, p) < confidence:
        enough *= 2
    return bisect_left(
        range(enough), True, lo=k, key=lambda n: chance_of_at_least(k, n, p) >= confidence
    )


def largest_separating(n1: int, k2: int, n2: int) -> int | None:
    """The most failures in n1 trials that would still be separated below k2 of n2.

    None where even none at all would not be: then n1 trials cannot show a drop.
    """
    _check(k2, n2)
    _check(0, n1)
    below = range(ceil(k2 * n1 / n2)) if n2 else range(0)
    first_not = bisect_left(below, True, key=lambda k: not separated(k, n1, k2, n2))
    return first_not - 1 if first_not else None


def smallest_separating_above(n1: int, k2: int, n2: int) -> int | None:
    """The fewest failures in n1 trials that would be separated above k2 of n2; None: none would."""
    passes = largest_separating(n1, n2 - k2, n2)
    return None if passes is None else n1 - passes


def design_effect(n: int, rho: float) -> float:
    """By how much n trials that share a restart weigh less than independent ones (Kish 1965).

    `rho` is the correlation inside a restart, 0 to 1: n / design_effect(n, rho) trials' worth.
    """
    _check_share(rho)
    return 1 + (n - 1) * rho


def share_text(share: float) -> str:
    """A share as percent: one decimal, or as many as keep its distance from 0 and 100 true."""
    if share in (0, 1):
        return f"{share:.0%}"
    tolerance = 10 * min(share, 1 - share)
    for decimals in range(1, 12):
        text = f"{100 * share:.{decimals}f}"
        if abs(float(text) - 100 * share) <= tolerance:
            break
    return f"{text}%"


def percent(interval: Interval) -> str:
    """An interval of a rate, such as "2.6-19.9%"."""
    return f"{share_text(interval.low).rstrip('%')}-{share_text(interval.high)}"


def rate_text(counts: Counts) -> str:
    """Counts with what they allow: "3/40, 7.5% (2.6-19.9%)".

    Where all trials ended the same way the rate itself would claim too much, so only the bound
    is given: "0/40, at most 8.8%", "40/40, at least 91.2%".
    """
    if counts.n == 0:
        return "no trials"
    interval = wilson(counts.fail, counts.n)
    if counts.fail == 0:
        return f"{counts}, at most {share_text(interval.high)}"
    if counts.passed == 0:
        return f"{counts}, at least {share_text(interval.low)}"
    return f"{counts}, {share_text(counts.fail / counts.n)} ({percent(interval)})"


def difference_text(first: Counts, second: Counts) -> str:
    """The first rate minus the second, such as "-10.0 points (-25.3 to +5.1)"."""
    if first.n == 0 or second.n == 0:
        return "no trials to compare"
    interval = newcombe(first.fail, first.n, second.fail, second.n)
    apart = first.fail / first.n - second.fail / second.n
    return f"{_points(apart)} points ({_points(interval.low)} to {_points(interval.high)})"


def p_text(p: float) -> str:
    """A p-value in at most two digits, such as "p = .31" or "p < .0001"."""
    if p < 0.0001:
        return "p < .0001"
    return f"p = {p:.2g}".replace("0.", ".", 1)


def _points(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:+.1f}"


def _arcsine_distance(p1: float, p2: float) -> float:
    """Cohen's h, without its sign."""
    return abs(2 * asin(sqrt(p1)) - 2 * asin(sqrt(p2)))


def _check(k: int, n: int) -> None:
    if not 0 <= k <= n:
        raise ValueError(f"{k} failures in {n} trials: need 0 <= failures <= trials")


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"{share} is not a share: need 0 to 1")
