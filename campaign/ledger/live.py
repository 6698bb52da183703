"""The reads by which a run under way is followed, and asked for something."""

from campaign.ledger import records
from campaign.ledger.query import Reader


class LiveReads(Reader):
    """Reads of one invocation (a batch) and of what an observation is to do."""

    def requests(self, batch: str) -> tuple[records.Request, ...]:
        """What was asked of the runs of a batch, oldest first."""
        return self._records(
            records.Request,
            "SELECT * FROM request WHERE batch = ? ORDER BY asked_at, rowid",
            batch,
        )

    def pause(self, batch: str) -> records.Request | None:
        """The pause that is asked of a batch, or that it is in; None where it is to go on."""
        asked = self.requests(batch)
        return next((one for one in asked if one.kind == "pause" and one.ended_at is None), None)

    def batch_boots(self, batch: str) -> tuple[records.Boot, ...]:
        """The boots of a batch so far, in order; the way back to the base, without a run, last."""
        return self._records(
            records.Boot, "SELECT * FROM boot WHERE batch = ? ORDER BY position, rowid", batch
        )

    def observation_terms(self, observation: str) -> records.ObservationTerms | None:
        """What was fixed about an observation; None for one that was brought in."""
        rows = self._records(
            records.ObservationTerms,
            "SELECT * FROM observation_terms WHERE observation = ?",
            observation,
        )
        return rows[0] if rows else None

    def planned(self, observation: str) -> int | None:
        """How many trials an observation is to drive; None where nobody can say."""
        rows = self._rows("SELECT trials FROM observation_plan WHERE observation = ?", observation)
        return int(rows[0]["trials"]) if rows else None
