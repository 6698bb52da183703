"""What the model assumes before any restart: the grid of rates, prior shares, thresholds."""

from math import exp, log

from msgspec import Struct

LOW, HIGH, POINTS = 0.05, 0.40, 10
"""The default grid of the baseline rate: evenly spaced in log odds."""


def log_odds(rate: float) -> float:
    """The logit of a rate between 0 and 1."""
    return log(rate / (1 - rate))


def rate_of(logit: float) -> float:
    """The rate with this logit."""
    return 1 / (1 + exp(-logit))


def spaced(low: float, high: float, points: int) -> tuple[float, ...]:
    """Rates from `low` to `high`, evenly spaced in log odds."""
    first, last = log_odds(low), log_odds(high)
    step = (last - first) / max(1, points - 1)
    return tuple(rate_of(first + step * at) for at in range(points))


class Grid(Struct, frozen=True):
    """The rates that are summed over: p0 with equal weights, r and rho as (value, weight)."""

    p0: tuple[float, ...] = spaced(LOW, HIGH, POINTS)
    residual: tuple[tuple[float, float], ...] = ((0.0, 0.5), (0.05, 0.2), (0.12, 0.2), (0.25, 0.1))
    rho: tuple[tuple[float, float], ...] = ((0.0, 0.4), (0.03, 0.3), (0.08, 0.3))

    def __post_init__(self) -> None:
        if not self.p0 or any(not 0 < rate < 1 for rate in self.p0):
            raise ValueError(f"grid of baseline rates {self.p0}: need rates between 0 and 1")
        for name, pairs in (("residual", self.residual), ("rho", self.rho)):
            if any(not 0 <= value < 1 or weight <= 0 for value, weight in pairs) or not pairs:
                raise ValueError(
                    f"grid of {name} {pairs}: need (value, weight) pairs,"
                    " values from 0 up to but not 1, weights over 0"
                )

    @property
    def rest(self) -> int:
        """Points for each p0: those of r times those of rho."""
        return len(self.residual) * len(self.rho)


class Settings(Struct, frozen=True):
    """What is assumed before any restart, and when something counts as decided.

    `singles`, `pairs`, `none` are prior shares (they need not sum to 1); `uniform` is the share
    of equal weights mixed into the operator's; `slip` the chance that a restart lies. `grid` None
    means the default one, stretched to the controls' rates. `decided` ends a search; `supported`
    and `refuted` are the thresholds of verdicts; `drift` is the p under which a control opens an
    epoch. The planner makes a control after `control_every` restarts without one, plans at
    most `max_trials` a restart, and stops inside one at `price` times the planned bits a second.
    """

    singles: float = 0.80
    pairs: float = 0.10
    none: float = 0.10
    uniform: float = 0.15
    slip: float = 0.005
    grid: Grid | None = None
    decided: float = 0.95
    supported: float = 0.99
    refuted: float = 0.01
    drift: float = 0.01
    control_every: int = 5
    max_trials: int = 40
    price: float = 0.6

    def __post_init__(self) -> None:
        if min(self.pairs, self.none) < 0 or self.singles <= 0:
            raise ValueError("prior shares: need singles over 0, pairs and none 0 or more")
        shares = {
            "uniform": (0 <= self.uniform <= 1, "0 to 1"),
            "slip": (0 < self.slip < 0.5, "over 0 and under 0.5"),
            "decided": (0.5 < self.decided < 1, "over 0.5 and under 1"),
            "supported": (self.decided <= self.supported < 1, "decided or more, and under 1"),
            "refuted": (0 < self.refuted < 0.5, "over 0 and under 0.5"),
            "drift": (0 <= self.drift < 1, "0 or more and under 1"),
            "control_every": (self.control_every >= 1, "1 or more"),
            "max_trials": (1 <= self.max_trials <= 400, "1 to 400"),
            "price": (0 <= self.price <= 1, "0 to 1"),
        }
        for name, (good, need) in shares.items():
            if not good:
                raise ValueError(f"{name} is {getattr(self, name)}: need {need}")


DEFAULTS = Settings()
