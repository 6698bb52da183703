"""What the restarts allow one to believe about the cause: a posterior by exact enumeration.

A state is the set of causes that must all be removed for the failure to vanish: one cause, two
(either of which alone keeps the failure), or none of the listed. A restart removes the failure
when the state is not empty and all of it was switched off. What is not known about the rates is
summed over on a grid: the baseline rate p0, the residual r = p1 / p0 that a removal leaves, the
correlation rho of trials after one restart, and a small chance that a whole restart lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import combinations, groupby, product
from math import ceil, fsum, log
from typing import TYPE_CHECKING

from hypotheses.assumptions import (
    DEFAULTS,
    HIGH,
    LOW,
    POINTS,
    Grid,
    Settings,
    log_odds,
    rate_of,
    spaced,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

MOST_COUNTS = 20_000
"""Of a control with more trials than this, not every number of failures is looked at."""
REACH = 0.8
"""How far, in log odds, the grid goes beyond a control's rate that lies near its end."""


@dataclass(frozen=True)
class Restart:
    """The trials after one restart: `fail` of `n` failed with the causes `toggles` removed.

    An empty `toggles` is a control. Censored trials are in neither number. Each `epoch` has a
    baseline rate of its own; the newest one is the present. `run` names the run it belongs to.
    """

    toggles: frozenset[str]
    fail: int
    n: int
    epoch: int = 0
    run: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.fail <= self.n:
            raise ValueError(
                f"a restart with {self.fail} failures in {self.n} trials:"
                " need 0 <= failures <= trials"
            )


@dataclass(frozen=True, eq=False)
class Posterior:
    """What is believed after `restarts`, in the order they happened.

    `members` (states x causes) says which causes each state has; `weights` (states x grid points,
    summing to 1) is the joint distribution with the newest epoch's p0; `evidence` is the
    logarithm (natural) of the probability of all trials, in their order, under the prior.
    """

    causes: tuple[str, ...]
    restarts: tuple[Restart, ...]
    settings: Settings
    grid: Grid
    members: Bools = field(repr=False)
    weights: Floats = field(repr=False)
    evidence: float = 0.0

    @cached_property
    def probabilities(self) -> Floats:
        """The probability of each state, in the order of `states`."""
        sums: Floats = self.weights.sum(axis=1)
        return sums

    @cached_property
    def states(self) -> tuple[frozenset[str], ...]:
        """None of the listed (the empty set), each cause, each pair."""
        return tuple(map(frozenset, _states(self.causes, self.settings.pairs > 0)))

    def probability(self, state: Iterable[str]) -> float:
        """The probability of this very state; 0 for one that is not enumerated."""
        wanted = frozenset(state)
        return float(self.probabilities[self.states.index(wanted)]) if wanted in self.states else 0

    def alone(self, cause: str) -> float:
        """The probability that removing `cause` alone removes the failure."""
        return self.probability({cause})

    def part(self, cause: str) -> float:
        """The probability that `cause` is part of the cause."""
        return float(self.probabilities @ self.members[:, self._place(cause)])

    @cached_property
    def by_cause(self) -> Mapping[str, float]:
        """`alone` of every cause."""
        singles = self.probabilities[1 : 1 + len(self.causes)].tolist()
        return dict(zip(self.causes, singles, strict=True))

    @property
    def none(self) -> float:
        """The probability that none of the listed causes is it."""
        return float(self.probabilities[0])

    @cached_property
    def best(self) -> tuple[frozenset[str], float]:
        """The most probable state and its probability; of equal ones the first."""
        at = int(self.probabilities.argmax())
        return self.states[at], float(self.probabilities[at])

    @property
    def entropy(self) -> float:
        """What is not known of the state, in bits."""
        return max(0.0, -fsum(p * log(p, 2) for p in self.probabilities.tolist() if p > 0))

    @property
    def rate(self) -> float:
        """The newest epoch's baseline rate: its mean."""
        p0 = points(self.grid).p0
        return float(self.weights.sum(axis=0) @ p0)

    def removed_by(self, toggles: Iterable[str]) -> float:
        """The probability that switching `toggles` off together removes the failure."""
        return float(self.probabilities @ self.removed([frozenset(toggles)])[:, 0])

    def removed(self, sets: Sequence[frozenset[str]]) -> Bools:
        """Which of the toggle sets remove the failure in which state: states x sets."""
        return _removed(self.members, [[self._place(one) for one in some] for some in sets])

    def _place(self, cause: str) -> int:
        if cause not in self.causes:
            raise ValueError(f"{cause!r} is not one of the causes: {', '.join(self.causes)}")
        return self.causes.index(cause)


