"""What the campaign, its hypotheses and its runs cost, and what the next boots may cost."""

import json
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from campaign.ledger.capacity import CapacityReads

_PACE = """
WITH lived AS (
    SELECT boot, total(downtime_s) AS downtime_s FROM cycle GROUP BY boot
), back AS (
    SELECT avg(occupied_s) AS back_s, avg(downtime_s) AS back_down_s
    FROM boot JOIN lived ON lived.boot = boot.id WHERE boot.run IS NULL
), measured AS (
    SELECT boot.occupied_s - (
               SELECT total(coalesce(ended_at, boot.ended_at) - began_at)
               FROM request WHERE request.boot = boot.id) AS occupied_s,
           lived.downtime_s,
           (SELECT total(ended_at - started_at) FROM observation
            WHERE observation.boot = boot.id) AS driven_s,
           (SELECT total(n + censored) FROM trial_rates
            WHERE observation IN (
                SELECT id FROM observation WHERE observation.boot = boot.id)) AS trials
    FROM boot JOIN run ON run.id = boot.run JOIN lived ON lived.boot = boot.id
    WHERE run.status = 'completed' AND boot.occupied_s IS NOT NULL
      AND run.retracted IS NULL AND (?1 IS NULL OR run.playbook = ?1)
      AND NOT EXISTS (
          SELECT 1 FROM observation WHERE observation.boot = boot.id AND ?2 <> ''
          AND json_extract(conditions, '$.command') IS NOT ?2)
)
SELECT avg(occupied_s - driven_s) AS restart_s,
       sum(driven_s) / sum(trials) AS trial_s,
       (SELECT coalesce(back_s, 0.0) FROM back) AS back_s,
       avg(downtime_s) AS down_s,
       (SELECT coalesce(back_down_s, 0.0) FROM back) AS back_down_s
FROM measured WHERE trials > 0
"""


class Costs(Struct, frozen=True):
    """Restart cycles, seconds down, seconds occupied, and money in the campaign's currency.

    `lost_s` are seconds of capacity that services with replicas lost.
    """

    restarts: int
    downtime_s: float
    occupied_s: float
    money: float
    lost_s: float = 0.0

    def plus(self, other: "Costs") -> "Costs":
        """Both together."""
        return Costs(
            self.restarts + other.restarts,
            self.downtime_s + other.downtime_s,
            self.occupied_s + other.occupied_s,
            self.money + other.money,
            self.lost_s + other.lost_s,
        )

    def less(self, before: "Costs") -> "Costs":
        """What was added since `before`."""
        return Costs(
            self.restarts - before.restarts,
            self.downtime_s - before.downtime_s,
            self.occupied_s - before.occupied_s,
            self.money - before.money,
            self.lost_s - before.lost_s,
        )


class HypothesisCosts(Struct, frozen=True):
    """A row of the view hypothesis_ledger, and `lost_s` as in Costs; `hypothesis` "(none)": runs

    that speak to none.
    """

    hypothesis: str
    standing: str | None
    runs: int
    fail: int
    n: int
    restarts: int
    downtime_s: float
    occupied_s: float
    money: float
    lost_s: float = 0.0


class RunCosts(Struct, frozen=True):
    """A row of the view run_costs: what is charged to a run, shared by `hypotheses` of them.

    `lost_s` as in Costs.
    """

    run: str
    playbook: str
    started_at: float
    restarts: int
    downtime_s: float
    occupied_s: float
    money: float
    hypotheses: int
    lost_s: float = 0.0


class BootLine(Struct, frozen=True):
    """A row of the view boot_ledger: a boot, its trials, what is charged for it, capacity lost.

    `run`, `playbook` and `kind` are None for a boot that no run pays for; `counts` says whether
    its trials are evidence.
    """

    boot: str
    run: str | None
    playbook: str | None
    kind: str | None
    way_back: bool
    arm: str
    toggles: str
    effect: str | None
    started_at: float
    fail: int
    n: int
    censored: int
    exposure: float | None
    unit: str | None
    stopped: str
    counts: bool
    restarts: int
    downtime_s: float
    occupied_s: float
    money: float
    lost_s: float


class Pace(Struct, frozen=True):
    """What this ledger's boots took, in seconds: means over those that restarted something.

    `restart_s` is all of a boot but its trials and pauses, `trial_s` a trial, `back_s` the way
    back; `down_s` and `back_down_s` are the downtime in a boot and on the way back.
    """

    restart_s: float
    trial_s: float
    back_s: float
    down_s: float
    back_down_s: float


_COSTS = """
WITH page AS (
    SELECT id, batch, playbook, started_at FROM run
    WHERE id IN (SELECT value FROM json_each(?1))
), charged AS (
    SELECT run, 1 AS restarts, downtime_s, 0.0 AS occupied_s, money
    FROM cycle WHERE run IN (SELECT id FROM page)
    UNION ALL
    SELECT run, 0, 0.0, occupied_s, money FROM boot WHERE run IN (SELECT id FROM page)
    UNION ALL
    SELECT run, 0, 0.0, occupied_s, money
    FROM ways_back WHERE batch IN (SELECT batch FROM page)
)
SELECT page.id AS run, playbook, started_at, coalesce(sum(restarts), 0) AS restarts,
       total(downtime_s) AS downtime_s, total(occupied_s) AS occupied_s, total(money) AS money,
       (SELECT count(*) FROM run_hypothesis WHERE run_hypothesis.run = page.id) AS hypotheses
FROM page LEFT JOIN charged ON charged.run = page.id
GROUP BY page.id
"""

