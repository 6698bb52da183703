"""The shipped planner, through its public interface."""

from dataclasses import dataclass

from benchmarks.search_cost.worlds import MOST_RESTARTS, P0, RESTART, TRIAL, State, System, World
from hypotheses.assumptions import DEFAULTS, Grid, Settings
from hypotheses.model import posterior
from hypotheses.planner import decided, next_restart


@dataclass(frozen=True)
class Planner:
    """Asks for the next restart until the search is decided; controls are paid for."""

    settings: Settings = DEFAULTS

    def __call__(self, system: System) -> State | None:
        restarts = list(system.baseline)
        while True:
            belief = posterior(system.world.causes, system.world.weights, restarts, self.settings)
            answer = decided(belief)
            if answer is not None or system.restarts >= MOST_RESTARTS:
                return answer
            choice = next_restart(belief, None, RESTART, TRIAL)
            if choice is None:
                return None
            restarts.append(system.restart(choice.toggles, choice.rule))


def rates_known(world: World) -> Settings:
    """The settings of someone whom the rates were told."""
    return Settings(grid=known_grid(world), slip=max(world.lying, 1e-4))


def known_grid(world: World) -> Grid:
    return Grid(p0=(P0,), residual=((world.p1 / P0, 1.0),), rho=((world.rho, 1.0),))
