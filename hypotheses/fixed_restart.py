"""What a restart teaches whose trials are all driven, whatever they bring.

The planner's own restarts stop where the next trial is not worth its time; a run that drives a
fixed number is weighed here by the same measure: bits a second, a decision counted in.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hypotheses.model import Posterior, log_likelihoods
from hypotheses.planner import Candidate, Choice, Purpose
from hypotheses.sequential import Fixed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]


def rank_fixed(
    belief: Posterior, candidates: Sequence[Candidate], trials: int
) -> tuple[Choice, ...]:
    """The candidates with `trials` each as choices, the most worth a second first.

    Their `seconds_per_restart` are those of the whole restart, its trials included. `if_gone` is
    what is believed once all trials passed, and `if_there` once as many failed as the baseline's
    rate brings. Raises ValueError for a candidate without such seconds, and for fewer than 1 trial.
    """
    if not candidates:
        return ()
    rule = Fixed(trials)
    there, gone = _by_count(belief, trials)
    removed = belief.removed([one.toggles for one in candidates])
    choices = [
        _choice(belief, one, rule, there, gone, removed[:, at]) for at, one in enumerate(candidates)
    ]
    saved = max(one.bits for one in choices)
    worths = ((one.bits + one.decides * saved) / one.seconds for one in choices)
    worthy = [replace(one, worth=worth) for one, worth in zip(choices, worths, strict=True)]
    return tuple(sorted(worthy, key=lambda one: -one.worth))


def _by_count(belief: Posterior, trials: int) -> tuple[Floats, Floats]:
    """The joint chance of each state and count of failures, there and gone: states x counts."""
    import numpy as np
    from scipy.special import gammaln

    fails = np.arange(trials + 1)
    orders = gammaln(trials + 1) - gammaln(fails + 1) - gammaln(trials - fails + 1)
    sides = log_likelihoods(belief.grid, belief.settings.slip, fails, np.full_like(fails, trials))
    there, gone = (belief.weights @ np.exp(side + orders[:, None]).T for side in sides)
    return there, gone


def _choice(
    belief: Posterior,
    candidate: Candidate,
    rule: Fixed,
    there: Floats,
    gone: Floats,
    removed: Bools,
) -> Choice:
    import numpy as np

    seconds = candidate.seconds_per_restart
    if seconds is None or not 0 < seconds < float("inf"):
        raise ValueError(f"{seconds} seconds for a restart: need more than 0")
    joint = np.where(removed[:, None], gone, there)
    total = joint.sum(axis=0)
    posterior = joint[removed].sum(axis=0) / np.maximum(total, np.finfo(float).tiny)
    removes = float(belief.probabilities[removed].sum())
    enough = joint.max(axis=0) >= belief.settings.decided * total
    gain = _entropy(np.array([removes]))[0] - total @ _entropy(posterior)
    return Choice(
        toggles=candidate.toggles,
        purpose=Purpose.SEARCH,
        rule=rule,
        bits=max(0.0, float(gain)),
        seconds=seconds,
        trials=float(rule.at_most),
        decides=float(total[enough].sum()),
        worth=0.0,
        removes=removes,
        if_gone=float(posterior[0]),
        if_there=float(posterior[round(belief.rate * rule.at_most)]),
    )


def _entropy(chance: Floats) -> Floats:
    """Of a yes or no with this chance, in bits."""
    import numpy as np
    from scipy.special import entr

    bits: Floats = (entr(chance) + entr(np.maximum(0.0, 1.0 - chance))) / np.log(2)
    return bits
