"""The simulated systems: how many suspects, how a cause is drawn, how trials fail."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from hypotheses.model import Restart
from hypotheses.sequential import Fixed, Rule

RESTART, TRIAL = 75.0, 4.0
"""Seconds."""
BASELINE, BASELINE_RESTARTS = 80, 2
"""Trials before the search begins, which cost nothing, and the restarts they come from."""
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
    shares: tuple[float, float, float] = (0.8, 0.1, 0.1)
    p1: float = 0.02
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

    @property
    def suspicion(self) -> list[str]:
        """The causes, the most suspected first."""
        return sorted(self.causes, key=lambda cause: -self.weights[cause])

    def draw(self, random: np.random.Generator) -> State:
        """A cause."""
        size = (1, 2, 0)[random.choice(3, p=self.shares)]
        weights = np.array(list(self.weights.values()))
        drawn = weights[::-1] if self.wrong else weights
        picked = random.choice(self.causes, size=size, replace=False, p=drawn / drawn.sum())
        return frozenset(map(str, picked))


ONE, PAIRS, NONE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
GATED = World("80/10/10, p1 = .02")
MAIN = (
    World("one cause, p1 = 0", shares=ONE, p1=0.0),
    GATED,
    World("one cause, rho = .08, p1 = .02", shares=ONE, rho=0.08),
)


def all_worlds() -> Iterator[World]:
    """The main worlds; then the one of the gates with something changed."""
    yield from MAIN
    for suspects in (4, 8, 32):
        yield replace(GATED, name=f"K = {suspects}", suspects=suspects)
    yield replace(GATED, name="one cause", shares=ONE)
    yield replace(GATED, name="pairs only", shares=PAIRS)
    yield replace(GATED, name="none of the listed", shares=NONE)
    yield replace(GATED, name="p1 = 0", p1=0.0)
    yield replace(GATED, name="rho = .08", rho=0.08)
    yield replace(GATED, name="skewed weights", skew=1.3)
    yield replace(GATED, name="wrong weights", skew=1.3, wrong=True)
    yield replace(GATED, name="3% of restarts lie", lying=0.03)
    yield replace(GATED, name="K = 32, rho = .08, 3% lie", suspects=32, rho=0.08, lying=0.03)


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
        for failed in self._trials(toggles):
            outcomes.append(failed)
            if rule.stop(outcomes) is not None:
                break
        self.seconds += RESTART + TRIAL * len(outcomes)
        self.restarts += 1
        return Restart(toggles, sum(outcomes), len(outcomes))

    def _trials(self, toggles: State) -> Iterator[bool]:
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
"""Searches a system; its answer, or None where it gives up."""
