"""Other ways to search: what people do by hand, Wald's test, halving, git-bayesect's engine."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from math import log
from typing import TYPE_CHECKING

from benchmarks.search_cost.worlds import (
    BASELINE,
    MOST_RESTARTS,
    NOTHING,
    P0,
    Method,
    State,
    System,
)
from hypotheses.model import Restart
from hypotheses.rates import fisher
from hypotheses.sequential import Fixed

if TYPE_CHECKING:
    from git_bayesect import Bisector

TRIALS = 40
BAYESECT_TRIALS = 16


def peers() -> dict[str, Method]:
    """Those that can be run here, by name."""
    found: dict[str, Method] = {
        f"one at a time, n = {TRIALS}, Fisher": one_at_a_time,
        "one at a time, SPRT given p0": sprt,
        f"halves, n = {TRIALS}": halves,
    }
    if find_spec("git_bayesect") is not None:
        found[f"git-bayesect, {BAYESECT_TRIALS} a restart"] = bayesect
    return found


def one_at_a_time(system: System) -> State | None:
    """40 trials with each suspect off; the first significant drop is the cause (Fisher, .05)."""
    for cause in system.world.suspicion:
        restart = system.restart(frozenset({cause}), Fixed(TRIALS))
        if dropped(restart, system.baseline):
            return restart.toggles
    return NOTHING


def sprt(system: System) -> State | None:
    """Each suspect off until Wald's ratio decides, with p0 known and p1 taken for .02."""
    rule = Wald(0.02, P0, log(system.world.suspects / 0.05), log(1 / 0.05))
    for cause in system.world.suspicion:
        restart = system.restart(frozenset({cause}), rule)
        if rule.ratio(restart.fail, restart.n) > 0:
            return restart.toggles
    return NOTHING


@dataclass(frozen=True)
class Wald:
    """Stops when the log likelihood ratio of p1 to p0 is over `up` or under -`down` (Wald 1945)."""

    p1: float
    p0: float
    up: float
    down: float
    at_most: int = 400

    def ratio(self, fail: int, n: int) -> float:
        return fail * log(self.p1 / self.p0) + (n - fail) * log((1 - self.p1) / (1 - self.p0))

    def stop(self, outcomes: Sequence[bool]) -> str | None:
        ratio = self.ratio(sum(outcomes), len(outcomes))
        beyond = ratio >= self.up or ratio <= -self.down or len(outcomes) >= self.at_most
        return "decided" if beyond else None


def halves(system: System) -> State | None:
    """Half of what is left off, 40 trials, keep the half that the drop speaks for."""
    left = system.world.suspicion
    while len(left) > 1:
        half = left[: len(left) // 2]
        restart = system.restart(frozenset(half), Fixed(TRIALS))
        left = half if dropped(restart, system.baseline) else left[len(half) :]
    return frozenset(left)


def bayesect(system: System) -> State | None:
    """git-bayesect's own engine over the prefixes of the suspects, 16 trials a restart, 95%.

    Prefix i has the first i suspects off; index b is the last prefix that still fails, so the
    last index of all says that none of the suspects is it.
    """
    from git_bayesect import Bisector

    suspects = system.world.suspicion
    weights = [0.9 * system.world.weights[cause] for cause in suspects]
    bisector = Bisector([*(one / sum(weights) for one in weights), 0.1])
    for restart in system.baseline:
        observe(bisector, 0, restart)
    while bisector.distribution.max() < 0.95:
        if system.restarts >= MOST_RESTARTS:
            return None
        prefix = bisector.select()
        restart = system.restart(frozenset(suspects[:prefix]), Fixed(BAYESECT_TRIALS))
        observe(bisector, prefix, restart)
    last = int(bisector.distribution.argmax())
    return frozenset(suspects[last : last + 1])


def observe(bisector: "Bisector", prefix: int, restart: Restart) -> None:
    for at in range(restart.n):
        bisector.record(prefix, at < restart.fail)


def dropped(restart: Restart, baseline: Iterable[Restart]) -> bool:
    """Whether the restart failed less often than the baseline, significantly."""
    fail = sum(one.fail for one in baseline)
    lower = restart.fail * BASELINE < fail * restart.n
    return lower and fisher(restart.fail, restart.n, fail, BASELINE) < 0.05
