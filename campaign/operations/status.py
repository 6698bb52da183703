"""status: where the campaign stands, from the ledger, with the budget of campaign.yaml."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from campaign.ledger import records
from campaign.ledger.costs import Costs, HypothesisCosts
from campaign.ledger.reads import Ledger
from campaign.operations.declared import Declared, declared
from campaign.workspace import Workspace
from hypotheses.observation import Counts, held_against, pooled
from hypotheses.tally import Tally, tally

if TYPE_CHECKING:
    from campaign.operations.contact import Contact


@dataclass(frozen=True)
class Status:
    """The campaign, its costs, its hypotheses, and the runs that a person should know of.

    `baseline` pools the valid baselines that suspects are held against, `tally` is what they show,
    and `unlike` counts the trials of those under other conditions; `running` are runs under way,
    `left` those that were interrupted or could not be put back whole, the newest first. `declared`
    is what campaign.yaml says, None while it is not valid. `hosts` are as they were found, where
    they were asked.
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
    hosts: "tuple[Contact, ...]" = ()

    @property
    def is_over(self) -> bool:
        """Whether more was spent than the budget allows."""
        if self.declared is None:
            return False
        limits = self.declared.restarts, self.declared.downtime_s, self.declared.money
        spent = self.total.restarts, self.total.downtime_s, self.total.money
        return any(
            limit is not None and so_far > limit
            for so_far, limit in zip(spent, limits, strict=True)
        )


def status_with_hosts(workspace: Workspace) -> Status:
    """As `status`; where runs were interrupted, the hosts are asked what became of them.

    The ledger learns what a host did by itself. Errors: as `status`.
    """
    found = status(workspace)
    if not found.left:
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
    with Ledger.open(workspace.ledger) as ledger:
        unsettled, runs = ledger.unsettled(), ledger.run_count()
        seen = ledger.observations_of(kind="baseline")
        baseline = held_against(seen, said.controls if said else ()) or ledger.baselines()
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
        )


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
