"""What the campaign cost: by run, by hypothesis and by kind of playbook."""

from collections.abc import Iterable, Sequence
from functools import reduce

from msgspec import Struct

from campaign.ledger.costs import Costs, HypothesisCosts, RunCosts
from campaign.ledger.reads import Ledger
from campaign.report.figures import counted

KINDS = ("baseline", "toggle", "probe", "detector", "fix")
DEAD_ENDS = 5
"""As many dead ends are told at most."""
NOTHING = Costs(0, 0.0, 0.0, 0.0)


class Spent(Struct, frozen=True):
    """What one run, hypothesis or kind of playbook cost."""

    name: str
    costs: Costs


class DeadEnd(Struct, frozen=True):
    """A run that counts for nothing, or a hypothesis that was given up, and why."""

    name: str
    why: str
    costs: Costs


class CostPart(Struct, frozen=True):
    """Each way to divide the `total` of the runs told; the parts of each sum to it.

    Only restarts by hypothesis do not: one that several hypotheses share counts for each, and
    `shared_restarts` says that there are such. `older` is what runs cost that are not told, one sum
    of `by_run`. `dead_ends` are the dearest, the dearest first.
    """

    by_run: tuple[Spent, ...]
    by_hypothesis: tuple[Spent, ...]
    by_kind: tuple[Spent, ...]
    total: Costs
    older: Costs
    currency: str
    shared_restarts: bool
    dead_ends: tuple[DeadEnd, ...] = ()

    @property
    def priced(self) -> bool:
        """Whether there is any money to show."""
        return bool(self.currency or self.total.money)

    @property
    def rolled(self) -> bool:
        """Whether there are services with replicas, that lost capacity."""
        return self.total.lost_s > 0

    @property
    def money_name(self) -> str:
        """What a column of money is called."""
        return self.currency or "money"


def collect_costs(
    ledger: Ledger,
    places: Sequence[int],
    told: Sequence[str],
    whole: Sequence[HypothesisCosts] | None,
) -> CostPart:
    """The costs of the runs at `places`; those of `told` (ids) each, older ones in one sum.

    Where these are the `whole` campaign, what its hypotheses cost, what no run pays for is told,
    too. Errors: CampaignError.
    """
    meant = places if whole is None else None
    by_kind, each = ledger.kind_costs(meant), ledger.costs_of(told)
    by_run = [Spent(run, _costs(each[run])) for run in told]
    paid = summed(by_kind.values())
    total = paid if whole is None else ledger.total_cost()
    older = paid.less(summed(one.costs for one in by_run))
    if untold := len(places) - len(told):
        by_run.insert(0, Spent(f"({counted(untold, 'older run')})", older))
    rest = list(_unassigned(total.less(paid)))
    by_hypothesis = _by_hypothesis(ledger, places, whole)
    return CostPart(
        by_run=(*by_run, *rest),
        by_hypothesis=by_hypothesis,
        by_kind=(*(Spent(kind, by_kind[kind]) for kind in KINDS if kind in by_kind), *rest),
        total=total,
        older=older,
        currency=ledger.currency(),
        shared_restarts=sum(one.costs.restarts for one in by_hypothesis) > total.restarts,
    )


def dearest(dead_ends: Iterable[DeadEnd]) -> tuple[DeadEnd, ...]:
    """The few that cost most, as far as they cost anything."""
    dear = [one for one in dead_ends if one.costs != NOTHING]
    dear.sort(key=lambda one: (one.costs.money, one.costs.downtime_s), reverse=True)
    return tuple(dear[:DEAD_ENDS])


def _costs(one: RunCosts | HypothesisCosts) -> Costs:
    return Costs(one.restarts, one.downtime_s, one.occupied_s, one.money, one.lost_s)


def _by_hypothesis(
    ledger: Ledger, places: Sequence[int], whole: Sequence[HypothesisCosts] | None
) -> tuple[Spent, ...]:
    if whole is None:
        return tuple(Spent(slug, costs) for slug, costs in ledger.shared_costs(places).items())
    return tuple(Spent(one.hypothesis, _costs(one)) for one in whole)


def _unassigned(rest: Costs) -> Iterable[Spent]:
    """What no run pays for, such as a boot that ended before its run was stored."""
    if rest.restarts or max(rest.downtime_s, rest.occupied_s, rest.money) > 1e-6:
        yield Spent("(none)", rest)


def summed(costs: Iterable[Costs]) -> Costs:
    """What all of these come to."""
    return reduce(Costs.plus, costs, NOTHING)
