"""What the ledger knows of plans that were confirmed for a time."""

from campaign.ledger import records
from campaign.ledger.query import Reader


class ConfirmationReads(Reader):
    """Reads of confirmations."""

    def confirmation(self, plan: str, by: str, at: float) -> records.Confirmation | None:
        """The confirmation by which `by` may run the plan at that time; None where none holds."""
        found = self._records(
            records.Confirmation,
            'SELECT * FROM confirmation WHERE plan = ? AND "by" = ? AND given_at <= ? AND until > ?'
            " ORDER BY until DESC LIMIT 1",
            plan,
            by,
            at,
            at,
        )
        return found[0] if found else None
