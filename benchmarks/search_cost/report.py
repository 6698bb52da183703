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

GATES = {"the planner, 95%": (0.05, 1350.0), "the planner, 99%": (0.01, inf)}
"""On the 80/10/10 world: the most that may be wrong, and the most seconds."""
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
                    yield passed(score, *GATES[name])
        print(f"  {'no method below, 5% wrong':34}{information_bound(world):12.0f}\n", flush=True)


def search(world: World, method: Method, seed: int, number: int) -> Search:
    """The same systems for every method: the seed and the number of the search fix each."""
    system = System(world, np.random.default_rng((seed, number)))
    answer = method(system)
    right = None if answer is None else answer == system.truth
    return Search(system.seconds, system.restarts, right)


def passed(score: Score, most_wrong: float, most_seconds: float) -> bool:
    """Whether the gates hold, two standard errors allowed for the noise of so many searches."""
    (wrong, _), (seconds, error) = score.wrong, score.seconds
    noise = (most_wrong * (1 - most_wrong) / len(score.searches)) ** 0.5
    good = (
        wrong <= most_wrong + 2 * noise
        and seconds - 2 * error <= most_seconds
        and all(one.right is not None for one in score.searches)
    )
    limits = f"at most {most_wrong:.0%} wrong, {most_seconds:g} s, {MOST_RESTARTS} restarts"
    print(f"  {'':34}{'gate passed' if good else 'gate MISSED'}: {limits}")
    return good
