"""What it costs to find the cause: the shipped planner against other ways to search.

Simulated systems with K suspects; a restart costs 75 s, a trial 4 s; 80 baseline trials are free.
Each search ends with an answer (a set of causes, or none of the listed) or gives up after 40
restarts. Printed for each world and method: mean and 90th percentile of the seconds, restarts,
wrong and undecided answers; then the gates that the planner has to pass. git-bayesect's engine is
compared with where its package is installed.

    python benchmarks/search_cost.py --quick     the three main worlds, about a minute
    python benchmarks/search_cost.py             all worlds, an hour or so
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from math import inf, log, log2
from typing import TYPE_CHECKING

import numpy as np

from hypotheses.assumptions import Grid, Settings
from hypotheses.model import Restart, posterior
from hypotheses.planner import decided, next_restart, sequence_chances
from hypotheses.rates import fisher
from hypotheses.sequential import Fixed, Rule, Sequences, Walk, binary_entropy

if TYPE_CHECKING:
    from git_bayesect import Bisector

RESTART, TRIAL = 75.0, 4.0
BASELINE, BASELINE_RESTARTS = 80, 2
MOST_RESTARTS = 40
P0 = 0.17
State = frozenset[str]
NOTHING: State = frozenset()


@dataclass(frozen=True)
class World:
    """A kind of system: its suspects, how its cause is drawn, and how it fails.

    `shares` are the chances of a single cause, a pair, and none; `skew` is the ratio of one
    suspect's weight to the next one's; `wrong` draws the cause against those weights; `lying` is
    the chance of a restart that tells the opposite.
    """

    name: str
    suspects: int = 16
    shares: tuple[float, float, float] = (1.0, 0.0, 0.0)
    p1: float = 0.0
    rho: float = 0.0
    skew: float = 1.0
    wrong: bool = False
    lying: float = 0.0

    @property
    def causes(self) -> tuple[str, ...]:
        return tuple(f"cause-{at:02d}" for at in range(self.suspects))

    @property
    def weights(self) -> dict[str, float]:
        """The operator's weights."""
        return {cause: self.skew**-at for at, cause in enumerate(self.causes)}

    def draw(self, random: np.random.Generator) -> State:
        """A cause."""
        size = (1, 2, 0)[random.choice(3, p=self.shares)]
        weights = np.array(list(self.weights.values()))
        drawn = weights[::-1] if self.wrong else weights
        picked = random.choice(self.causes, size=size, replace=False, p=drawn / drawn.sum())
        return frozenset(map(str, picked))


MAIN = (
    World("one cause, p1 = 0"),
    World("80/10/10, p1 = .02", shares=(0.8, 0.1, 0.1), p1=0.02),
    World("rho = .08, p1 = .02", p1=0.02, rho=0.08),
)
GATED = MAIN[1]


def all_worlds() -> Iterator[World]:
    """The main worlds, and one thing changed at a time."""
    yield from MAIN
    for suspects in (4, 8, 32):
        yield replace(GATED, name=f"K = {suspects}, 80/10/10", suspects=suspects)
    yield replace(GATED, name="pairs only", shares=(0.0, 1.0, 0.0))
    yield replace(GATED, name="none of the listed", shares=(0.0, 0.0, 1.0))
    yield replace(GATED, name="80/10/10, rho = .08", rho=0.08)
    yield replace(GATED, name="80/10/10, skewed weights", skew=1.3)
    yield replace(GATED, name="80/10/10, wrong weights", skew=1.3, wrong=True)
    yield replace(GATED, name="80/10/10, 3% lying", lying=0.03)


