"""What is said with 95% is right 95 times in 100: searches of systems drawn from the prior."""

from dataclasses import dataclass

import numpy as np
import pytest

from hypotheses.assumptions import Settings
from hypotheses.by_model import judge, likeliest
from hypotheses.model import Posterior, Restart, points, posterior
from hypotheses.planner import decided, next_restart
from hypotheses.sequential import Fixed, Rule
from hypotheses.verdict import Qualifier, Word

pytestmark = pytest.mark.slow
CAUSES = ("topk", "mtp", "detokenizer", "transfer")
NONE = frozenset[str]()
SECONDS = (75.0, 4.0)
SEARCHES, MOST_RESTARTS = 80, 40
ASSUMED = Settings(max_trials=20)


@dataclass
class System:
    """A system as the model assumes them: its cause and its rates drawn from the prior."""

    random: np.random.Generator

    def __post_init__(self) -> None:
        before = posterior(CAUSES, settings=ASSUMED)
        cell = self.random.choice(before.weights.size, p=before.weights.ravel())
        state, at = divmod(int(cell), before.weights.shape[1])
        grid = points(before.grid)
        self.truth = before.states[state]
        self.p0, self.p1, self.rho = grid.p0[at], grid.p1[at], grid.rho[at]

    def restart(self, toggles: frozenset[str], rule: Rule) -> Restart:
        gone = bool(self.truth) and self.truth <= toggles
        lies = self.random.random() < ASSUMED.slip
        rate = self.p1 if gone ^ lies else self.p0
        if self.rho and rate:
            spread = (1 - self.rho) / self.rho
            rate = self.random.beta(rate * spread, (1 - rate) * spread)
        outcomes: list[bool] = []
        while rule.stop(outcomes) is None:
            outcomes.append(bool(self.random.random() < rate))
        return Restart(toggles, sum(outcomes), len(outcomes))


@dataclass(frozen=True)
class Ended:
    """A search at its end."""

    belief: Posterior
    truth: frozenset[str]

    @property
    def answer(self) -> frozenset[str] | None:
        return decided(self.belief)


@pytest.fixture(scope="module")
def searches() -> list[Ended]:
    """By the planner as shipped, with shorter restarts to be quick; each from its own seed."""
    return [search(System(np.random.default_rng((7, at)))) for at in range(SEARCHES)]


def search(system: System) -> Ended:
    restarts = [system.restart(NONE, Fixed(40)) for _ in range(2)]
    while True:
        belief = posterior(CAUSES, None, restarts, ASSUMED)
        choice = next_restart(belief, None, *SECONDS)
        if choice is None or len(restarts) >= MOST_RESTARTS:
            return Ended(belief, system.truth)
        restarts.append(system.restart(choice.toggles, choice.rule))


def test_of_the_answers_at_95_percent_19_in_20_are_right(searches: list[Ended]) -> None:
    answered = [one for one in searches if one.answer is not None]
    assert len(answered) > 0.9 * SEARCHES
    wrong = sum(one.answer != one.truth for one in answered)
    assert wrong <= 0.05 * len(answered) + noise([0.95] * len(answered))


def test_as_many_are_right_as_the_probabilities_say(searches: list[Ended]) -> None:
    said = [one.belief.best[1] for one in searches]
    right = sum(one.belief.best[0] == one.truth for one in searches)
    assert right == pytest.approx(sum(said), abs=noise(said))


def test_of_the_verdicts_at_95_percent_19_in_20_are_right(searches: list[Ended]) -> None:
    """Leading or supported: the cause of the verdict's state, and no other."""
    claims = [
        likeliest(one.belief, cause) == one.truth
        for one in searches
        for cause in sorted(one.answer or NONE)[:1]
        if claimed(one.belief, cause)
    ]
    assert len(claims) > 0.5 * SEARCHES
    assert claims.count(False) <= 0.05 * len(claims) + noise([0.95] * len(claims))


def claimed(belief: Posterior, cause: str) -> bool:
    verdict = judge(belief, cause)
    whole = verdict.word is Word.SUPPORTED and verdict.qualifier != Qualifier.PARTIAL
    return whole or verdict.qualifier == Qualifier.LEADING


def noise(chances: list[float]) -> float:
    """Two and a half standard deviations of how many of so many come true."""
    return 2.5 * sum(one * (1 - one) for one in chances) ** 0.5
