"""The next restart: what to switch off, and when to stop, for the most bits a second.

For each candidate toggle set the best stopping inside the restart is found by dynamic programming
over the counts, with the rates as they are believed to be for that set, and the most expected
bits a second by Dinkelbach's iteration (1967): at a price of lambda bits a second the best plan's
bits over its seconds is the next lambda. The best few are then planned once more with what a
decision saves: about the bits of another restart.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec import Struct

from hypotheses.assumptions import Grid
from hypotheses.model import Posterior, Restart, log_likelihoods
from hypotheses.rates import clean_trials_needed, wilson
from hypotheses.sequential import (
    GO_ON,
    SETTLED,
    TAUGHT,
    Failures,
    Rule,
    Sequences,
    Walk,
    WhenDecided,
    by_trials,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

TOP = 6
"""How many of the most probable states get toggle sets of their own."""
FEW, MANY = 5, 50
"""How many of the best candidates are planned in full: of any toggle set, of those given."""
TARGETS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
"""Chances to remove the failure that sets are filled up to."""
CONTROL_CONFIDENCE = 0.99
"""A control is long enough to show that the baseline's rate is gone, this surely."""


class Purpose(StrEnum):
    """What a restart is for."""

    SEARCH = "search"
    CONTROL = "control"
    REPRODUCE = "reproduce first"
    DRIFT = "new baseline"
    SHOW = "show the claim"
    PROBE = "see the mechanism"
    DETECTOR = "test the detector"


class Candidate(Struct, frozen=True):
    """A toggle set that one restart can bring about; its own seconds where it has some."""

    toggles: frozenset[str]
    seconds_per_restart: float | None = None
    seconds_per_trial: float | None = None


class Choice(Struct, frozen=True):
    """A restart to make: what it removes, when it stops, what it should teach and cost.

    `bits`, `seconds` and `trials` are expected; `decides` is the chance that it decides the
    search, and `worth` the bits a second with that counted in, by which choices are ranked.
    `removes` is the probability that the toggles remove the failure; after the restart it is
    expected to be `if_gone` or `if_there`, as the counts speak for the one or for the other.
    """

    toggles: frozenset[str]
    purpose: Purpose
    rule: Rule
    bits: float
    seconds: float
    trials: float
    decides: float
    worth: float
    removes: float
    if_gone: float
    if_there: float

    @property
    def rate(self) -> float:
        """Expected bits a second."""
        return self.bits / self.seconds


def decided(belief: Posterior) -> frozenset[str] | None:
    """The state whose probability has reached `settings.decided`, if any.

    The empty set says that none of the listed causes is it.
    """
    state, probability = belief.best
    return state if probability >= belief.settings.decided else None


def next_restart(
    belief: Posterior,
    candidates: Sequence[Candidate] | None,
    seconds_per_restart: float,
    seconds_per_trial: float,
) -> Choice | None:
    """The restart that teaches most a second, or a control where one is due; None when decided.

    `candidates` None means any toggle set. A control is due until one has failed, and after
    `control_every` restarts without one. None, too, where no candidate can teach anything.
    """
    if decided(belief) is not None:
        return None
    due = control_due(belief)
    if due is not None:
        return control(belief, due, seconds_per_restart, seconds_per_trial)
    ranked = rank(belief, candidates, seconds_per_restart, seconds_per_trial)
    return ranked[0] if ranked and ranked[0].bits > 0 else None


def rank(
    belief: Posterior,
    candidates: Sequence[Candidate] | None,
    seconds_per_restart: float,
    seconds_per_trial: float,
) -> tuple[Choice, ...]:
    """The candidates as choices, the most bits a second first.

    Of many, the best `MANY`; without `candidates`, the best `FEW` of all toggle sets. Raises
    ValueError for seconds that are not over 0.
    """
    import numpy as np

    given = toggle_sets(belief) if candidates is None else list(candidates)
    if not given:
        return ()
    restart = np.array([_over_zero(one.seconds_per_restart, seconds_per_restart) for one in given])
    trial = np.array([_over_zero(one.seconds_per_trial, seconds_per_trial) for one in given])
    sequences = _sequences(belief, [one.toggles for one in given])
    rates, bits = Walk(sequences).most_a_second(restart, trial)
    best = np.argsort(-rates, kind="stable")[: FEW if candidates is None else MANY]
    choices = _planned(
        belief,
        [given[at].toggles for at in best],
        sequences.only(best.tolist()),
        _Economy(rates[best], float(bits[best[0]]), restart[best], trial[best]),
    )
    return tuple(sorted(choices, key=lambda one: -one.worth))