@dataclass
class System:
    """One system under test; `seconds` and `restarts` grow as it is restarted."""

    world: World
    random: np.random.Generator
    truth: State = NOTHING
    seconds: float = 0.0
    restarts: int = 0
    baseline: list[Restart] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.truth = self.world.draw(self.random)
        each = Fixed(BASELINE // BASELINE_RESTARTS)
        self.baseline = [self.restart(NOTHING, each) for _ in range(BASELINE_RESTARTS)]
        self.seconds, self.restarts = 0.0, 0

    def restart(self, toggles: State, rule: Rule) -> Restart:
        """Restarts with `toggles` off and runs trials until the rule stops."""
        outcomes: list[bool] = []
        for failed in self.trials(toggles):
            outcomes.append(failed)
            if rule.stop(outcomes) is not None:
                break
        self.seconds += RESTART + TRIAL * len(outcomes)
        self.restarts += 1
        return Restart(toggles, sum(outcomes), len(outcomes))

    def trials(self, toggles: State) -> Iterator[bool]:
        """Trials after one restart, which share its luck."""
        gone = bool(self.truth) and self.truth <= toggles
        if self.random.random() < self.world.lying:
            gone = not gone
        rate, rho = (self.world.p1 if gone else P0), self.world.rho
        if rho and rate:
            spread = (1 - rho) / rho
            rate = self.random.beta(rate * spread, (1 - rate) * spread)
        while True:
            yield bool(self.random.random() < rate)


Method = Callable[[System], State | None]


def planner(settings: Settings) -> Method:
    """The shipped planner, through its public interface."""

    def search(system: System) -> State | None:
        restarts = list(system.baseline)
        while True:
            belief = posterior(system.world.causes, system.world.weights, restarts, settings)
            answer = decided(belief)
            if answer is not None or system.restarts >= MOST_RESTARTS:
                return answer
            choice = next_restart(belief, None, RESTART, TRIAL)
            if choice is None:
                return None
            restarts.append(system.restart(choice.toggles, choice.rule))

    return search


def known(world: World) -> Settings:
    """The planner's settings where someone told it the rates."""
    grid = Grid(p0=(P0,), residual=((world.p1 / P0, 1.0),), rho=((world.rho, 1.0),))
    return Settings(grid=grid, slip=max(world.lying, 1e-4))


def one_at_a_time(system: System) -> State | None:
    """40 trials with each suspect off; the first significant drop is the cause (Fisher, .05)."""
    for cause in suspicion(system.world):
        restart = system.restart(frozenset({cause}), Fixed(40))
        if dropped(restart, system.baseline):
            return restart.toggles
    return NOTHING


def sprt(system: System) -> State | None:
    """Each suspect off until Wald's ratio decides, with p0 known and p1 taken for .02."""
    p1 = 0.02
    rule = Wald(p1, P0, log(system.world.suspects / 0.05), log(1 / 0.05))
    for cause in suspicion(system.world):
        restart = system.restart(frozenset({cause}), rule)
        if rule.ratio(restart.fail, restart.n) > 0:
            return restart.toggles
    return NOTHING


@dataclass(frozen=True)
class Wald:
    """Stops when the log likelihood ratio of p1 to p0 is over `up` or under -`down`."""

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
    left = suspicion(system.world)
    while len(left) > 1:
        half = left[: len(left) // 2]
        restart = system.restart(frozenset(half), Fixed(40))
        left = half if dropped(restart, system.baseline) else left[len(half) :]
    return frozenset(left)


def bayesect(system: System) -> State | None:
    """git-bayesect's own engine over the prefixes of the suspects, 16 trials a restart, 95%.

    Prefix i has the first i suspects off; index b is the last prefix that still fails, so the
    last index of all says that none of the suspects is it.
    """
    from git_bayesect import Bisector

    suspects = suspicion(system.world)
    weights = [0.9 * system.world.weights[cause] for cause in suspects]
    bisector = Bisector([*(one / sum(weights) for one in weights), 0.1])
    for restart in system.baseline:
        observe(bisector, 0, restart)
    while bisector.distribution.max() < 0.95:
        if system.restarts >= MOST_RESTARTS:
            return None
        prefix = bisector.select()
        restart = system.restart(frozenset(suspects[:prefix]), Fixed(16))
        observe(bisector, prefix, restart)
    last = int(bisector.distribution.argmax())
    return frozenset(suspects[last : last + 1])


def observe(bisector: "Bisector", prefix: int, restart: Restart) -> None:
    for at in range(restart.n):
        bisector.record(prefix, at < restart.fail)


def suspicion(world: World) -> list[str]:
    return sorted(world.causes, key=lambda cause: -world.weights[cause])


def dropped(restart: Restart, baseline: Iterable[Restart]) -> bool:
    fail, n = sum(one.fail for one in baseline), BASELINE
    lower = restart.fail * n < fail * restart.n
    return lower and fisher(restart.fail, restart.n, fail, n) < 0.05


def information_bound(world: World, error: float = 0.05) -> float:
    """Seconds that no method beats on average with the rates known (Fano, and the best channel).

    The bits to learn with that share of wrong answers, over the most bits a second that any
    restart can bring, whatever is believed.
    """
    settings = Settings(
        singles=max(world.shares[0], 1e-12),
        pairs=world.shares[1],
        none=world.shares[2],
        uniform=0,
    )
    belief = posterior(world.causes, world.weights, (), settings)
    states = int((belief.probabilities > 1e-9).sum())
    lost = float(binary_entropy(np.array(error))) + error * log2(max(1, states - 1))
    return max(0.0, belief.entropy - lost) / most_bits_a_second(world)


def most_bits_a_second(world: World, trials: int = 80) -> float:
    """The most that a restart with the rates known can bring, over all chances to remove."""
    grid = Grid(p0=(P0,), residual=((world.p1 / P0, 1.0),), rho=((world.rho, 1.0),))
    chances = np.linspace(0.2, 0.7, 26)[:, None]
    alive, gone = sequence_chances(grid, 1e-9, trials)
    walk = Walk(Sequences((1 - chances) * alive, chances * gone, trials))
    seconds = np.full(len(chances), RESTART), np.full(len(chances), TRIAL)
    rates, _ = walk.most_a_second(*seconds)
    return float(rates.max())


@dataclass(frozen=True)
class Score:
    """What some searches of one method cost in one world."""

    seconds: tuple[float, ...]
    restarts: tuple[int, ...]
    wrong: int
    undecided: int

    @property
    def mean(self) -> float:
        return float(np.mean(self.seconds))

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return float(np.std(self.seconds)) / len(self.seconds) ** 0.5

    def __str__(self) -> str:
        n = len(self.seconds)
        return (
            f"{self.mean:6.0f} ±{self.error:3.0f} s  p90 {np.percentile(self.seconds, 90):6.0f} s"
            f"  {np.mean(self.restarts):5.1f} restarts (most {max(self.restarts):2d})"
            f"  wrong {100 * self.wrong / n:4.1f}%  undecided {100 * self.undecided / n:4.1f}%"
        )


def score(world: World, method: Method, searches: int, seed: int) -> Score:
    """The same systems for every method: the seed and the number of the search fix each."""
    seconds, restarts, wrong, undecided = [], [], 0, 0
    for at in range(searches):
        system = System(world, np.random.default_rng((seed, at)))
        answer = method(system)
        seconds.append(system.seconds)
        restarts.append(system.restarts)
        undecided += answer is None
        wrong += answer is not None and answer != system.truth
    return Score(tuple(seconds), tuple(restarts), wrong, undecided)


def methods(world: World, quick: bool) -> dict[str, Method]:
    """The peers and the planner; quickly without the planner's other settings."""
    installed = find_spec("git_bayesect") is not None
    engine: dict[str, Method] = {"git-bayesect, 16 a restart": bayesect} if installed else {}
    peers: dict[str, Method] = {
        "one at a time, n = 40, Fisher": one_at_a_time,
        "one at a time, SPRT given p0": sprt,
        "halves, n = 40": halves,
        "the planner, 95%": planner(Settings()),
    }
    others: dict[str, Method] = {
        "the planner, 99%": planner(Settings(decided=0.99)),
        "the planner, rates known, 95%": planner(known(world)),
    }
    return engine | peers | ({} if quick else others)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="the main worlds, fewer searches")
    options.add_argument("--searches", type=int, help="searches a world and method")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--world", help="only worlds whose name contains this")
    options.add_argument("--method", default="", help="only methods whose name contains this")
    given = options.parse_args()
    searches = given.searches or (60 if given.quick else 1000)
    good = True
    for world in MAIN if given.quick else all_worlds():
        if given.world and given.world not in world.name:
            continue
        print(f"{world.name} (K = {world.suspects}, {searches} searches)")
        for name, method in methods(world, given.quick).items():
            if given.method not in name:
                continue
            result = score(world, method, searches, given.seed)
            print(f"  {name:32}{result}", flush=True)
            good = passed(world, name, result) and good
        print(f"  {'information bound, 5% error':32}{information_bound(world):6.0f} s", flush=True)
    sys.exit(not good)


def passed(world: World, name: str, result: Score) -> bool:
    """The gates, with room of two standard errors for the noise of so many searches."""
    limit = {"the planner, 95%": (0.05, 1350.0), "the planner, 99%": (0.01, inf)}.get(name)
    if world != GATED or limit is None:
        return True
    share, seconds = limit
    n = len(result.seconds)
    allowed = n * share + 2 * (n * share * (1 - share)) ** 0.5
    good = result.wrong <= allowed and result.mean - 2 * result.error <= seconds
    good = good and max(result.restarts) < MOST_RESTARTS
    print(f"  {'':32}gates {'passed' if good else 'MISSED'}")
    return good


if __name__ == "__main__":
    main()
