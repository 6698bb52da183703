"""The reads of a ledger that is looked back at: how long restarts took, what runs came to."""

from msgspec import Struct

from campaign.ledger.query import Reader


class RestartTimes(Struct, frozen=True):
    """The restart cycles of `services` (space separated, in one cycle): how many, and how many did
    not end healthy; the means of those that did, in seconds, None where none did. `batch` replicas
    went down at a time; 0: all at once.
    """

    services: str
    restarts: int
    failed: int
    drain_s: float | None
    down_s: float | None
    warmup_s: float | None
    downtime_s: float | None
    batch: int = 0


class PlaybookRecord(Struct, frozen=True):
    """The runs of a playbook, those that came to nothing, and the verdicts that decided.

    A verdict decides that is supported or refuted, in a completed run that is not retracted.
    """

    playbook: str
    kind: str
    runs: int
    false_starts: int
    decided: int
    restarts: int
    downtime_s: float
    money: float


class HistoryReads(Reader):
    """Reads for looking back."""

    def restart_times(self) -> tuple[RestartTimes, ...]:
        """By the services that were restarted together, and how, the most frequent first."""
        return self._records(
            RestartTimes,
            """
            SELECT services, count(*) AS restarts, sum(outcome <> 'healthy') AS failed,
                   avg(drain_s) FILTER (WHERE outcome = 'healthy') AS drain_s,
                   avg(down_s) FILTER (WHERE outcome = 'healthy') AS down_s,
                   avg(warmup_s) FILTER (WHERE outcome = 'healthy') AS warmup_s,
                   avg(downtime_s) FILTER (WHERE outcome = 'healthy') AS downtime_s,
                   coalesce(batch, 0) AS batch
            FROM cycle LEFT JOIN cycle_capacity ON cycle_capacity.cycle = cycle.id
            GROUP BY services, coalesce(batch, 0) ORDER BY restarts DESC, services
            """,
        )

    def restarts_until(self, at: float) -> int:
        """How many restarts had been asked for by then (seconds since the epoch)."""
        (row,) = self._rows("SELECT count(*) FROM cycle WHERE requested_at <= ?", at)
        return int(row[0])

    def playbook_records(self) -> tuple[PlaybookRecord, ...]:
        """What became of the runs of each playbook, in the order they were first run."""
        return self._records(
            PlaybookRecord,
            """
            SELECT run.playbook, run.kind, count(*) AS runs,
                   sum(run.status IN ('failed', 'aborted', 'interrupted')
                       OR run.retracted IS NOT NULL
                       OR EXISTS (SELECT 1 FROM verdict
                                  WHERE verdict.run = run.id AND word = 'invalid')) AS false_starts,
                   sum((SELECT count(*) FROM verdict
                          WHERE verdict.run = run.id AND word IN ('supported', 'refuted')
                            AND run.status = 'completed' AND run.retracted IS NULL)) AS decided,
                   sum(restarts) AS restarts, total(downtime_s) AS downtime_s,
                   total(money) AS money
            FROM run JOIN run_costs ON run_costs.run = run.id
            GROUP BY run.playbook, run.kind ORDER BY min(run.started_at), run.playbook
            """,
        )
