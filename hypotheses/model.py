"""What the restarts allow one to believe about the cause: a posterior by exact enumeration.

A state is the set of causes that must all be removed for the failure to vanish: one cause, two
(either of which alone keeps the failure), or none of the listed. A restart removes the failure
when the state is not empty and all of it was switched off. What is not known about the rates is
summed over on a grid: the baseline rate p0, the residual r = p1 / p0 that a removal leaves, the
correlation rho of trials after one restart, and a small chance that a whole restart lies.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations, product
from math import ceil, fsum, log
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

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

T = TypeVar("T")

REACH = 0.8
"""How far, in log odds, the grid goes beyond a control's rate that lies near its end."""


class Restart(Struct, frozen=True):
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


Alike = tuple[frozenset[str], int, int]
"""What the likelihood takes of a restart: its toggles, its trials, and how many of them failed."""


def alike(restart: Restart) -> Alike:
    """Restarts for which this is the same are equally probable."""
    return restart.toggles, restart.n, restart.fail


class Posterior(Struct, frozen=True, eq=False, dict=True):
    """What is believed after `restarts`, in the order they happened.

    `members` (states x causes) says which causes each state has; `weights` (states x grid points,
    summing to 1) is the joint distribution with the newest epoch's p0; `evidence` is the
    logarithm (natural) of the probability of all trials, in their order, under the prior.
    """

    causes: tuple[str, ...]
    restarts: tuple[Restart, ...]
    settings: Settings
    grid: Grid
    members: Bools
    weights: Floats
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
    told = weighed(causes, weights, _epochs(restarts), settings)
    return replace(told, restarts=tuple(restarts))


def weighed(
    causes: Sequence[str],
    weights: Mapping[str, float] | None,
    epochs: Sequence[Counter[Alike]],
    settings: Settings = DEFAULTS,
) -> Posterior:
    """As `posterior`, from how many restarts of each epoch are alike; it names none of them.

    What it takes to weigh them grows with how many differ, and not with how many there are.
    """
    import numpy as np
    from scipy.special import logsumexp

    grid = settings.grid or _grid_for(epochs)
    prior = _log_prior(causes, weights or {}, settings)
    members = _members(len(causes), settings.pairs > 0)
    belief = Posterior(tuple(causes), (), settings, grid, members, prior[:, None])
    joint = _log_joint(belief, prior, [some for some in epochs if some])
    evidence = float(logsumexp(joint))
    return replace(belief, weights=np.exp(joint - evidence), evidence=evidence)


def grid_for(restarts: Iterable[Restart]) -> Grid:
    """The default grid, stretched where the rate of an epoch's controls lies near or past its end.

    The step stays, so that a baseline that fails nine times in ten (or once in a hundred) is met.
    """
    return _grid_for(_epochs(restarts))


def _grid_for(epochs: Iterable[Counter[Alike]]) -> Grid:
    rates = [log_odds((fail + 0.5) / (n + 1)) for fail, n in map(_controls, epochs) if n]
    low = min([log_odds(LOW), *(rate - REACH for rate in rates)])
    high = max([log_odds(HIGH), *(rate + REACH for rate in rates)])
    step = (log_odds(HIGH) - log_odds(LOW)) / (POINTS - 1)
    return Grid(p0=spaced(rate_of(low), rate_of(high), 1 + ceil((high - low) / step - 1e-9)))


class Points(Struct, frozen=True, eq=False):
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


def _log_joint(belief: Posterior, prior: Floats, told: Sequence[Counter[Alike]]) -> Floats:
    """States x points: all epochs, the older ones with their own p0 summed out."""
    import numpy as np
    from scipy.special import logsumexp

    grid = belief.grid
    joint: Floats = prior[:, None] + points(grid).log_prior
    if not told:
        return joint
    epochs = _log_epochs(belief, told)
    shape = (len(prior), len(grid.p0), grid.rest)
    past = logsumexp(epochs[:-1].reshape(-1, *shape), axis=2, keepdims=True) - np.log(shape[1])
    joint = (joint.reshape(shape) + past.sum(axis=0)).reshape(joint.shape)
    joint += epochs[-1]
    return joint


def _log_epochs(belief: Posterior, told: Sequence[Counter[Alike]]) -> Floats:
    """The log likelihood of each epoch's restarts, whatever their order: epochs x states x points.

    One row for all restarts with the same counts, and their number by epoch, toggles and counts.
    """
    import numpy as np

    alikes = [one for some in told for one in some]
    toggles = sorted({one[0] for one in alikes}, key=sorted)
    counts = sorted({one[1:] for one in alikes})
    rows, columns = _places(toggles), _places(counts)
    times = np.zeros((len(told), len(toggles), len(counts)))
    for epoch, some in zip(times, told, strict=True):
        for (removed, n, fail), number in some.items():
            epoch[rows[removed], columns[n, fail]] = number
    trials, fails = np.array(counts).T
    alive, gone = log_likelihoods(belief.grid, belief.settings.slip, fails, trials)
    where_gone = belief.removed(toggles).astype(float) @ times
    result: Floats = (times.sum(axis=1) @ alive)[:, None] + where_gone @ (gone - alive)
    return result


def _places(some: Sequence[T]) -> dict[T, int]:
    return {one: place for place, one in enumerate(some)}


def _epochs(restarts: Iterable[Restart]) -> list[Counter[Alike]]:
    """How many restarts with trials are alike, epoch by epoch."""
    epochs: dict[int, Counter[Alike]] = defaultdict(Counter)
    for one in restarts:
        if one.n:
            epochs[one.epoch][alike(one)] += 1
    return [epochs[epoch] for epoch in sorted(epochs)]


def _controls(told: Counter[Alike]) -> tuple[int, int]:
    """The failures and the trials of an epoch's controls."""
    some = [(n, fail, times) for (toggles, n, fail), times in told.items() if not toggles]
    return sum(fail * times for _, fail, times in some), sum(n * times for n, _, times in some)


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
