"""The seconds that no method beats, by the theory of information."""

from math import log2

import numpy as np

from benchmarks.search_cost.ours import known_grid
from benchmarks.search_cost.worlds import RESTART, TRIAL, World
from hypotheses.assumptions import Settings
from hypotheses.model import posterior
from hypotheses.planner import sequence_chances
from hypotheses.sequential import Sequences, Walk, binary_entropy

MOST_TRIALS = 80


def information_bound(world: World, error: float = 0.05) -> float:
    """Mean seconds at the least, the rates known, with that share of wrong answers.

    The bits to learn (Fano's inequality) over the most bits a second that any restart can bring,
    whatever is believed.
    """
    singles, pairs, none = world.shares
    settings = Settings(singles=max(singles, 1e-12), pairs=pairs, none=none, uniform=0)
    belief = posterior(world.causes, world.weights, (), settings)
    states = int((belief.probabilities > 1e-9).sum())
    lost = float(binary_entropy(np.array(error))) + error * log2(max(1, states - 1))
    return max(0.0, belief.entropy - lost) / most_bits_a_second(world)


def most_bits_a_second(world: World) -> float:
    """The most that a restart with the rates known can bring, over all chances to remove."""
    chances = np.linspace(0.2, 0.7, 26)[:, None]
    alive, gone = sequence_chances(known_grid(world), 1e-9, MOST_TRIALS)
    walk = Walk(Sequences((1 - chances) * alive, chances * gone, MOST_TRIALS))
    seconds = np.full(len(chances), RESTART), np.full(len(chances), TRIAL)
    rates, _ = walk.most_a_second(*seconds)
    return float(rates.max())