def control_due(belief: Posterior) -> Purpose | None:
    """Whether the next restart should be a control, and why.

    Until a control has failed there is nothing that a toggle could remove.
    """
    controls = [one for one in belief.restarts if not one.toggles and one.n]
    if not any(one.fail for one in controls):
        return Purpose.REPRODUCE
    recent = belief.restarts[-belief.settings.control_every :]
    if len(recent) == belief.settings.control_every and all(one.toggles for one in recent):
        return Purpose.CONTROL
    return None


def control(
    belief: Posterior, purpose: Purpose, seconds_per_restart: float, seconds_per_trial: float
) -> Choice:
    """A restart with nothing switched off: long enough to show the baseline gone, were it so."""
    rule = _control_rule(belief, purpose)
    trials = (1 - (1 - belief.rate) ** rule.at_most) / belief.rate
    return Choice(
        toggles=frozenset(),
        purpose=purpose,
        rule=rule,
        bits=0.0,
        seconds=_over_zero(None, seconds_per_restart)
        + trials * _over_zero(None, seconds_per_trial),
        trials=trials,
        decides=0.0,
        worth=0.0,
        removes=0.0,
        if_gone=0.0,
        if_there=0.0,
    )


def trials_to_reproduce(restarts: Iterable[Restart]) -> int:
    """Trials that would bring a failure 19 times in 20 at the highest rate the controls allow.

    Where they have not failed yet; with few trials or none, at the lowest rate usually met (5%).
    """
    trials = sum(one.n for one in restarts if not one.toggles)
    return clean_trials_needed(min(0.05, wilson(0, trials).high))


def toggle_sets(belief: Posterior) -> list[Candidate]:
    """Toggle sets worth a look, each once, in a fixed order.

    Prefixes of the order of suspicion and their complements, one alone and all but one of the
    most probable states, and fills towards a chance to remove the failure.
    """
    suspicion = sorted(belief.causes, key=lambda one: (-belief.part(one), belief.causes.index(one)))
    everything = frozenset(suspicion)
    prefixes = [frozenset(suspicion[:size]) for size in range(1, len(suspicion) + 1)]
    order = (-belief.probabilities).argsort(kind="stable")[: TOP + 1].tolist()
    top = [belief.states[at] for at in order if belief.states[at]]
    fills = [_fill(belief, suspicion, target, skip) for target in TARGETS for skip in (0, 1)]
    sets = [*prefixes, *(everything - one for one in prefixes), *top]
    sets += [*(everything - one for one in top), *fills]
    return [Candidate(one) for one in dict.fromkeys(sets) if one]


def _fill(belief: Posterior, suspicion: Sequence[str], target: float, skip: int) -> frozenset[str]:
    """Causes in the order of suspicion, from place `skip` on, that keep the chance within target.

    A pair counts for the set only when both its causes are in it.
    """
    mass = belief.by_cause
    chosen: list[str] = []
    total = 0.0
    for cause in suspicion[skip:]:
        if total + mass[cause] <= target:
            chosen.append(cause)
            total += mass[cause]
    return frozenset(chosen)


def _sequences(belief: Posterior, sets: Sequence[frozenset[str]]) -> Sequences:
    """The joint chances of all sequences for each toggle set, by its own weights of the rates."""
    settings = belief.settings
    alive, gone = sequence_chances(belief.grid, settings.slip, settings.max_trials)
    removing = belief.removed(sets).T.astype(float) @ belief.weights
    staying = belief.weights.sum(axis=0) - removing
    staying[staying < 0] = 0
    return Sequences(staying @ alive, removing @ gone, settings.max_trials)


@lru_cache(maxsize=4)
def sequence_chances(grid: Grid, slip: float, trials: int) -> tuple[Floats, Floats]:
    """The chance of one sequence for each point and cell: there, and gone."""
    import numpy as np

    n = np.repeat(np.arange(trials + 1), np.arange(1, trials + 2))
    k = np.arange(len(n)) - n * (n + 1) // 2
    alive, gone = log_likelihoods(grid, slip, k, n)
    return np.exp(alive).T.copy(), np.exp(gone).T.copy()


