"""What may still be spent: what the budget allows less what the ledger says it has cost."""

from collections.abc import Mapping
from math import inf, isfinite

from msgspec import Struct, to_builtins

from campaign.ledger.costs import Costs
from playbooks.plan import Boot, BootForecast, Plan
from playbooks.system import Budget, Cost


class Price(Struct, frozen=True):
    """What something would cost, its way back included; `guessed` where no past tells.

    `seconds` are of all time that the system is occupied, `downtime_s` those of it down.
    """

    restarts: int
    seconds: float
    downtime_s: float
    money: float
    guessed: bool = False


class Limits(Struct, frozen=True):
    """What the ledger's total may come to; infinite where there is no limit.

    `seconds` are of all time that the system is occupied.
    """

    restarts: float = inf
    seconds: float = inf
    downtime_s: float = inf
    money: float = inf

    def after(self, costs: Costs) -> "Limits":
        """What is left once `costs` are paid for."""
        return Limits(
            self.restarts - costs.restarts,
            self.seconds - costs.occupied_s,
            self.downtime_s - costs.downtime_s,
            self.money - costs.money,
        )

    def from_here(self, costs: Costs) -> "Limits":
        """The same limits for what comes after `costs`."""
        return self.after(Costs(0, 0.0, 0.0, 0.0).less(costs))

    def within(self, other: "Limits") -> "Limits":
        """What both allow."""
        return Limits(
            min(self.restarts, other.restarts),
            min(self.seconds, other.seconds),
            min(self.downtime_s, other.downtime_s),
            min(self.money, other.money),
        )

    @property
    def limited(self) -> Mapping[str, float]:
        """Where there is a limit, by name, never under 0."""
        return {name: max(0, left) for name, left in to_builtins(self).items() if isfinite(left)}

    def lacks(self, price: Price) -> str | None:
        """Why something cannot be paid for, its way back included; None where it can.

        A guess stands in nobody's way, but for the restarts, which are known.
        """
        if price.restarts > self.restarts:
            there = max(0, self.restarts)
            are = "is" if there == 1 else "are"
            return f"it takes {price.restarts} restarts, and {there:g} {are} left"
        return self._overspent(price) if self._nothing or not price.guessed else None

    @property
    def _nothing(self) -> bool:
        return min(self.restarts, self.seconds, self.downtime_s, self.money) <= 0

    def _overspent(self, price: Price) -> str | None:
        for what, needed, left in (
            ("", price.seconds, self.seconds),
            (" of downtime", price.downtime_s, self.downtime_s),
        ):
            if needed > left:
                return f"it takes {_time(needed)}{what}, and {_time(left)} is left"
        if price.money > self.money:
            return f"it costs {price.money:.2f}, and {max(0.0, self.money):.2f} is left"
        return None


NO_LIMITS = Limits()


def allowed(budget: Budget) -> Limits:
    """What the campaign's budget allows in all."""
    return Limits(
        restarts=inf if budget.restarts is None else budget.restarts,
        seconds=inf if budget.seconds is None else budget.seconds,
        downtime_s=inf if budget.downtime_s is None else budget.downtime_s,
        money=inf if budget.money is None else budget.money,
    )


def price_of(plan: Plan) -> Price:
    """What a plan would cost, the way back to the base included."""
    guessed = any(one.guessed for one in plan.forecast)
    return Price(plan.cycles, plan.seconds, plan.downtime_s, plan.money, guessed)


def price_of_boot(boot: Boot, forecast: BootForecast, cost: Cost) -> Price:
    """What a boot would cost, with the restart that leads back from it where it needs one."""
    back = forecast.downtime_s if boot.changed else 0.0
    return Price(
        restarts=bool(boot.services) + boot.changed,
        seconds=forecast.downtime_s + forecast.measure_s + back,
        downtime_s=forecast.downtime_s + back,
        money=forecast.money + cost.money(back, back),
        guessed=forecast.guessed,
    )


def measuring_s(left: Limits, used_s: float, back_s: float, cost: Cost) -> float:
    """For how many more seconds a boot may stay up so that the way back can still be paid for.

    `left` is what was left before it, but for its restart, which is paid for; `used_s` is how
    long it has occupied the system, `back_s` how long the way back will take it down. Infinite
    where neither time nor money is limited.
    """
    in_time = left.seconds - used_s - back_s
    rate = cost.money(0.0, 1.0)
    if not rate or not isfinite(left.money):
        return in_time
    return min(in_time, (left.money - cost.money(back_s, used_s + back_s)) / rate)


def _time(seconds: float) -> str:
    there = max(0.0, seconds)
    if there < 10:
        return f"{there:.1f} s"
    return f"{there:.0f} s" if there < 120 else f"{there / 60:.1f} min"
