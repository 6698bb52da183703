"""What changed while nobody changed it: within a restart by position, across time by controls."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hypotheses.assumptions import DEFAULTS, Settings
from hypotheses.model import (
    Alike,
    Posterior,
    Restart,
    alike,
    log_beta_binomial,
    points,
    weighed,
)
from hypotheses.observation import Counts, Trial, count
from hypotheses.rates import fisher, p_text, rate_text, separated

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MOST_COUNTS = 20_000
"""Of a control with more trials than this, not every number of failures is looked at."""


class ByPosition(Struct, frozen=True):
    """The first half of a restart's trials against the second, in the order they ran."""

    first: Counts
    second: Counts
    p: float

    @property
    def drifted(self) -> bool:
        """Whether the halves differ by the rule for two counts."""
        return separated(self.first.fail, self.first.n, self.second.fail, self.second.n)

    def __str__(self) -> str:
        return (
            f"first half {rate_text(self.first)}; second half {rate_text(self.second)}"
            f" (Fisher {p_text(self.p)})"
        )


def in_order_of_start(trials: Sequence[Trial], ends: Sequence[float]) -> tuple[Trial, ...]:
    """`trials`, which ended at `ends` (seconds), in the order they began; none where they have no
    order, for they all ran at once.

    Trials that run beside each other end in another order than they began, the short ones first,
    and failing ones are often short. A trial that does not say how long it took counts as one
    that ran alone: those are in order as they came.
    """
    if not all(trial.seconds is not None for trial in trials):
        return tuple(trials)
    starts = [end - (trial.seconds or 0) for trial, end in zip(trials, ends, strict=True)]
    if len(trials) > 1 and max(starts) < min(ends):
        return ()
    by_start = sorted(range(len(trials)), key=starts.__getitem__)
    return tuple(trials[index] for index in by_start)


def by_position(trials: Sequence[Trial]) -> ByPosition:
    """Whether the first half of `trials` failed as often as the second (Fisher's exact test).

    The middle one of an odd number is in the second half.
    """
    half = len(trials) // 2
    first, second = count(trials[:half]), count(trials[half:])
    return ByPosition(first, second, fisher(first.fail, first.n, second.fail, second.n))


def with_epochs(
    causes: Sequence[str],
    weights: Mapping[str, float] | None,
    restarts: Sequence[Restart],
    settings: Settings = DEFAULTS,
) -> tuple[Restart, ...]:
    """The restarts, in the order they happened, each with its epoch.

    A control that is too surprising (`settings.drift`) opens a new epoch. It begins where that
    explains the trials best, after the control before. What the restarts' own epochs were is
    not looked at.
    """
    dated: list[Restart] = []
    told: list[Counter[Alike]] = [Counter()]
    quiet_since = 0
    for restart in restarts:
        dated.append(replace(restart, epoch=len(told) - 1))
        control = bool(restart.n) and not restart.toggles
        moved = bool(control and quiet_since) and (
            predictive_p(weighed(causes, weights, told, settings), restart) < settings.drift
        )
        if restart.n:
            told[-1][alike(restart)] += 1
        if moved:
            start, told[-1:] = _best_split(causes, weights, dated, told, quiet_since, settings)
            dated[start:] = [replace(one, epoch=len(told) - 1) for one in dated[start:]]
        if control:
            quiet_since = len(dated)
    return tuple(dated)


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


def opens_epoch(restarts: Sequence[Restart], run: str) -> bool:
    """Whether a control of `run` is the first one of the newest epoch, and there were others."""
    controls = [one for one in restarts if one.n and not one.toggles]
    newest = [one for one in controls if one.epoch == controls[-1].epoch]
    return len(newest) < len(controls) and newest[0].run == run


def _best_split(
    causes: Sequence[str],
    weights: Mapping[str, float] | None,
    dated: Sequence[Restart],
    told: Sequence[Counter[Alike]],
    earliest: int,
    settings: Settings,
) -> tuple[int, tuple[Counter[Alike], Counter[Alike]]]:
    """Where the new epoch makes all trials most probable, of equal places the latest; and the

    newest epoch on both sides of it. The place is `earliest` or later.
    """
    *before, older = told
    newer: Counter[Alike] = Counter()
    best, found = float("-inf"), (len(dated), (older, newer))
    for start in range(len(dated) - 1, earliest - 1, -1):
        if dated[start].n:
            one = Counter([alike(dated[start])])
            older, newer = older - one, newer + one
        evidence = weighed(causes, weights, [*before, older, newer], settings).evidence
        if evidence > best:
            best, found = evidence, (start, (older, newer))
    return found