def posterior(
    causes: Sequence[str],
    weights: Mapping[str, float] | None = None,
    restarts: Sequence[Restart] = (),
    settings: Settings = DEFAULTS,
) -> Posterior:
    """What to believe about `causes` after `restarts`, whatever their order and stopping rules.

    `weights` are the operator's, over 0; a cause without one gets the mean of the others. Raises
    ValueError for causes that are none or twice, bad weights, and toggles that are not causes.
    """
    import numpy as np
    from scipy.special import logsumexp

    grid = settings.grid or grid_for(restarts)
    prior = _log_prior(causes, weights or {}, settings)
    members = _members(len(causes), settings.pairs > 0)
    belief = Posterior(tuple(causes), tuple(restarts), settings, grid, members, prior[:, None])
    joint = _log_joint(belief, prior)
    evidence = float(logsumexp(joint))
    return Posterior(
        belief.causes, belief.restarts, settings, grid, members, np.exp(joint - evidence), evidence
    )


def grid_for(restarts: Iterable[Restart]) -> Grid:
    """The default grid, stretched where the rate of an epoch's controls lies near or past its end.

    The step stays, so that a baseline that fails nine times in ten (or once in a hundred) is met.
    """
    rates = [log_odds((fail + 0.5) / (n + 1)) for fail, n in _controls(restarts)]
    low = min([log_odds(LOW), *(rate - REACH for rate in rates)])
    high = max([log_odds(HIGH), *(rate + REACH for rate in rates)])
    step = (log_odds(HIGH) - log_odds(LOW)) / (POINTS - 1)
    return Grid(p0=spaced(rate_of(low), rate_of(high), 1 + ceil((high - low) / step - 1e-9)))


def predictive_p(belief: Posterior, control: Restart) -> float:
    """How surprising a control is, beside what is believed: small where the baseline has moved.

    The probability of counts no more probable than these in as many trials (posterior-predictive,
    two-sided); 1 for a control without trials. Slips are left out: a lie is a surprise, too.
    """
    import numpy as np
    from scipy.special import gammaln

    fails, each = _counts(control)
    passes = control.n - fails
    rates, weights = _baselines(belief)
    sequence = log_beta_binomial(fails, np.full_like(fails, control.n), *rates)
    orders = gammaln(control.n + 1) - gammaln(fails + 1) - gammaln(passes + 1)
    chances = np.exp(sequence + orders) @ weights
    as_rare = chances <= chances[(fails == control.fail)[:, 0]] * (1 + 1e-9)
    return float(min(1.0, chances[as_rare] @ each[as_rare]))


def _counts(control: Restart) -> tuple[NDArray[np.int_], Floats]:
    """The numbers of failures that a control could have had, and for how many each stands.

    All of them; of more than `MOST_COUNTS` so many, evenly spaced, and its own.
    """
    import numpy as np

    places = np.linspace(0, control.n, min(control.n, MOST_COUNTS) + 1).round().astype(int)
    fails = np.union1d(places, [control.fail])
    between = (fails[1:] + fails[:-1]) / 2
    return fails[:, None], np.diff(np.concatenate([[-0.5], between, [control.n + 0.5]]))


def _baselines(belief: Posterior) -> tuple[Floats, Floats]:
    """Each p0 with each rho (2 x pairs), and the weight of each pair."""
    import numpy as np

    at = points(belief.grid)
    pairs, place = np.unique(np.stack([at.p0, at.rho]), axis=1, return_inverse=True)
    weights = np.bincount(place.ravel(), belief.weights.sum(axis=0))
    return pairs, weights.astype(np.float64)


@dataclass(frozen=True, eq=False)
class Points:
    """A grid's points, flat, p0 slowest: p0, p1 = r p0, rho, and the logarithm of the prior."""

    p0: Floats
    p1: Floats
    rho: Floats
    log_prior: Floats


@lru_cache(maxsize=64)
def points(grid: Grid) -> Points:
    """All points of a grid, each value as one array."""
    import numpy as np

    rows = [
        (p0, r * p0, rho, r_weight * rho_weight)
        for p0, (r, r_weight), (rho, rho_weight) in product(grid.p0, grid.residual, grid.rho)
    ]
    p0, p1, rho, weight = np.array(rows).T
    return Points(p0, p1, rho, np.log(weight / weight.sum()))


def log_likelihoods(
    grid: Grid, slip: float, fails: NDArray[np.int_], trials: NDArray[np.int_]
) -> tuple[Floats, Floats]:
    """The log probability of each sequence of trials while the failure is there, and once gone.

    `fails` and `trials` are counts after one restart each; both results are restarts x points.
    A sequence with k failures in n has B(a + k, b + n - k) / B(a, b), a = p (1 - rho) / rho and
    b = (1 - p) (1 - rho) / rho; the order and the stopping rule do not enter.
    """
    import numpy as np

    at = points(grid)
    k, n = fails[:, None], trials[:, None]
    there = log_beta_binomial(k, n, at.p0, at.rho)
    gone = log_beta_binomial(k, n, at.p1, at.rho)
    honest, lying = np.log1p(-slip), np.log(slip)
    return (
        np.logaddexp(honest + there, lying + gone),
        np.logaddexp(honest + gone, lying + there),
    )


