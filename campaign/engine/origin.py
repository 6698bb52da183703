"""Which run a host's journal speaks of: it names the batch alone."""

from contextlib import suppress
from pathlib import Path

from campaign.errors import CampaignError
from campaign.ledger.reads import Ledger


def last_run(ledger: Path, batch: str) -> str | None:
    """The id of the batch's newest run; None where the ledger does not know it, or is unusable."""
    if ledger.exists():
        with suppress(CampaignError), Ledger.open(ledger) as reading:
            return next((run.id for run in reversed(reading.batch_runs(batch))), None)
    return None


def origin(ledger: Path, batch: str) -> str:
    """The run of a journal as a person knows it."""
    if not batch:
        return "an earlier run"
    return last_run(ledger, batch) or f"{batch} of another ledger"