_PAID = """
WITH spent AS (
    SELECT run, sum(restarts) AS restarts, total(downtime_s) AS downtime_s,
           total(occupied_s) AS occupied_s, total(money) AS money
    FROM charges GROUP BY run
), lost AS (
    SELECT cycle.run AS run, total(lost_s) AS lost_s
    FROM cycle_capacity JOIN cycle ON cycle.id = cycle GROUP BY cycle.run
), paid AS (
    SELECT id, kind, coalesce(restarts, 0) AS restarts, coalesce(downtime_s, 0.0) AS downtime_s,
           coalesce(occupied_s, 0.0) AS occupied_s, coalesce(money, 0.0) AS money,
           coalesce(lost_s, 0.0) AS lost_s
    FROM run LEFT JOIN spent ON spent.run = run.id LEFT JOIN lost ON lost.run = run.id
    WHERE ?1 IS NULL OR run.rowid IN (SELECT value FROM json_each(?1))
)
"""


class _Part(Struct, frozen=True):
    """What one kind or hypothesis cost."""

    name: str
    restarts: int
    downtime_s: float
    occupied_s: float
    money: float
    lost_s: float


class CostReads(CapacityReads):
    """Reads about costs."""

    def total_cost(self) -> Costs:
        """What the whole campaign has cost so far."""
        (total,) = self._records(
            Costs,
            """
            SELECT coalesce(sum(restarts), 0) AS restarts, total(downtime_s) AS downtime_s,
                   total(occupied_s) AS occupied_s, total(money) AS money,
                   (SELECT total(lost_s) FROM cycle_capacity) AS lost_s
            FROM charges
            """,
        )
        return total

    def hypothesis_costs(self) -> tuple[HypothesisCosts, ...]:
        """What each hypothesis got and cost, in the order they were added; "(none)" comes last."""
        rows = self._rows(
            """
            SELECT hypothesis_ledger.* FROM hypothesis_ledger
            LEFT JOIN hypothesis ON slug = hypothesis_ledger.hypothesis
            ORDER BY slug IS NULL, hypothesis.rowid
            """
        )
        lost = self.lost_by_hypothesis()
        found = (HypothesisCosts(**dict(row)) for row in rows)
        return tuple(replace(one, lost_s=lost.get(one.hypothesis, 0.0)) for one in found)

    def kind_costs(self, places: Sequence[int] | None = None) -> Mapping[str, Costs]:
        """What the runs of each kind cost, of those at `places` or of all."""
        return self._parts(
            """
            SELECT kind AS name, sum(restarts) AS restarts, total(downtime_s) AS downtime_s,
                   total(occupied_s) AS occupied_s, total(money) AS money,
                   total(lost_s) AS lost_s
            FROM paid GROUP BY kind
            """,
            places,
        )

    def shared_costs(self, places: Sequence[int]) -> Mapping[str, Costs]:
        """What each hypothesis cost in the runs at `places`; "(none)": those that speak to none.

        Hypotheses share a run equally, but each of its restarts counts for each of them.
        """
        return self._parts(
            """
            , share AS (
                SELECT coalesce(hypothesis, '(none)') AS name, paid.*,
                       max(1, (SELECT count(*) FROM run_hypothesis WHERE run = paid.id)) AS sharers
                FROM paid LEFT JOIN run_hypothesis ON run = paid.id
            )
            SELECT name, sum(restarts) AS restarts, total(downtime_s / sharers) AS downtime_s,
                   total(occupied_s / sharers) AS occupied_s, total(money / sharers) AS money,
                   total(lost_s / sharers) AS lost_s
            FROM share LEFT JOIN hypothesis ON slug = name
            GROUP BY name ORDER BY slug IS NULL, hypothesis.rowid
            """,
            places,
        )

    def _parts(self, sql: str, places: Sequence[int] | None) -> Mapping[str, Costs]:
        meant = None if places is None else json.dumps(list(places))
        return {
            one.name: Costs(one.restarts, one.downtime_s, one.occupied_s, one.money, one.lost_s)
            for one in self._records(_Part, _PAID + sql, meant)
        }

    def run_costs(self) -> tuple[RunCosts, ...]:
        """What each run cost, in the order they were started."""
        return self._records(RunCosts, "SELECT * FROM run_costs ORDER BY started_at, run")

    def costs_of(self, runs: Sequence[str]) -> Mapping[str, RunCosts]:
        """What each of these runs cost, by its id."""
        found = self._records(RunCosts, _COSTS, json.dumps(list(runs)))
        lost = self.lost_in(runs)
        return {one.run: replace(one, lost_s=lost.get(one.run, 0.0)) for one in found}

    def boot_lines(self, runs: Sequence[str] | None = None) -> tuple[BootLine, ...]:
        """All boots with their trials and costs, oldest first; or those that `runs` pay for."""
        rows = self._rows(
            """
            SELECT boot_ledger.*,
                   (SELECT total(lost_s) FROM cycle_capacity JOIN cycle ON cycle.id = cycle
                    WHERE cycle.boot = boot_ledger.boot) AS lost_s
            FROM boot_ledger
            WHERE ?1 IS NULL OR run IN (SELECT value FROM json_each(?1))
            ORDER BY started_at, boot
            """,
            None if runs is None else json.dumps(list(runs)),
        )
        return tuple(
            BootLine(
                **{**dict(row), "way_back": bool(row["way_back"]), "counts": bool(row["counts"])}
            )
            for row in rows
        )

    def pace(self, playbook: str | None = None, command: str = "") -> Pace | None:
        """What restarts and trials took in completed runs of `playbook`, or of all playbooks.

        Where `command` is given, only of the boots that drove nothing else. Retracted runs are
        left out. None where no such run has restarted something and had trials.
        """
        (row,) = self._rows(_PACE, playbook, command)
        if not row["restart_s"] or not row["trial_s"]:
            return None
        return Pace(**dict(row))
