"""What the runs of a hypothesis found, arm by arm."""

from dataclasses import dataclass

from campaign.ledger.query import Reader
from hypotheses.observation import Counts


@dataclass(frozen=True)
class ArmRate:
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
            SELECT run.playbook, observation.arm,
                   count(DISTINCT coalesce(observation.cycle, observation.boot)) AS restarts,
                   sum(rates.fail) AS fail, sum(rates.n) AS n, sum(rates.censored) AS censored
            FROM run
            LEFT JOIN run_hypothesis ON run_hypothesis.run = run.id
            JOIN trial_rates AS rates ON rates.run = run.id AND rates.counts
            JOIN observation ON observation.id = rates.observation
            WHERE run_hypothesis.hypothesis IS ?
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
