"""Searches counted and printed, and the gates that the planner has to pass."""

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from math import inf

import numpy as np

from benchmarks.search_cost.bound import information_bound
from benchmarks.search_cost.ours import Planner, rates_known
from benchmarks.search_cost.peers import peers
from benchmarks.search_cost.worlds import GATED, MOST_RESTARTS, Method, System, World
from hypotheses.assumptions import Settings


@dataclass(frozen=True)
class Gate:
    """The most that may be wrong, seconds on average, and searches that give up (shares)."""

    wrong: float
    seconds: float = inf
    undecided: float = 0.01

    def __str__(self) -> str:
        seconds = "" if self.seconds == inf else f", {self.seconds:g} s"
        return (
            f"at most {self.wrong:.0%} wrong{seconds},"
            f" {self.undecided:.0%} undecided after {MOST_RESTARTS} restarts"
        )


GATES = {
    "the planner, 95%": Gate(0.05, 1350.0, undecided=0.0),
    "the planner, 99%": Gate(0.01),
}
"""On the 80/10/10 world."""
CHUNK = 5
"""Searches handed to a process at a time."""
HEADER = (
    f"  {'':34}{'seconds':>12}{'p90':>7}{'restarts':>10}{'most':>6}{'wrong':>13}{'undecided':>13}"
)


@dataclass(frozen=True)
class Search:
    """What one search cost and whether its answer was right; None where it gave up."""

    seconds: float
    restarts: int
    right: bool | None


@dataclass(frozen=True)
class Score:
    """Some searches of one method in one world."""

    searches: tuple[Search, ...]

    @property
    def seconds(self) -> tuple[float, float]:
        """The mean, and its standard error."""
        every = [one.seconds for one in self.searches]
        return float(np.mean(every)), float(np.std(every)) / len(every) ** 0.5

    @property
    def wrong(self) -> tuple[float, float]:
        """The share of wrong answers among all searches, and its standard error."""
        return self._share(False)

    @property
    def undecided(self) -> tuple[float, float]:
        """The share that gave up, and its standard error."""
        return self._share(None)

    def _share(self, right: bool | None) -> tuple[float, float]:
        share = float(np.mean([one.right is right for one in self.searches]))
        return share, (share * (1 - share) / len(self.searches)) ** 0.5

    def __str__(self) -> str:
        seconds = "{:.0f} ± {:.0f}".format(*self.seconds)
        p90 = np.percentile([one.seconds for one in self.searches], 90)
        restarts = [one.restarts for one in self.searches]
        shares = (
            f"{100 * share:.1f} ± {100 * error:.1f}%"
            for share, error in (self.wrong, self.undecided)
        )
        counts = f"{p90:7.0f}{np.mean(restarts):10.1f}{max(restarts):6d}"
        return f"{seconds:>12}{counts}" + "".join(f"{one:>13}" for one in shares)


def methods(world: World) -> dict[str, Method]:
    """The peers, and the planner as shipped and with what it could know."""
    return peers() | {
        "the planner, 95%": Planner(),
        "the planner, 99%": Planner(Settings(decided=0.99)),
        "the planner, rates known, 95%": Planner(rates_known(world)),
    }


def compare(
    worlds: Iterable[World], wanted: str, searches: int, seed: int, workers: Executor
) -> Iterator[bool]:
    """Prints a table a world; yields whether each gate held.

    Only methods whose name contains `wanted`.
    """
    for world in worlds:
        print(f"{world.name} (K = {world.suspects}, {searches} searches)\n{HEADER}")
        for name, method in methods(world).items():
            if wanted in name:
                one = partial(search, world, method, seed)
                score = Score(tuple(workers.map(one, range(searches), chunksize=CHUNK)))
                print(f"  {name:34}{score}", flush=True)
                if world == GATED and name in GATES:
                    yield passed(score, GATES[name])
        print(f"  {'no method below, 5% wrong':34}{information_bound(world):12.0f}\n", flush=True)


def search(world: World, method: Method, seed: int, number: int) -> Search:
    """The same systems for every method: the seed and the number of the search fix each."""
    system = System(world, np.random.default_rng((seed, number)))
    answer = method(system)
    right = None if answer is None else answer == system.truth
    return Search(system.seconds, system.restarts, right)


def passed(score: Score, gate: Gate) -> bool:
    """Whether the gate holds, two standard errors allowed for the noise of so many searches."""
    seconds, error = score.seconds
    good = (
        seconds - 2 * error <= gate.seconds
        and at_most(score.wrong[0], gate.wrong, score)
        and at_most(score.undecided[0], gate.undecided, score)
    )
    print(f"  {'':34}gate {'passed' if good else 'MISSED'}: {gate}")
    return good


def at_most(share: float, limit: float, score: Score) -> bool:
    noise: float = (limit * (1 - limit) / len(score.searches)) ** 0.5
    return share <= limit + 2 * noise
