"""What planned trials can show, before any of them is made."""

from collections.abc import Iterable
from math import exp

from msgspec import Struct

from hypotheses.observation import Counts
from hypotheses.rates import (
    chance_of_at_least,
    design_effect,
    largest_separating,
    smallest_separating_above,
    trials_to_settle,
)
from hypotheses.verdict import Expect

RHO = 0.05
"""How far trials after one restart are taken to be alike, where restarts differ."""


class Prospect(Struct, frozen=True):
    """The chance that the counts come out separated if the failure rate is truly `rate`.

    `alike` is that chance where restarts differ from each other (correlation `RHO`).
    """

    case: str
    rate: float
    chance: float
    alike: float


def needed(trials: int, control: Counts, expect: Expect) -> str | None:
    """The failures in `trials` that would be separated, as "1/40 or fewer"; None: none would."""
    if expect is Expect.RISE:
        least = smallest_separating_above(trials, control.fail, control.n)
        return None if least is None else f"{least}/{trials} or more"
    most = largest_separating(trials, control.fail, control.n)
    return None if most is None else f"{most}/{trials} or fewer"


def prospects(
    trials: int,
    control: Counts,
    expect: Expect,
    rates: Iterable[tuple[str, float]],
    restarts: int = 1,
) -> tuple[Prospect, ...]:
    """For each case and its true rate, the chance to be separated the way that is expected.

    The trials are spread evenly over the `restarts`.
    """
    rho = spread_rho(trials, restarts)
    return tuple(
        Prospect(
            case,
            rate,
            _chance(trials, control, expect, rate, 0.0),
            _chance(trials, control, expect, rate, rho),
        )
        for case, rate in rates
    )


def spread_rho(trials: int, restarts: int) -> float:
    """How far trials over several restarts are alike, as one number with their design effect.

    1 + (n / m - 1) RHO of m restarts is that of one with (n / m - 1) RHO / (n - 1).
    """
    return RHO if restarts == 1 else (trials / restarts - 1) * RHO / (trials - 1)


def weight(trials: int) -> float:
    """As how many independent trials so many after one restart weigh, where restarts differ."""
    return trials / design_effect(trials, RHO)


def trials_to_halve(control: Counts) -> int | None:
    """Trials an arm that would tell half the control's rate from it, four times in five."""
    return trials_to_settle(control.fail, 2 * control.n, control.fail, control.n)


def _chance(trials: int, control: Counts, expect: Expect, rate: float, rho: float) -> float:
    if expect is Expect.RISE:
        least = smallest_separating_above(trials, control.fail, control.n)
        return 0.0 if least is None else 1 - _at_most(least - 1, trials, rate, rho)
    most = largest_separating(trials, control.fail, control.n)
    return 0.0 if most is None else _at_most(most, trials, rate, rho)


def _at_most(k: int, n: int, rate: float, rho: float) -> float:
    """The chance of k or fewer failures in n trials that are alike by `rho` (beta-binomial)."""
    if rho == 0 or rate in (0, 1):
        return 1 - chance_of_at_least(k + 1, n, rate)
    import numpy as np
    from scipy.special import betaln, gammaln, logsumexp

    spread = (1 - rho) / rho
    fail, clean = rate * spread, (1 - rate) * spread
    x = np.arange(n + 1)
    ways = -gammaln(x + 1) - gammaln(n - x + 1) + betaln(x + fail, n - x + clean)
    return exp(logsumexp(ways[: k + 1]) - logsumexp(ways))