class _Economy(Struct, frozen=True, eq=False):
    """What each set's restart costs and should bring; one number a set.

    `rates` are the most bits a second, `restart` and `trial` are seconds. A decision is worth
    `saved` bits: what the best of the next restarts would bring.
    """

    rates: Floats
    saved: float
    restart: Floats
    trial: Floats


def _planned(
    belief: Posterior, sets: Sequence[frozenset[str]], sequences: Sequences, economy: _Economy
) -> list[Choice]:
    """A choice for each set: its plan at a share of its best price, and what that leads to."""
    import numpy as np

    walk = Walk(sequences)
    settled = _settled(belief, sets, sequences)
    bonus = np.where(settled, np.float64(economy.saved), np.float64(0))
    price = belief.settings.price * economy.rates * economy.trial
    stop = walk.best(price, bonus).stop | settled
    ends = walk.ends(stop)
    driven = np.repeat(np.arange(sequences.trials + 1), np.arange(1, sequences.trials + 2))
    trials, bits, worth = ends @ driven, (ends * walk.gain).sum(1), (ends * bonus).sum(1)
    seconds = economy.restart + economy.trial * trials
    removes, if_gone, if_there = _ways_out(ends, walk.posterior)
    bits = np.maximum(0, bits)
    columns = (
        bits,
        seconds,
        trials,
        (ends * settled).sum(1),
        np.maximum(0, bits + worth) / seconds,
        removes,
        if_gone,
        if_there,
    )
    numbers = np.stack(columns, axis=1).tolist()
    rules = _rules(stop, settled, sequences.trials)
    return [
        Choice(toggles, Purpose.SEARCH, rule, *row)
        for toggles, rule, row in zip(sets, rules, numbers, strict=True)
    ]


def _ways_out(ends: Floats, posterior: Floats) -> tuple[Floats, Floats, Floats]:
    """The probability to remove before a restart; its means after it, where it rose and fell."""
    import numpy as np

    removes = posterior[:, 0]
    means = []
    for there in (posterior > removes[:, None], posterior < removes[:, None]):
        weights = np.where(there, ends, 0.0)
        total = weights.sum(axis=1)
        some = total > 0
        mean = (weights * posterior).sum(axis=1) / np.where(some, total, 1)
        means.append(np.where(some, mean, removes))
    return removes, means[0], means[1]


def _settled(belief: Posterior, sets: Sequence[frozenset[str]], sequences: Sequences) -> Bools:
    """Where one state would be probable enough to end the search: sets x cells.

    Only the most probable states of either side can get there.
    """
    import numpy as np

    settings = belief.settings
    tables = sequence_chances(belief.grid, settings.slip, settings.max_trials)
    best = np.zeros_like(sequences.there)
    for at, removed in enumerate(belief.removed(sets).T):
        for side, table in zip((~removed, removed), tables, strict=True):
            order = np.argsort(-np.where(side, belief.probabilities, -1), kind="stable")
            top = belief.weights[order[: min(TOP, int(side.sum()))]]
            if len(top):
                best[at] = np.maximum(best[at], (top @ table).max(axis=0))
    enough: Bools = best >= settings.decided * (sequences.there + sequences.gone)
    enough[:, 0] = False
    return enough


def _rules(stop: Bools, settled: Bools, trials: int) -> list[Rule]:
    """The stopping tables."""
    import numpy as np

    marks = np.where(settled, SETTLED, np.where(stop, TAUGHT, GO_ON))
    tables = zip(*(map("".join, row.tolist()) for row in by_trials(marks, trials)), strict=True)
    return [WhenDecided(table) for table in tables]


def _control_rule(belief: Posterior, purpose: Purpose) -> Rule:
    if purpose is Purpose.REPRODUCE:
        return Failures(1, trials_to_reproduce(belief.restarts))
    needed = clean_trials_needed(belief.rate, CONTROL_CONFIDENCE)
    return Failures(1, max(1, min(needed, 4 * belief.settings.max_trials)))


def _over_zero(own: float | None, otherwise: float) -> float:
    seconds = otherwise if own is None else own
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{seconds} seconds for a restart or a trial: need more than 0")
    return seconds
