"""What the campaign cost: by run, by hypothesis and by kind of playbook."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from campaign.ledger import records
from campaign.ledger.costs import Costs
from campaign.ledger.reads import Ledger

KINDS = ("baseline", "toggle", "probe", "detector", "fix")
NOTHING = Costs(0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Spent:
    """What one run, hypothesis or kind of playbook cost."""

    name: str
    costs: Costs


@dataclass(frozen=True)
class CostPart:
    """Each way to divide the campaign's `total`; the parts of each sum to it.

    Only restarts by hypothesis do not: one that several hypotheses share counts for each, and
    `shared_restarts` says that there are such.
    """

    by_run: tuple[Spent, ...]
    by_hypothesis: tuple[Spent, ...]
    by_kind: tuple[Spent, ...]
    total: Costs
    currency: str
    shared_restarts: bool

    @property
    def priced(self) -> bool:
        """Whether there is any money to show."""
        return bool(self.currency or self.total.money)


def collect_costs(ledger: Ledger, runs: Sequence[records.Run], currency: str) -> CostPart:
    """The costs of `runs`, which are all runs of the ledger. Errors: CampaignError."""
    total = ledger.total_cost()
    by_run = [
        Spent(one.run, Costs(one.restarts, one.downtime_s, one.occupied_s, one.money))
        for one in ledger.run_costs()
    ]
    by_hypothesis = tuple(
        Spent(one.hypothesis, Costs(one.restarts, one.downtime_s, one.occupied_s, one.money))
        for one in ledger.hypothesis_costs()
    )
    by_run += _unassigned(total, by_run)
    return CostPart(
        by_run=tuple(by_run),
        by_hypothesis=by_hypothesis,
        by_kind=_by_kind(by_run, runs),
        total=total,
        currency=currency,
        shared_restarts=sum(one.costs.restarts for one in by_hypothesis) > total.restarts,
    )


def _unassigned(total: Costs, by_run: Iterable[Spent]) -> Iterable[Spent]:
    """What no run pays for, such as a boot that ended before its run was stored."""
    rest = _minus(total, _sum(one.costs for one in by_run))
    if rest.restarts or max(rest.downtime_s, rest.occupied_s, rest.money) > 1e-6:
        yield Spent("(none)", rest)


def _by_kind(by_run: Iterable[Spent], runs: Iterable[records.Run]) -> tuple[Spent, ...]:
    kinds = {run.id: run.kind for run in runs}
    divided: dict[str, list[Costs]] = {kind: [] for kind in (*KINDS, "(none)")}
    for one in by_run:
        divided[kinds.get(one.name, "(none)")].append(one.costs)
    return tuple(Spent(kind, _sum(costs)) for kind, costs in divided.items() if costs)


def _sum(costs: Iterable[Costs]) -> Costs:
    total = NOTHING
    for one in costs:
        total = Costs(
            total.restarts + one.restarts,
            total.downtime_s + one.downtime_s,
            total.occupied_s + one.occupied_s,
            total.money + one.money,
        )
    return total


def _minus(one: Costs, other: Costs) -> Costs:
    return Costs(
        one.restarts - other.restarts,
        one.downtime_s - other.downtime_s,
        one.occupied_s - other.occupied_s,
        one.money - other.money,
    )
