"""status: where the campaign stands, from the ledger, with the budget of campaign.yaml.

Beside it the overview of one who stays and looks on, which does not wait for sums over all runs.
"""

from collections.abc import Collection
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from campaign.ledger import records
from campaign.ledger.costs import Costs, HypothesisCosts
from campaign.ledger.reads import Ledger
from campaign.ledger.stack import Staying
from campaign.operations.declared import Declared, baselines, declared
from campaign.workspace import Workspace
from hypotheses.hypothesis import Hypothesis
from hypotheses.observation import Counts, pooled
from hypotheses.tally import Tally, tally

if TYPE_CHECKING:
    from campaign.operations.contact import Contact

SUMMED_AT_ONCE = 2_000
"""Sums over as many runs are read with the rest: they take some hundredths of a second."""


WEIGHED_AT_ONCE = 10_000
"""Restarts of more runs than this are weighed only when that is asked for: it takes long."""


class Status(Struct, frozen=True):
    """The campaign, its costs, its hypotheses, and the runs that a person should know of.

    `baseline` pools the valid baselines that suspects are held against, `tally` is what they show,
    and `unlike` counts the trials of those under other conditions; `running` are runs under way,
    `left` those that were interrupted or could not be put back whole, the newest first. `declared`
    is what campaign.yaml says, None while it is not valid. `kept` are the runs that keep what they
    changed, as the ledger has it; `hosts` are as they were found, where they were asked.
    """

    campaign: records.CampaignRecord | None
    total: Costs
    runs: int
    baseline: Counts
    tally: Tally
    unlike: int
    hypotheses: tuple[HypothesisCosts, ...]
    running: tuple[records.Run, ...]
    left: tuple[records.Run, ...]
    latest: records.Run | None
    declared: Declared | None
    kept: tuple[Staying, ...] = ()
    hosts: "tuple[Contact, ...]" = ()

    @property
    def is_over(self) -> bool:
        """Whether more was spent than the budget allows."""
        if self.declared is None:
            return False
        said, total = self.declared, self.total
        limits = said.restarts, said.downtime_s, said.money, said.seconds
        spent = total.restarts, total.downtime_s, total.money, total.occupied_s
        return any(
            limit is not None and so_far > limit
            for so_far, limit in zip(spent, limits, strict=True)
        )


def status_with_hosts(workspace: Workspace) -> Status:
    """As `status`; where runs were interrupted, or keep what they changed, the hosts are asked what

    became of it. The ledger learns what a host did by itself. Errors: as `status`.
    """
    found = status(workspace)
    if not (found.left or found.kept):
        return found
    from campaign.operations.contact import contact

    hosts = contact(workspace)
    return replace(status(workspace), hosts=hosts)


def status(workspace: Workspace) -> Status:
    """Reads the ledger and what campaign.yaml declares.

    Until a run takes over what it says, the campaign is called as there. Errors: CampaignError
    where there is no ledger.
    """
    said = declared(workspace)
    with Ledger.snapshot(workspace.ledger) as ledger:
        unsettled, runs = ledger.unsettled(), ledger.run_count()
        seen = ledger.observations_of(kind="baseline")
        baseline = baselines(workspace, ledger, seen)
        return Status(
            campaign=_as_declared(_without_key(ledger.campaign()), said, runs),
            total=ledger.total_cost(),
            runs=runs,
            baseline=pooled(baseline),
            tally=tally(baseline),
            unlike=pooled(seen).n - pooled(baseline).n,
            hypotheses=ledger.hypothesis_costs(),
            running=tuple(run for run in unsettled if run.status == "running"),
            left=tuple(run for run in unsettled if run.status != "running"),
            latest=next(iter(ledger.runs(limit=1)), None),
            declared=said,
            kept=_staying(ledger, unsettled),
        )


def _staying(ledger: Ledger, unsettled: Collection[records.Run]) -> tuple[Staying, ...]:
    """What runs keep on purpose: not those that are on their way back and could not get there."""
    dirty = {run.id for run in unsettled if run.state == "dirty"}
    return tuple(one for one in ledger.staying() if one.run not in dirty)


class Sums(Struct, frozen=True):
    """What the campaign cost, None where that is not known yet, and each hypothesis's sums."""

    total: Costs | None
    hypotheses: tuple[HypothesisCosts, ...]


class Overview(Struct, frozen=True):
    """What is in sight all the time: of `Status`, what moves.

    The sums in `hypotheses`, and `total`, may be those of an earlier look: `stale` says so. `total`
    is None, and all sums are 0, where there was none. Without sums the row "(none)" is missing.
    """

    campaign: records.CampaignRecord | None
    total: Costs | None
    runs: int
    hypotheses: tuple[HypothesisCosts, ...]
    running: tuple[records.Run, ...]
    left: tuple[records.Run, ...]
    stale: bool
    kept: tuple[Staying, ...] = ()


def overview(workspace: Workspace, last: Overview | None = None) -> Overview:
    """What is seen at a glance, soon also where the sums take long: `last` has those of before.

    Errors: CampaignError.
    """
    said = declared(workspace)
    with Ledger.snapshot(workspace.ledger) as ledger:
        unsettled, runs = ledger.unsettled(), ledger.run_count()
        now = Overview(
            campaign=_as_declared(_without_key(ledger.campaign()), said, runs),
            total=None,
            runs=runs,
            hypotheses=tuple(map(_not_summed, ledger.hypotheses())),
            running=tuple(run for run in unsettled if run.status == "running"),
            left=tuple(run for run in unsettled if run.status != "running"),
            stale=True,
            kept=_staying(ledger, unsettled),
        )
        if runs <= SUMMED_AT_ONCE:
            return with_sums(now, _sums(ledger))
    return replace(with_sums(now, Sums(last.total, last.hypotheses)), stale=True) if last else now


def sums(workspace: Workspace) -> Sums:
    """What all runs together came to and cost. Errors: CampaignError."""
    with Ledger.open(workspace.ledger) as ledger:
        return _sums(ledger)


def _sums(ledger: Ledger) -> Sums:
    return Sums(ledger.total_cost(), ledger.hypothesis_costs())


def with_sums(now: Overview, found: Sums) -> Overview:
    """The hypotheses as they stand `now`, with the sums that were found."""
    by_name = {one.hypothesis: one for one in found.hypotheses}
    named = [one for one in now.hypotheses if one.standing]
    rows = [replace(by_name.get(one.hypothesis, one), standing=one.standing) for one in named]
    rows += [one for one in found.hypotheses if not one.standing]
    return replace(now, total=found.total, hypotheses=tuple(rows), stale=False)


def _not_summed(one: Hypothesis) -> HypothesisCosts:
    return HypothesisCosts(one.slug, str(one.standing), 0, 0, 0, 0, 0.0, 0.0, 0.0)


def _as_declared(
    campaign: records.CampaignRecord | None, said: Declared | None, runs: int
) -> records.CampaignRecord | None:
    """What was spent in a run was spent in the currency of its time, and is called by that."""
    if campaign is None or said is None or runs:
        return campaign
    return replace(campaign, name=said.name, symptom=said.symptom, currency=said.currency)


def _without_key(campaign: records.CampaignRecord | None) -> records.CampaignRecord | None:
    """Whoever had the key could guess values from their hashes."""
    return None if campaign is None else replace(campaign, hash_key="")
