"""What a list of runs says of each, read for all of them at once."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from campaign.ledger import records
from campaign.ledger.owner import Owner, is_alive
from campaign.ledger.query import Reader
from hypotheses.observation import Counts

if TYPE_CHECKING:
    from hypotheses.tally import Tally

_RUNS = "run IN (SELECT value FROM json_each(?))"


class Outline(Struct):
    """A run's terms and hypotheses, its verdicts, oldest first, and what its valid trials show."""

    terms: records.RunTerms
    tally: "Tally"
    hypotheses: list[str] = field(default_factory=list)
    verdicts: list[records.Verdict] = field(default_factory=list)


class ListReads(Reader):
    """Reads for lists."""

    def outlines(self, runs: Sequence[str]) -> Mapping[str, Outline]:
        """The outline of each of `runs` (ids), by its id."""
        from hypotheses.tally import Tally

        wanted = json.dumps(list(runs))
        found = {run: Outline(records.RunTerms(run), Tally()) for run in runs}
        for terms in self._records(
            records.RunTerms, f"SELECT * FROM run_terms WHERE {_RUNS}", wanted
        ):
            found[terms.run].terms = terms
        for row in self._rows(
            f"SELECT * FROM run_hypothesis WHERE {_RUNS} ORDER BY hypothesis", wanted
        ):
            found[row["run"]].hypotheses.append(row["hypothesis"])
        for verdict in self._records(
            records.Verdict, f"SELECT * FROM verdict WHERE {_RUNS} ORDER BY at, rowid", wanted
        ):
            found[verdict.run].verdicts.append(verdict)
        for run, tally in self._valid_tallies(wanted):
            found[run].tally += tally
        return found

    def _valid_tallies(self, wanted: str) -> Iterator[tuple[str, "Tally"]]:
        from hypotheses.tally import Tally

        for row in self._rows(
            """
            SELECT rates.run, observation.ended_at, rates.fail, rates.n, rates.censored,
                   terms.stopped, terms.unit,
                   (SELECT exposure FROM exposure_rates
                    WHERE exposure_rates.observation = observation.id) AS exposure
            FROM observation
            JOIN trial_rates AS rates ON rates.observation = observation.id
            LEFT JOIN observation_terms AS terms ON terms.observation = observation.id
            WHERE observation.run IN (SELECT value FROM json_each(?))
              AND observation.invalid IS NULL
            ORDER BY observation.started_at, observation.rowid
            """,
            wanted,
        ):
            if row["ended_at"] is None and not self.goes_on(row["run"]):
                continue
            yield (
                row["run"],
                Tally(
                    Counts(row["fail"], row["n"] - row["fail"], row["censored"]),
                    (row["stopped"],) if row["stopped"] else (),
                    row["exposure"],
                    row["unit"] or "",
                ),
            )

    def goes_on(self, run: str) -> bool:
        """Whether the process of the run with this id is still at it."""
        (row,) = self._rows(
            "SELECT status, owner_pid, owner_start, owner_boot FROM run WHERE id = ?", run
        )
        status, *owner = row
        return status == "running" and is_alive(Owner(*owner))
