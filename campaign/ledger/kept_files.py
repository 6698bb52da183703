"""Which files the ledger expects beside it."""

from campaign.ledger import records
from campaign.ledger.query import Reader

TRANSCRIPTS = "transcripts.jsonl"
"""The name under which the transcripts of sessions are kept."""


class KeptFiles(Reader):
    """Reads of all runs' files at once."""

    def artifacts(self) -> tuple[records.Artifact, ...]:
        """Every file that was kept for a run."""
        return self._records(records.Artifact, "SELECT * FROM artifact ORDER BY rowid")

    def pruned(self) -> frozenset[str]:
        """The runs of which no output is left: `prune` took theirs, or they printed nothing."""
        rows = self._rows("SELECT run FROM observation GROUP BY run HAVING max(tail) = ''")
        return frozenset(str(row["run"]) for row in rows)

    def outputs(self) -> frozenset[str]:
        """What reproducers print into, below the folder of artifacts, before they end, too."""
        rows = self._rows("SELECT artifact FROM observation")
        return frozenset(str(row["artifact"]) for row in rows)
