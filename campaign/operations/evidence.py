"""evidence: what speaks for a hypothesis and against it, at a glance."""

from msgspec import Struct

from campaign.errors import CampaignError, Exit
from campaign.ledger.arms import ArmRate
from campaign.ledger.evidence import Judged
from campaign.ledger.reads import Ledger
from campaign.operations.declared import baselines
from campaign.workspace import Workspace
from hypotheses.hypothesis import Hypothesis
from hypotheses.observation import Counts, pooled


class Evidence(Struct, frozen=True):
    """The trials of each arm beside the baseline, and the latest verdict of each playbook.

    `hypothesis` is None for the runs that speak to none; `judged` has the newest first.
    `overruled`: its standing is an operator's, so that no rule moves it.
    """

    hypothesis: Hypothesis | None
    baseline: Counts
    rates: tuple[ArmRate, ...]
    judged: tuple[Judged, ...] = ()
    overruled: bool = False


def evidence(workspace: Workspace, slug: str | None, baseline: Counts | None = None) -> Evidence:
    """The evidence on a hypothesis, or of the runs that speak to none (`slug` None).

    The `baseline` of another one may be given: it is the same for all while nothing is written.
    Errors: CampaignError (USAGE where there is no such hypothesis).
    """
    with Ledger.open(workspace.ledger) as ledger:
        if baseline is None:
            baseline = pooled(baselines(workspace, ledger))
        rates = ledger.arm_rates(slug)
        if slug is None:
            return Evidence(None, baseline, rates)
        found = next((one for one in ledger.hypotheses() if one.slug == slug), None)
        if found is None:
            raise CampaignError(Exit.USAGE, f"there is no hypothesis {slug!r}")
        judged = ledger.newest_evidence(slug)
        return Evidence(found, baseline, rates, judged, ledger.is_overruled(slug))
