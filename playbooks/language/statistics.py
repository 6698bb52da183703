"""The `statistics:` of campaign.yaml: what the model assumes, as shapes."""

from typing import Self

from hypotheses.assumptions import Grid, Settings
from playbooks.language.complaints import refused
from playbooks.language.fieldtypes import Percent
from playbooks.language.shapes import Shape, entry


class WeightedShape(Shape):
    value: Percent = entry("percentage", "A value that is possible.")
    weight: float = entry("weight", "How much it weighs beside the others.", gt=0)

    @property
    def pair(self) -> tuple[float, float]:
        return self.value, self.weight


class GridShape(Shape):
    p0: list[Percent] | None = entry(
        "percentages", "The baseline rates that are possible, all alike.", None, least=1
    )
    residual: list[WeightedShape] | None = entry(
        "weighted values", "The shares of the rate that a removal may leave.", None, least=1
    )
    rho: list[WeightedShape] | None = entry(
        "weighted values", "How far trials after one restart may be alike.", None, least=1
    )


class PriorShape(Shape):
    singles: Percent = entry("percentage", "The share of a single cause.", "80%")
    pairs: Percent = entry("percentage", "The share of two causes, each enough.", "10%")
    none: Percent = entry("percentage", "The share of a cause that is not listed.", "10%")
    uniform: Percent = entry("percentage", "How far your weights are evened out.", "15%")


class StatisticsShape(Shape):
    prior: PriorShape = entry("prior", "What is believed before any restart.", {})
    grid: GridShape | None = entry("grid", "The rates that are summed over.", None)
    slip: Percent = entry("percentage", "The chance that a whole restart lies.", "0.5%")
    decided: Percent = entry("percentage", "The probability that ends a search.", "95%")
    supported: Percent = entry("percentage", "The least probability of a supported cause.", "99%")
    refuted: Percent = entry("percentage", "The most probability of a refuted cause.", "1%")
    drift: Percent = entry("percentage", "A control less likely than this: the rate moved.", "1%")
    control_every: int = entry("number", "A control is due after so many restarts without.", 5)
    max_trials: int = entry("number", "The most trials that a restart is planned with.", 40)
    price: float = entry("share", "The share of the best bits a second that ends a restart.", 0.6)

    def make_sense(self) -> Self:
        """Refuses what the model has no use for, in the model's own words."""
        try:
            self.settings()
        except ValueError as error:
            raise refused(str(error)) from None
        return self

    def settings(self) -> Settings:
        """What the model assumes. Raises ValueError where it cannot."""
        own = dict(vars(self))
        del own["prior"], own["grid"]
        return Settings(grid=self._grid(), **self.prior.plain(), **own)

    def _grid(self) -> Grid | None:
        if self.grid is None:
            return None
        usual = Grid()
        residual, rho = self.grid.residual, self.grid.rho
        return Grid(
            p0=tuple(self.grid.p0 or usual.p0),
            residual=tuple(one.pair for one in residual) if residual else usual.residual,
            rho=tuple(one.pair for one in rho) if rho else usual.rho,
        )
