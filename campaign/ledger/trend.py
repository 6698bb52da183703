"""Reads for plots: rates over restarts, and spending over time."""

from itertools import accumulate

from msgspec import Struct

from campaign.ledger.query import Reader
from hypotheses.observation import Counts


class Spending(Struct, frozen=True):
    """Seconds down and money spent in all by the end of each of several equal spans of time.

    The first begins at `began`, the last ends at `ended`; both are 0 where nothing was spent.
    """

    began: float
    ended: float
    downtime_s: tuple[float, ...]
    money: tuple[float, ...]


class TrendReads(Reader):
    """Reads of what changes over a campaign."""

    def counts_by_restart(self, playbook: str) -> tuple[Counts, ...]:
        """The trials after each restart in a playbook's runs that are evidence, oldest first."""
        rows = self._rows(
            """
            SELECT sum(rates.fail) AS fail, sum(rates.n) AS n, sum(rates.censored) AS censored
            FROM run
            JOIN observation ON observation.run = run.id
            JOIN trial_rates AS rates ON rates.observation = observation.id AND rates.counts
            WHERE run.playbook = ?
            GROUP BY coalesce(observation.cycle, observation.boot)
            ORDER BY min(observation.started_at)
            """,
            playbook,
        )
        return tuple(Counts(row["fail"], row["n"] - row["fail"], row["censored"]) for row in rows)

    def spending(self, spans: int) -> Spending:
        """What was spent, in `spans` equal spans of time from the first charge to the last."""
        rows = self._rows(
            """
            WITH spent AS (
                SELECT requested_at AS at, downtime_s, money FROM cycle
                UNION ALL
                SELECT started_at, 0.0, coalesce(money, 0.0) FROM boot
            ), ends AS (
                SELECT min(at) AS began, max(at) AS ended FROM spent
            )
            SELECT min(?1 - 1, CAST(?1 * (at - began) / max(ended - began, 1e-9) AS INTEGER))
                       AS span,
                   total(downtime_s) AS downtime_s, total(money) AS money, began, ended
            FROM spent, ends GROUP BY span
            """,
            spans,
        )
        found = {row["span"]: row for row in rows}
        down, money = (
            tuple(accumulate(found[one][name] if one in found else 0.0 for one in range(spans)))
            for name in ("downtime_s", "money")
        )
        began, ended = (rows[0]["began"], rows[0]["ended"]) if rows else (0.0, 0.0)
        return Spending(began, ended, down, money)
