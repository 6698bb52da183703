"""The runs whose changes stay on the hosts, as the ledger knows it: the hosts have the truth."""

from msgspec import Struct

from campaign.ledger import records
from campaign.ledger.conditions import NOTHING_KEPT, kept_text
from campaign.ledger.query import Reader


class Staying(Struct, frozen=True):
    """A run that keeps what it changed: `paths` are (host, path), each once.

    `put_back_at` is when it was put back after all; None while it stays.
    """

    run: str
    playbook: str
    hypotheses: tuple[str, ...]
    kept_at: float
    paths: tuple[tuple[str, str], ...]
    put_back_at: float | None = None


class StackReads(Reader):
    """Reads of the keep stack."""

    def staying(self) -> tuple[Staying, ...]:
        """The runs that keep what they changed, the oldest first."""
        rows = self._rows("SELECT run FROM kept_run WHERE put_back_at IS NULL ORDER BY kept_at")
        found = (self.kept(row["run"]) for row in rows)
        return tuple(one for one in found if one is not None)

    def kept(self, run: str) -> Staying | None:
        """What a run was told to keep, put back since or not; None for any other."""
        rows = self._rows(
            """
            SELECT kept_run.*, run.playbook,
                   (SELECT group_concat(hypothesis, ' ') FROM run_hypothesis
                    WHERE run_hypothesis.run = run.id) AS hypotheses
            FROM kept_run JOIN run ON run.id = kept_run.run WHERE kept_run.run = ?
            """,
            run,
        )
        if not rows:
            return None
        row, edits = rows[0], self._last_edits(run)
        return Staying(
            run=run,
            playbook=row["playbook"],
            hypotheses=tuple((row["hypotheses"] or "").split()),
            kept_at=row["kept_at"],
            paths=tuple((one.host, one.path) for one in edits),
            put_back_at=row["put_back_at"],
        )

    def kept_condition(self) -> str:
        """What is kept now, as a condition of what is measured now."""
        edits = [edit for one in self.staying() for edit in self._last_edits(one.run)]
        if not edits:
            return NOTHING_KEPT
        return kept_text((one.host, one.path, one.after_sha256) for one in edits)

    def _last_edits(self, run: str) -> tuple[records.Edit, ...]:
        """What a run left at each path in the end."""
        edits = self._records(records.Edit, "SELECT * FROM edit WHERE run = ? ORDER BY rowid", run)
        return tuple({(one.host, one.path): one for one in edits}.values())
