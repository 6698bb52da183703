"""When to stop inside a restart: rules that are fixed before it, and stay valid under peeking.

A rule sees the outcomes so far (True is a failure; censored trials are left out) and gives the
reason to stop, or None. What the model believes does not depend on the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import exp, log
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

E_LIMIT = 20.0
"""An e-value of 20 or more under no difference has at most 1 chance in 20, however often seen."""
E_PRIOR = 0.18
"""The Beta prior, both parameters, of each side's next trial (Turner, Ly and Gruenwald 2021)."""
ROUNDS = 12
"""Dinkelbach's iteration settles in four or five; this bounds it."""
LEAST = 1e-300
"""Sequences rarer than this are taken to be as rare: some have no float of their own."""
GO_ON, TAUGHT, SETTLED = "-", "t", "s"
"""Marks of a `WhenDecided` table."""


class Rule(Protocol):
    """A stopping rule; `at_most` is the number of trials it never exceeds."""

    @property
    def at_most(self) -> int: ...

    def stop(self, outcomes: Sequence[bool]) -> str | None:
        """Why to stop after these outcomes, or None to go on."""
        ...


class Fixed(Struct, frozen=True):
    """All trials, whatever they bring; `why`, where another rule was asked for."""

    at_most: int
    why: str = ""

    def __post_init__(self) -> None:
        _check_at_most(self.at_most)

    def __str__(self) -> str:
        return f"fixed: {_trials(self.at_most)}{f', since {self.why}' if self.why else ''}"

    def stop(self, outcomes: Sequence[bool]) -> str | None:
        return f"all {_trials(self.at_most)} done" if len(outcomes) >= self.at_most else None


class Failures(Struct, frozen=True):
    """Until so many trials have failed."""

    failures: int
    at_most: int

    def __post_init__(self) -> None:
        _check_at_most(self.at_most)
        if self.failures < 1:
            raise ValueError(f"stop after {self.failures} failures: need 1 or more")

    def __str__(self) -> str:
        return f"until {_failures(self.failures)}, at most {_trials(self.at_most)}"

    def stop(self, outcomes: Sequence[bool]) -> str | None:
        if sum(outcomes) >= self.failures:
            return f"{_failures(self.failures)} seen"
        return Fixed(self.at_most).stop(outcomes)


class WhenDecided(Struct, frozen=True):
    """Until the restart has taught what is worth its time, or the whole search is decided.

    `marks[n][k]` is what to do after k failures in n trials: go on, stop because the next trial
    teaches too little a second, or stop because one state is probable enough.
    """

    marks: tuple[str, ...]

    def __post_init__(self) -> None:
        _check_at_most(self.at_most)
        known = {GO_ON, TAUGHT, SETTLED}
        for n, row in enumerate(self.marks):
            if len(row) != n + 1 or not set(row) <= known:
                raise ValueError(
                    f"stopping table, row {n} is {row!r}:"
                    f" need {n + 1} marks out of {' '.join(sorted(known))}"
                )

    @property
    def at_most(self) -> int:
        return len(self.marks) - 1

    def __str__(self) -> str:
        ends = " or ".join(self._ends())
        return f"when decided, at most {_trials(self.at_most)}{f': at {ends}' if ends else ''}"

    def _ends(self) -> Iterator[str]:
        """Where it stops early, in words: so many failures within so many trials, or clean ones."""
        for failures in range(1, self.at_most):
            within = self._through(failures)
            if within >= self.at_most - 1:
                yield _failures(failures)
                break
            if within:
                yield f"{_failures(failures)} within {_trials(within)}"
        clean = [n for n in range(1, self.at_most) if self.marks[n][0] != GO_ON]
        if clean:
            yield f"{_trials(clean[0])} without one"

    def _through(self, failures: int) -> int:
        """The last trial up to which the `failures`-th failure ends it, whenever it comes; or 0."""
        rows = range(failures, self.at_most)
        going_on = (n for n in rows if self.marks[n][failures] == GO_ON)
        return next(going_on, self.at_most) - 1 if self.marks[failures][failures] != GO_ON else 0

    def stop(self, outcomes: Sequence[bool]) -> str | None:
        n = len(outcomes)
        if n >= self.at_most:
            return f"all {_trials(self.at_most)} done"
        mark = self.marks[n][sum(outcomes)]
        reasons = {
            SETTLED: "the search is decided",
            TAUGHT: "one more trial would teach too little",
        }
        return reasons.get(mark)


class Sequential(Struct, frozen=True):
    """Until the e-process of these trials, paired in order with `reference`, reaches `limit`.

    It guards against peeking and against drift that both sides share. It knows nothing of
    restarts: what one restart shares, it takes for a difference.
    """

    reference: tuple[bool, ...]
    at_most: int
    limit: float = E_LIMIT

    def __post_init__(self) -> None:
        _check_at_most(self.at_most)
        if self.limit <= 1:
            raise ValueError(f"stop at an e-value of {self.limit}: need more than 1")

    def __str__(self) -> str:
        return f"until the e-value is {self.limit:g}, at most {_trials(self.at_most)}"

    def stop(self, outcomes: Sequence[bool]) -> str | None:
        reached = e_value(zip(outcomes, self.reference, strict=False))
        if reached >= self.limit:
            return f"e-value {reached:.3g}: the rates differ"
        return Fixed(self.at_most).stop(outcomes)


