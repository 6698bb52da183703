"""Time to failure: failures per exposure, where what is counted is not trials but time.

A soak runs until it fails or its time is up; exposure is what it ran in all, in seconds or
attempts. Failures are taken for a Poisson process, so rates and comparisons are exact for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf, log, log1p, sqrt

from msgspec import Struct

from hypotheses.rates import no_likelier, p_text

TAIL = 0.025
"""Either side of a 95% interval."""
MINUTE, HOUR = 60.0, 3600.0
SIX = 6
"""Failures on one side, none on the other, that are separated at equal exposure."""
MOST = 1000
"""Times the control's exposure; what would not be separated then never is."""


class Exposure(Struct, frozen=True):
    """Failures in some exposure (seconds or attempts, over 0 unless there was none at all)."""

    failures: int = 0
    amount: float = 0.0

    def __post_init__(self) -> None:
        if self.failures < 0 or not 0 <= self.amount < inf:
            raise ValueError(
                f"{self.failures} failures in an exposure of {self.amount}: need 0 or more of both"
            )
        if self.failures and not self.amount:
            raise ValueError(f"{self.failures} failures in no exposure: need the time they took")

    def __add__(self, other: Exposure) -> Exposure:
        return Exposure(self.failures + other.failures, self.amount + other.amount)

    @property
    def rate(self) -> float | None:
        """Failures per unit of exposure; None where there was none."""
        return self.failures / self.amount if self.amount else None


class Bounds(Struct, frozen=True):
    """From `low` to `high`; `high` may be infinite."""

    low: float
    high: float


class Compared(Struct, frozen=True):
    """Two exposures: the ratio of the first rate to the second, at 95%, and the exact p."""

    ratio: Bounds
    p: float

    @property
    def separated(self) -> bool:
        """Whether the rates differ: p under .05 and 1 outside the interval."""
        return self.p < 0.05 and not self.ratio.low <= 1 <= self.ratio.high


def pooled(exposures: Iterable[Exposure]) -> Exposure:
    """Several soaks together."""
    return sum(exposures, Exposure())


def rate_interval(one: Exposure) -> Bounds:
    """The exact interval of the rate per unit of exposure (Garwood 1936); 0 to inf without any."""
    if not one.amount:
        return Bounds(0.0, inf)
    from scipy.special import gammaincinv

    k = one.failures
    low = float(gammaincinv(k, TAIL)) if k else 0.0
    return Bounds(low / one.amount, float(gammaincinv(k + 1, 1 - TAIL)) / one.amount)


def compare(first: Exposure, second: Exposure) -> Compared:
    """Whether two rates differ, by the failures' split given their sum.

    Under equal rates the first's failures are binomial with its share of the exposure: the p is
    exact and two-sided, the interval of the ratio Clopper and Pearson's, carried over
    (Przyborowski and Wilenski 1940). Says nothing (0 to inf, p 1) without failures or exposure.
    """
    k, n = first.failures, first.failures + second.failures
    if n == 0 or not (first.amount and second.amount):
        return Compared(Bounds(0.0, inf), 1.0)
    import numpy as np
    from scipy.special import betaincinv, gammaln

    low = float(betaincinv(k, n - k + 1, TAIL)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - TAIL)) if k < n else 1.0
    share = first.amount / (first.amount + second.amount)
    scale = second.amount / first.amount
    ratio = Bounds(_odds(low) * scale, _odds(high) * scale)
    x = np.arange(n + 1)
    weights = x * log(share) + (n - x) * log1p(-share) - gammaln(x + 1) - gammaln(n - x + 1)
    return Compared(ratio, no_likelier(weights, k))


def clean_needed(rate: float, confidence: float = 0.95) -> float:
    """The exposure without a failure that shows a rate to be gone: 3.0 / rate at 95%."""
    if not rate > 0 or not 0 < confidence < 1:
        raise ValueError(
            f"rate {rate}, confidence {confidence}: need a rate over 0, under 1 of both"
        )
    return -log1p(-confidence) / rate


def clean_to_separate(control: Exposure) -> float | None:
    """The least exposure that, without a failure, is separated from `control`.

    None where no exposure would be: a failure or two may always be luck.
    """
    if not control.failures:
        return None
    low, high = 0.0, control.amount
    while not compare(Exposure(0, high), control).separated:
        low, high = high, 2 * high
        if high > MOST * control.amount:
            return None
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (
            (low, middle) if compare(Exposure(0, middle), control).separated else (middle, high)
        )
    return high


def to_settle(first: Exposure, second: Exposure) -> float | None:
    """The exposure a side that separates the observed rates four times in five, were they true.

    By the square root of counts, whose variance is a quarter whatever the rate. Against a side
    without a failure it takes six on the other for p to fall under .05: the answer is the exposure
    that brings six. None where the rates are equal or a side has no exposure.
    """
    if first.rate is None or second.rate is None or first.rate == second.rate:
        return None
    low, high = sorted((first.rate, second.rate))
    if low == 0:
        from scipy.special import gammaincinv

        return float(gammaincinv(SIX, 0.8)) / high
    return (1.96 + 0.84) ** 2 / 2 / (sqrt(high) - sqrt(low)) ** 2


def exposure_text(one: Exposure, unit: str = "seconds") -> str:
    """Such as "5 in 10 min, one in 2 min (51.4 s to 6.16 min)", "0 in 1 h, at most one in 16 min".

    `unit` is seconds, which are written as time, or attempts.
    """
    if not one.amount:
        return f"{one.failures} in no exposure"
    counts = f"{one.failures} in {amount_text(one.amount, unit)}"
    bounds = rate_interval(one)
    if not one.failures:
        return f"{counts}, at most one in {amount_text(1 / bounds.high, unit)}"
    low = amount_text(1 / bounds.high, unit).removesuffix(" attempts")
    between = f"{low} to {amount_text(1 / bounds.low, unit)}"
    return f"{counts}, one in {amount_text(one.amount / one.failures, unit)} ({between})"


def amount_text(amount: float, unit: str) -> str:
    """An exposure: 51.4 s, 8.13 min, 2.5 h; or 40 attempts."""
    if unit != "seconds":
        return f"{_number(amount)} {unit}"
    if amount < 2 * MINUTE:
        return f"{_number(amount)} s"
    if amount < 2 * HOUR:
        return f"{_number(amount / MINUTE)} min"
    return f"{_number(amount / HOUR)} h"


def compared_text(first: Exposure, second: Exposure) -> str:
    """Such as "rate ratio at most 0.36, p = .0010"."""
    both = compare(first, second)
    low, high = both.ratio.low, both.ratio.high
    if low == 0 and high == inf:
        return "no failures to compare"
    if low == 0:
        ratio = f"at most {_number(high)}"
    elif high == inf:
        ratio = f"at least {_number(low)}"
    else:
        middle = first.failures * second.amount / (second.failures * first.amount)
        ratio = f"{_number(middle)} ({_number(low)}-{_number(high)})"
    return f"rate ratio {ratio}, {p_text(both.p)}"


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else inf


def _number(value: float) -> str:
    """Three digits, whole numbers in full."""
    return f"{value:.0f}" if value == round(value) or value >= 100 else f"{value:.3g}"
