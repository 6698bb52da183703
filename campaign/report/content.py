"""What the report says, as plain data: numbers and sentences, in no format yet.

A format turns a `Report` into a page. All its texts are plain: whatever a format gives a meaning
to must be escaped by it.
"""

from dataclasses import dataclass

from campaign.ledger.costs import Costs
from campaign.ledger.reads import Ledger
from campaign.report.costs import NOTHING, CostPart, collect_costs
from campaign.report.runs import RunPart, collect_runs
from campaign.report.standings import HypothesisPart, collect_hypotheses
from campaign.report.summary import Summary, collect_summary


@dataclass(frozen=True)
class Report:
    """A campaign's report, in the order a reader needs it; runs are oldest first."""

    campaign: str
    symptom: str
    summary: Summary
    hypotheses: tuple[HypothesisPart, ...]
    runs: tuple[RunPart, ...]
    costs: CostPart

    @property
    def currency(self) -> str:
        return self.costs.currency


def collect(ledger: Ledger) -> Report:
    """What there is to say about the campaign of a ledger. Errors: CampaignError."""
    campaign = ledger.campaign()
    stored = tuple(reversed(ledger.runs()))
    costs = collect_costs(ledger, stored, campaign.currency if campaign else "")
    by_run: dict[str, Costs] = {one.name: one.costs for one in costs.by_run}
    runs = collect_runs(ledger, stored, {run.id: by_run.get(run.id, NOTHING) for run in stored})
    hypotheses = collect_hypotheses(ledger, runs)
    return Report(
        campaign=campaign.name if campaign else "",
        symptom=campaign.symptom if campaign else "",
        summary=collect_summary(ledger, stored, hypotheses, costs.total, costs.currency),
        hypotheses=hypotheses,
        runs=runs,
        costs=costs,
    )