def e_value(pairs: Iterable[tuple[bool, bool]]) -> float:
    """The evidence against equal rates from pairs of trials, one of each side; 1 says nothing.

    Under equal rates (the pairs' common rate may drift) the chance that it ever reaches e is at
    most 1 / e. Both sides' next trials are predicted from those before: the block e-variable of
    Turner, Ly and Gruenwald, "Generic E-variables for exact sequential k-sample tests" (2021).
    """
    total, first, second = 0.0, 0, 0
    for n, (left, right) in enumerate(pairs):
        here, there = ((side + E_PRIOR) / (n + 2 * E_PRIOR) for side in (first, second))
        both = (here + there) / 2
        total += _log_ratio(left, here, both) + _log_ratio(right, there, both)
        first, second = first + left, second + right
    return exp(min(total, 700.0))


class Sequences(Struct, frozen=True, eq=False):
    """For several toggle sets: the chance of each sequence of outcomes, with the failure's state.

    `there` and `gone` are sets x cells; the cell of k failures in n trials is n (n + 1) / 2 + k,
    n from 0 to `trials`. `gone[c, cell]` is the joint chance that set c removes the failure and
    of one sequence with those counts.
    """

    there: Floats
    gone: Floats
    trials: int

    def only(self, sets: Sequence[int]) -> Sequences:
        """Those of some of the toggle sets, by their places."""
        chosen = list(sets)
        return Sequences(self.there[chosen], self.gone[chosen], self.trials)


class Policy(Struct, frozen=True, eq=False):
    """The best stopping for each toggle set: expected bits, expected trials, where to stop.

    `stop` is sets x cells.
    """

    bits: Floats
    trials: Floats
    stop: Bools


class Walk:
    """Backward dynamic programming over (n, k), for several toggle sets at once."""

    def __init__(self, sequences: Sequences) -> None:
        import numpy as np

        self.sequences = sequences
        chance = np.maximum(sequences.there + sequences.gone, LEAST)
        self.posterior: Floats = sequences.gone / chance
        self.gain: Floats = binary_entropy(self.posterior[:, :1]) - binary_entropy(self.posterior)
        self.fails: list[Floats] = [
            np.clip(after[:, 1:] / now, 0, 1) for now, after in pairwise(self._rows(chance))
        ]

    def best(self, price: Floats, bonus: Floats | float = 0.0) -> Policy:
        """Where one more trial of each set is worth `price` bits, one price a set; else stop.

        At least one trial is made. The value of stopping after (n, k) is what was learnt of
        whether the set removes the failure: the entropy before less the entropy then, in bits;
        and the `bonus` of that place, if any (sets x cells).
        """
        import numpy as np

        value = self._rows(self.gain + bonus)
        last = value[-1]
        ahead = np.stack([last, np.zeros_like(last)])
        stop = [np.ones(last.shape, dtype=np.bool_)]
        for n in range(self.sequences.trials - 1, -1, -1):
            ahead = ahead[..., :-1] + self.fails[n] * (ahead[..., 1:] - ahead[..., :-1])
            ahead[1] += 1
            enough = value[n] >= ahead[0] - price[:, None] * ahead[1]
            if n == 0:
                enough[:] = False
            np.copyto(ahead[0], value[n], where=enough)
            ahead[1][enough] = 0
            stop.append(enough)
        bits, trials = ahead[..., 0]
        return Policy(bits, trials, np.concatenate(stop[::-1], axis=1))

    def most_a_second(self, restart: Floats, trial: Floats) -> tuple[Floats, Floats]:
        """For each set the most expected bits a second of any stopping, and that plan's bits.

        `restart` and `trial` are seconds, one of each a set (Dinkelbach 1967).
        """
        import numpy as np

        rates = np.zeros(len(restart))
        for _ in range(ROUNDS):
            policy = self.best(rates * trial)
            bits = np.maximum(0, policy.bits)
            better = bits / (restart + policy.trials * trial)
            settled = bool(np.all(better - rates <= 1e-3 * better))
            rates = better
            if settled:
                break
        return rates, bits

    def ends(self, stop: Bools) -> Floats:
        """The chance to stop after each (n, k) under stopping tables: both sets x cells.

        The last trial ends it whatever the table says.
        """
        import numpy as np

        reach = np.ones((len(stop), 1))
        ends = []
        for here, fails in zip(self._rows(stop), self.fails, strict=False):
            ends.append(np.where(here, reach, 0.0))
            on = reach - ends[-1]
            failed = on * fails
            reach = np.zeros((len(on), on.shape[1] + 1))
            reach[:, 1:] = failed
            reach[:, :-1] += on - failed
        return np.concatenate([*ends, reach], axis=1)

    def _rows(self, cells: NDArray[Any]) -> list[NDArray[Any]]:
        """One sets x (n + 1) array for each n."""
        return by_trials(cells, self.sequences.trials)


def by_trials(cells: NDArray[Any], trials: int) -> list[NDArray[Any]]:
    """Sets x cells as one sets x (n + 1) array for each n up to `trials`."""
    edges = [n * (n + 1) // 2 for n in range(trials + 2)]
    return [cells[:, start:end] for start, end in pairwise(edges)]


def binary_entropy(p: Floats) -> Floats:
    """The entropy of a yes or no, in bits."""
    from scipy.special import entr

    bits: Floats = (entr(p) + entr(1 - p)) / log(2)
    return bits


def _log_ratio(failed: bool, rate: float, common: float) -> float:
    return log(rate / common) if failed else log((1 - rate) / (1 - common))


def _check_at_most(trials: int) -> None:
    if trials < 1:
        raise ValueError(f"at most {trials} trials: need 1 or more")


def _trials(n: int) -> str:
    return "1 trial" if n == 1 else f"{n} trials"


def _failures(n: int) -> str:
    return "1 failure" if n == 1 else f"{n} failures"