def log_beta_binomial(k: NDArray[np.int_], n: NDArray[np.int_], p: Floats, rho: Floats) -> Floats:
    """The log probability of a sequence with k failures in n, at mean rate p and correlation rho.

    k and n are a column, p and rho a row; rho 0 is the plain Bernoulli, and p 0 never fails.
    """
    import numpy as np
    from scipy.special import betaln, xlog1py, xlogy

    plain = xlogy(k, p) + xlog1py(n - k, -p)
    clustered = (rho > 0) & (p > 0)
    spread = (1 - rho) / np.where(clustered, rho, 1)
    a, b = np.where(clustered, p * spread, 1), np.where(clustered, (1 - p) * spread, 1)
    result: Floats = np.where(clustered, betaln(a + k, b + n - k) - betaln(a, b), plain)
    return result


def _log_joint(belief: Posterior, prior: Floats) -> Floats:
    """States x points: all epochs, the older ones with their own p0 summed out."""
    import numpy as np
    from scipy.special import logsumexp

    grid = belief.grid
    shape = (len(prior), len(grid.p0), grid.rest)
    joint: Floats = prior[:, None] + points(grid).log_prior
    epochs = [_log_epoch(belief, list(some)) for some in _epochs(belief.restarts)]
    for past in epochs[:-1]:
        summed = logsumexp(past.reshape(shape), axis=1, keepdims=True) - np.log(len(grid.p0))
        joint = (joint.reshape(shape) + summed).reshape(joint.shape)
    return joint + epochs[-1] if epochs else joint


def _log_epoch(belief: Posterior, restarts: list[Restart]) -> Floats:
    """The log likelihood of one epoch's restarts: states x points."""
    import numpy as np

    fails, trials = np.array([(one.fail, one.n) for one in restarts]).T
    alive, gone = log_likelihoods(belief.grid, belief.settings.slip, fails, trials)
    removed = belief.removed([one.toggles for one in restarts])
    result: Floats = alive.sum(axis=0) + removed.astype(float) @ (gone - alive)
    return result


def _epochs(restarts: Iterable[Restart]) -> list[list[Restart]]:
    """Those with trials, epoch by epoch, each in one order whatever the order they came in."""
    told = sorted(
        (one for one in restarts if one.n),
        key=lambda one: (one.epoch, sorted(one.toggles), one.n, one.fail),
    )
    return [list(some) for _, some in groupby(told, key=lambda one: one.epoch)]


def _controls(restarts: Iterable[Restart]) -> list[tuple[int, int]]:
    """The pooled counts of each epoch's controls."""
    pools = []
    for some in _epochs(one for one in restarts if not one.toggles):
        pools.append((sum(one.fail for one in some), sum(one.n for one in some)))
    return pools


def _states(causes: Iterable[str], pairs: bool) -> list[tuple[str, ...]]:
    causes = list(causes)
    singles: list[tuple[str, ...]] = [(), *((one,) for one in causes)]
    return singles + list(combinations(causes, 2)) if pairs else singles


@lru_cache(maxsize=16)
def _members(causes: int, pairs: bool) -> Bools:
    import numpy as np

    states = _states(map(str, range(causes)), pairs)
    members = np.zeros((len(states), causes), dtype=np.bool_)
    for row, state in enumerate(states):
        members[row, [int(one) for one in state]] = True
    members.flags.writeable = False
    return members


def _removed(members: Bools, sets: Sequence[Sequence[int]]) -> Bools:
    import numpy as np

    outside = np.ones((members.shape[1], len(sets)))
    for column, some in enumerate(sets):
        outside[list(some), column] = 0
    removed: Bools = (members.astype(float) @ outside) == 0
    removed[0] = False
    return removed


def _log_prior(causes: Sequence[str], weights: Mapping[str, float], settings: Settings) -> Floats:
    """The log prior of each state: shares of none, singles and pairs, by the operator's weights."""
    import numpy as np

    share = _cause_weights(causes, weights, settings.uniform)
    pairs = [share[i] * share[j] for i, j in combinations(range(len(causes)), 2)]
    groups = [(settings.none, [1.0]), (settings.singles, share)]
    if settings.pairs > 0:
        groups.append((settings.pairs, pairs))
    flat = [part * one / fsum(some) for part, some in groups for one in some]
    with np.errstate(divide="ignore"):
        logs: Floats = np.log(np.array(flat) / fsum(flat))
    return logs


def _cause_weights(
    causes: Sequence[str], weights: Mapping[str, float], uniform: float
) -> list[float]:
    if not causes or len(set(causes)) < len(causes):
        raise ValueError(f"causes {', '.join(causes) or '(none)'}: need one or more, each once")
    for cause, weight in weights.items():
        if cause not in causes or not 0 < weight < float("inf"):
            raise ValueError(f"weight {weight} of {cause!r}: need a cause and a weight over 0")
    mean = fsum(weights.values()) / len(weights) if weights else 1.0
    given = [weights.get(cause, mean) for cause in causes]
    return [(1 - uniform) * one / fsum(given) + uniform / len(causes) for one in given]
