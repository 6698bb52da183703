"""How a playbook's rate went from restart to restart, and how the campaign's spending grew."""

from collections.abc import Sequence

from msgspec import Struct

from campaign.ledger.reads import Ledger
from campaign.ledger.trend import Spending
from campaign.workspace import Workspace
from hypotheses.observation import Counts

MOST = 200
"""As many points of a kind at most: several restarts share one where there are more."""


class Trend(Struct, frozen=True):
    """`restarts` has the trials after each restart of `playbook`, oldest first, `together` at a
    time; `spending` what the campaign had spent in all, at even distances in time.
    """

    playbook: str
    restarts: tuple[Counts, ...]
    together: int
    spending: Spending
    currency: str


def trend(workspace: Workspace, playbook: str) -> Trend:
    """Errors: CampaignError."""
    with Ledger.open(workspace.ledger) as ledger:
        each = ledger.counts_by_restart(playbook)
        together = max(1, -(-len(each) // MOST))
        return Trend(
            playbook=playbook,
            restarts=tuple(_joined(each, together)),
            together=together,
            spending=ledger.spending(MOST),
            currency=ledger.currency(),
        )


def _joined(each: Sequence[Counts], together: int) -> list[Counts]:
    groups = (each[start : start + together] for start in range(0, len(each), together))
    return [sum(group, Counts()) for group in groups]
