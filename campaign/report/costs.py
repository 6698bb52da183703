"""What the campaign cost: by run, by hypothesis and by kind of playbook."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from campaign.ledger import records
from campaign.ledger.costs import Costs, HypothesisCosts, RunCosts
from campaign.ledger.reads import Ledger

KINDS = ("baseline", "toggle", "probe", "detector", "fix")
DEAD_ENDS = 5
"""As many dead ends are told at most."""
NOTHING = Costs(0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Spent:
    """What one run, hypothesis or kind of playbook cost."""

    name: str
    costs: Costs


@dataclass(frozen=True)
class DeadEnd:
    """A run that counts for nothing, or a hypothesis that was given up, and why."""

    name: str
    why: str
    costs: Costs


@dataclass(frozen=True)
class CostPart:
    """Each way to divide the `total` of the runs told; the parts of each sum to it.

    Only restarts by hypothesis do not: one that several hypotheses share counts for each, and
    `shared_restarts` says that there are such. `dead_ends` are the dearest, the dearest first.
    """

    by_run: tuple[Spent, ...]
    by_hypothesis: tuple[Spent, ...]
    by_kind: tuple[Spent, ...]
    total: Costs
    currency: str
    shared_restarts: bool
    dead_ends: tuple[DeadEnd, ...] = ()

    @property
    def priced(self) -> bool:
        """Whether there is any money to show."""
        return bool(self.currency or self.total.money)

    @property
    def money_name(self) -> str:
        """What a column of money is called."""
        return self.currency or "money"


def collect_costs(
    ledger: Ledger,
    runs: Sequence[records.Run],
    hypotheses: Sequence[HypothesisCosts],
    currency: str,
    *,
    whole: bool,
) -> CostPart:
    """The costs of `runs`, and where they are the `whole` campaign what no run pays for.

    `hypotheses` are the costs of all runs by hypothesis. Errors: CampaignError.
    """
    told = {run.id for run in runs}
    charged = [one for one in ledger.run_costs() if one.run in told]
    by_run = [Spent(one.run, _costs(one)) for one in charged]
    total = ledger.total_cost() if whole else summed(one.costs for one in by_run)
    by_hypothesis = _by_hypothesis(ledger, charged, hypotheses if whole else None)
    by_run += _unassigned(total, by_run)
    return CostPart(
        by_run=tuple(by_run),
        by_hypothesis=by_hypothesis,
        by_kind=_by_kind(by_run, runs),
        total=total,
        currency=currency,
        shared_restarts=sum(one.costs.restarts for one in by_hypothesis) > total.restarts,
    )


def dearest(dead_ends: Iterable[DeadEnd]) -> tuple[DeadEnd, ...]:
    """The few that cost most, as far as they cost anything."""
    dear = [one for one in dead_ends if one.costs != NOTHING]
    dear.sort(key=lambda one: (one.costs.money, one.costs.downtime_s), reverse=True)
    return tuple(dear[:DEAD_ENDS])


def _costs(one: RunCosts | HypothesisCosts) -> Costs:
    return Costs(one.restarts, one.downtime_s, one.occupied_s, one.money)


def _by_hypothesis(
    ledger: Ledger, charged: Iterable[RunCosts], whole: Sequence[HypothesisCosts] | None
) -> tuple[Spent, ...]:
    """Hypotheses share the costs of a run equally, but each restart counts for each of them."""
    if whole is not None:
        return tuple(Spent(one.hypothesis, _costs(one)) for one in whole)
    divided: dict[str, list[Costs]] = {}
    for one in charged:
        slugs = ledger.hypotheses_of(one.run) or ("(none)",)
        share = _costs(one)
        part = Costs(
            share.restarts,
            share.downtime_s / len(slugs),
            share.occupied_s / len(slugs),
            share.money / len(slugs),
        )
        for slug in slugs:
            divided.setdefault(slug, []).append(part)
    return tuple(Spent(slug, summed(costs)) for slug, costs in divided.items())


def _unassigned(total: Costs, by_run: Iterable[Spent]) -> Iterable[Spent]:
    """What no run pays for, such as a boot that ended before its run was stored."""
    rest = _minus(total, summed(one.costs for one in by_run))
    if rest.restarts or max(rest.downtime_s, rest.occupied_s, rest.money) > 1e-6:
        yield Spent("(none)", rest)


def _by_kind(by_run: Iterable[Spent], runs: Iterable[records.Run]) -> tuple[Spent, ...]:
    kinds = {run.id: run.kind for run in runs}
    divided: dict[str, list[Costs]] = {kind: [] for kind in (*KINDS, "(none)")}
    for one in by_run:
        divided[kinds.get(one.name, "(none)")].append(one.costs)
    return tuple(Spent(kind, summed(costs)) for kind, costs in divided.items() if costs)


def summed(costs: Iterable[Costs]) -> Costs:
    """What all of these come to."""
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
