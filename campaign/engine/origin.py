"""Which run a host's journal speaks of: it names the batch alone."""

from contextlib import suppress
from pathlib import Path

from campaign.errors import CampaignError
from campaign.ledger.connect import is_there
from campaign.ledger.reads import Ledger


def last_run(ledger: Path, batch: str) -> str | None:
    """The id of the batch's newest run; None where the ledger does not know it, or is unusable."""
    with suppress(CampaignError):
        return _newest(ledger, batch)
    return None


def origin(ledger: Path, batch: str) -> str:
    """The run of a journal as a person knows it."""
    if not batch:
        return "an earlier run"
    try:
        return _newest(ledger, batch) or f"{batch} of another ledger"
    except CampaignError as error:
        return f"a run whose name the ledger does not tell ({error.what})"


def _newest(ledger: Path, batch: str) -> str | None:
    """Errors: CampaignError for a ledger that cannot be read."""
    if not is_there(ledger):
        return None
    with Ledger.open(ledger) as reading:
        return next((run.id for run in reversed(reading.batch_runs(batch))), None)
