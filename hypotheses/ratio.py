"""How much a removal changes the failure rate, restarts taken as clusters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from hypotheses.assumptions import Grid, spaced
from hypotheses.model import Restart, log_beta_binomial

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LOWEST, HIGHEST, STEPS = 0.0005, 0.9995, 241
"""The rates that a side may have, evenly spaced in log odds."""
DEFAULT = Grid()


class Ratio(Struct, frozen=True):
    """The treated rate over the control's: its median and its 95% interval.

    0 is a failure gone, 1 no difference, more than 1 a failure made worse.
    """

    low: float
    middle: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} times the baseline's rate ({self.low:.2f}-{self.high:.2f})"


def rate_ratio(
    treated: Iterable[Restart], controls: Iterable[Restart], grid: Grid | None = None
) -> Ratio | None:
    """The ratio of two rates given the counts, both unknown (Jeffreys' prior) and clustered.

    The correlation inside a restart is summed over the grid's values, the same for both sides.
    None where a side has no trials.
    """
    import numpy as np

    sides = [[one for one in side if one.n] for side in (treated, controls)]
    if not all(sides):
        return None
    rates, prior = _rates()
    rho, weight = np.array((grid or DEFAULT).rho).T
    upper, lower = (_log_likelihood(side, rates, rho) + prior for side in sides)
    joint = np.log(weight)[:, None, None] + upper[:, :, None] + lower[:, None, :]
    mass = np.exp(joint - joint.max()).sum(axis=0)
    return Ratio(*_quantiles(np.divide.outer(rates, rates), mass, (0.025, 0.5, 0.975)))


@lru_cache(maxsize=1)
def _rates() -> tuple[Floats, Floats]:
    """The rates a side may have, and the log of Jeffreys' prior on even steps in log odds."""
    import numpy as np

    rates = np.array(spaced(LOWEST, HIGHEST, STEPS))
    return rates, np.log(rates * (1 - rates)) / 2


def _log_likelihood(side: Sequence[Restart], rates: Floats, rho: Floats) -> Floats:
    """Correlations x rates, all restarts of a side together."""
    import numpy as np

    counts = sorted((one.n, one.fail) for one in side)
    n, k = (np.array(column)[:, None] for column in zip(*counts, strict=True))
    rows = [log_beta_binomial(k, n, rates, np.full_like(rates, one)).sum(axis=0) for one in rho]
    return np.stack(rows)


def _quantiles(values: Floats, mass: Floats, shares: Sequence[float]) -> tuple[float, ...]:
    import numpy as np

    order = values.ravel().argsort(kind="stable")
    below = mass.ravel()[order].cumsum()
    places = np.searchsorted(below, np.array(shares) * below[-1])
    return tuple(values.ravel()[order][places].tolist())
