"""What the runs of a hypothesis found, arm by arm."""

from msgspec import Struct

from campaign.ledger.query import Reader
from hypotheses.observation import Counts


class ArmRate(Struct, frozen=True):
    """The trials of one arm of a playbook over all its runs that are evidence."""

    playbook: str
    arm: str
    restarts: int
    counts: Counts


class ArmReads(Reader):
    """Reads for a glance at the evidence; for judging, see `EvidenceReads`."""

    def arm_rates(self, slug: str | None) -> tuple[ArmRate, ...]:
        """The arms of a hypothesis's runs, the first tried first.

        `slug` None: of the runs that speak to no hypothesis.
        """
        rows = self._rows(
            """
            WITH meant AS (
                SELECT run AS id FROM run_hypothesis WHERE hypothesis = ?1
                UNION ALL
                SELECT id FROM run
                WHERE ?1 IS NULL AND NOT EXISTS (SELECT 1 FROM run_hypothesis WHERE run = id)
            )
            -- CROSS JOIN: from the runs that are meant, and not from all that are completed.
            SELECT run.playbook, observation.arm,
                   count(DISTINCT coalesce(observation.cycle, observation.boot)) AS restarts,
                   sum(rates.fail) AS fail, sum(rates.n) AS n, sum(rates.censored) AS censored
            FROM meant
            CROSS JOIN run ON run.id = meant.id
            CROSS JOIN observation ON observation.run = run.id
            CROSS JOIN trial_rates AS rates
                ON rates.observation = observation.id AND rates.counts
            GROUP BY run.playbook, observation.arm
            ORDER BY min(observation.started_at)
            """,
            slug,
        )
        return tuple(
            ArmRate(
                row["playbook"],
                row["arm"],
                row["restarts"],
                Counts(row["fail"], row["n"] - row["fail"], row["censored"]),
            )
            for row in rows
        )
