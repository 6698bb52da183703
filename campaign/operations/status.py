"""status: where the campaign stands, from the ledger alone."""

from dataclasses import dataclass, replace

from campaign.ledger import records
from campaign.ledger.costs import Costs, HypothesisCosts
from campaign.ledger.reads import Ledger
from campaign.workspace import Workspace
from hypotheses.observation import Counts, pooled
from hypotheses.tally import Tally, tally


@dataclass(frozen=True)
class Status:
    """The campaign, its costs, its hypotheses, and the runs that a person should know of.

    `baseline` pools the valid baselines that suspects are held against, `tally` is what they show,
    and `unlike` counts the trials of those under other conditions; `running` are runs under way,
    `left` those that were interrupted or could not be put back whole, the newest first.
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


def status(workspace: Workspace) -> Status:
    """Reads the ledger. Errors: CampaignError where there is none."""
    with Ledger.open(workspace.ledger) as ledger:
        unsettled = ledger.unsettled()
        baseline = ledger.baselines()
        return Status(
            campaign=_without_key(ledger.campaign()),
            total=ledger.total_cost(),
            runs=ledger.run_count(),
            baseline=pooled(baseline),
            tally=tally(baseline),
            unlike=pooled(ledger.observations_of(kind="baseline")).n - pooled(baseline).n,
            hypotheses=ledger.hypothesis_costs(),
            running=tuple(run for run in unsettled if run.status == "running"),
            left=tuple(run for run in unsettled if run.status != "running"),
            latest=next(iter(ledger.runs(limit=1)), None),
        )


def _without_key(campaign: records.CampaignRecord | None) -> records.CampaignRecord | None:
    """Whoever had the key could guess values from their hashes."""
    return None if campaign is None else replace(campaign, hash_key="")
