"""What restarts took of services with replicas: in batches, and by availability probes."""

import json
from collections.abc import Mapping, Sequence

from msgspec import Struct

from campaign.ledger.query import Reader


class CycleCapacity(Struct, frozen=True):
    """What a restart cycle took of services with replicas. `lost_s` is `replica_s` as seconds of

    all `replicas`; `probed` names the services whose availability probe told the downtime.
    """

    cycle: str
    batch: int
    replicas: int
    replica_s: float
    lost_s: float
    probed: str = ""


class Rollouts(Struct, frozen=True):
    """How many healthy restarts there were, and their means: seconds down, and of capacity lost."""

    restarts: int
    downtime_s: float
    lost_s: float


class CapacityReads(Reader):
    """Reads about replicas."""

    def capacities(self, run: str) -> tuple[CycleCapacity, ...]:
        """Those of the restart cycles charged to a run, in order."""
        return self._records(
            CycleCapacity,
            """
            SELECT cycle_capacity.* FROM cycle_capacity JOIN cycle ON cycle.id = cycle
            WHERE cycle.run = ? ORDER BY cycle.requested_at, cycle.rowid
            """,
            run,
        )

    def lost_in(self, runs: Sequence[str]) -> Mapping[str, float]:
        """The seconds of capacity that each of these runs cost, as far as they cost any."""
        rows = self._rows(
            """
            SELECT cycle.run AS run, total(lost_s) AS lost_s
            FROM cycle_capacity JOIN cycle ON cycle.id = cycle
            WHERE cycle.run IN (SELECT value FROM json_each(?)) GROUP BY cycle.run
            """,
            json.dumps(list(runs)),
        )
        return {row["run"]: row["lost_s"] for row in rows}

    def lost_by_hypothesis(self) -> Mapping[str, float]:
        """The seconds of capacity by slug; hypotheses share a run equally. "(none)": of none."""
        rows = self._rows(
            """
            SELECT coalesce(hypothesis, '(none)') AS name,
                   total(lost_s / max(1, (SELECT count(*) FROM run_hypothesis AS sharer
                                          WHERE sharer.run = cycle.run))) AS lost_s
            FROM cycle_capacity JOIN cycle ON cycle.id = cycle
            LEFT JOIN run_hypothesis AS own ON own.run = cycle.run
            GROUP BY name
            """
        )
        return {row["name"]: row["lost_s"] for row in rows}

    def rollouts(self, services: Sequence[str], batch: int | None = None) -> Rollouts | None:
        """Of exactly `services`, by `batch` replicas at a time (0: all at once, None: any number).

        None where there were none yet.
        """
        (row,) = self._rows(
            """
            SELECT count(*) AS restarts, avg(downtime_s) AS downtime_s, avg(lost_s) AS lost_s
            FROM cycle_capacity JOIN cycle ON cycle.id = cycle
            WHERE outcome = 'healthy' AND services = ?1 AND (?2 IS NULL OR batch = ?2)
            """,
            " ".join(services),
            batch,
        )
        return Rollouts(**dict(row)) if row["restarts"] else None
