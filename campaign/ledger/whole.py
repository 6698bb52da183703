"""All that is kept of several runs, read for all of them at once."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from campaign.ledger import records
from campaign.ledger.listing import ListReads
from hypotheses.observation import Counts

if TYPE_CHECKING:
    from hypotheses.tally import Tally


Attributes = Mapping[str, Mapping[str, Counts]]


class Whole(Struct, frozen=True):
    """A run's terms, its hypotheses, and its own rows, each in the order they happened.

    `boots` are without the way back; `tallies` are by the observation's id, `attributes` the counts
    of its trials by each attribute and its values, `latencies` those of its sessions.
    """

    terms: records.RunTerms
    hypotheses: tuple[str, ...]
    boots: tuple[records.Boot, ...]
    cycles: tuple[records.Cycle, ...]
    steps: tuple[records.Step, ...]
    edits: tuple[records.Edit, ...]
    observations: tuple[records.Observation, ...]
    comparisons: tuple[records.Comparison, ...]
    verdicts: tuple[records.Verdict, ...]
    tallies: Mapping[str, "Tally"]
    attributes: Attributes
    latencies: tuple[records.RoundLatency, ...]
    failed_sessions: tuple[str, ...]


class _OfRun(Protocol):
    __struct_fields__: ClassVar[tuple[str, ...]]

    @property
    def run(self) -> str | None: ...


_Row = TypeVar("_Row", bound=_OfRun)
_RUNS = "run IN (SELECT value FROM json_each(?))"


class WholeReads(ListReads):
    """Reads of whole runs."""

    def wholes(self, runs: Sequence[str]) -> Mapping[str, Whole]:
        """All of each of `runs` (ids), by its id."""
        terms = self._by_run(records.RunTerms, "run_terms", "run", runs)
        hypotheses = self._by_run(_Spoken, "run_hypothesis", "hypothesis", runs)
        boots = self._by_run(records.Boot, "boot", "started_at, position", runs)
        cycles = self._by_run(records.Cycle, "cycle", "requested_at, rowid", runs)
        steps = self._by_run(records.Step, "step", "position, rowid", runs)
        edits = self._by_run(records.Edit, "edit", "rowid", runs)
        seen = self._by_run(records.Observation, "observation", "started_at, rowid", runs)
        compared = self._by_run(records.Comparison, "comparison", "at, rowid", runs)
        verdicts = self._by_run(records.Verdict, "verdict", "at, rowid", runs)
        tallies, attributes = self.tallies_of(runs), self.attributes_of(runs)
        latencies, failed = self.latencies_of(runs), self._failed_sessions(runs)
        return {
            run: Whole(
                terms=next(iter(terms.get(run, ())), records.RunTerms(run)),
                hypotheses=tuple(one.hypothesis for one in hypotheses.get(run, ())),
                boots=tuple(boots.get(run, ())),
                cycles=tuple(cycles.get(run, ())),
                steps=tuple(steps.get(run, ())),
                edits=tuple(edits.get(run, ())),
                observations=self.as_ended(run, seen.get(run, ())),
                comparisons=tuple(compared.get(run, ())),
                verdicts=tuple(verdicts.get(run, ())),
                tallies=tallies.get(run, {}),
                attributes=attributes.get(run, {}),
                latencies=latencies.get(run, ()),
                failed_sessions=failed.get(run, ()),
            )
            for run in runs
        }

    def tallies_of(self, runs: Sequence[str]) -> Mapping[str, Mapping[str, "Tally"]]:
        """What each observation of these runs shows so far, by the run's id and its own."""
        from hypotheses.tally import Tally

        rows = self._rows(
            f"""
            SELECT rates.observation, rates.run, fail, n, censored, terms.stopped, terms.unit,
                   (SELECT exposure FROM exposure_rates
                    WHERE exposure_rates.observation = rates.observation) AS exposure
            FROM trial_rates AS rates
            LEFT JOIN observation_terms AS terms ON terms.observation = rates.observation
            WHERE rates.{_RUNS}
            """,
            json.dumps(list(runs)),
        )
        found: dict[str, dict[str, Tally]] = {}
        for row in rows:
            found.setdefault(row["run"], {})[row["observation"]] = Tally(
                Counts(row["fail"], row["n"] - row["fail"], row["censored"]),
                (row["stopped"],) if row["stopped"] else (),
                row["exposure"],
                row["unit"] or "",
            )
        return found

    def attributes_of(self, runs: Sequence[str]) -> Mapping[str, Attributes]:
        """The counts of the trials of these runs by attribute and value, of valid observations."""
        rows = self._rows(
            f"""
            SELECT run, name, value, sum(result = 'fail') AS fail, sum(result = 'pass') AS passed
            FROM observation
            JOIN trial ON trial.observation = observation.id
            JOIN trial_attribute USING (observation, position)
            WHERE {_RUNS} AND invalid IS NULL
            GROUP BY run, name, value ORDER BY run, name, min(position)
            """,
            json.dumps(list(runs)),
        )
        found: dict[str, dict[str, dict[str, Counts]]] = {}
        for row in rows:
            counts = Counts(row["fail"], row["passed"])
            found.setdefault(row["run"], {}).setdefault(row["name"], {})[row["value"]] = counts
        return found

    def latencies_of(self, runs: Sequence[str]) -> Mapping[str, tuple[records.RoundLatency, ...]]:
        """How long the rounds of the sessions of these runs took, by the run's id."""
        rows = self._rows(
            f"""
            SELECT run, round_latency.* FROM observation
            JOIN round_latency ON round_latency.observation = observation.id
            WHERE {_RUNS} ORDER BY run, started_at, round, what
            """,
            json.dumps(list(runs)),
        )
        found: dict[str, list[records.RoundLatency]] = {}
        for run, *values in rows:
            found.setdefault(run, []).append(records.RoundLatency(*values))
        return {run: tuple(some) for run, some in found.items()}

    def _failed_sessions(self, runs: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
        """The numbers of the sessions that failed, of valid observations, by the run's id."""
        rows = self._rows(
            f"""
            SELECT run, ident FROM observation JOIN trial ON trial.observation = observation.id
            WHERE {_RUNS} AND invalid IS NULL AND result = 'fail' AND ident IS NOT NULL
              AND id IN (SELECT observation FROM round_latency)
            ORDER BY run, started_at, position
            """,
            json.dumps(list(runs)),
        )
        found: dict[str, list[str]] = {}
        for run, ident in rows:
            found.setdefault(run, []).append(ident)
        return {run: tuple(some) for run, some in found.items()}

    def as_ended(
        self, run: str, found: Sequence[records.Observation]
    ) -> tuple[records.Observation, ...]:
        """A run's observations; one that its process did not live to end is invalid."""
        if all(one.ended_at is not None for one in found) or self.goes_on(run):
            return tuple(found)
        return tuple(map(_cut_off, found))

    def _by_run(
        self, kind: type[_Row], table: str, order: str, runs: Sequence[str]
    ) -> Mapping[str | None, Sequence[_Row]]:
        sql = f"SELECT * FROM {table} WHERE {_RUNS} ORDER BY {order}"
        found: dict[str | None, list[_Row]] = {}
        for row in self._records(kind, sql, json.dumps(list(runs))):
            found.setdefault(row.run, []).append(row)
        return found


class _Spoken(Struct, frozen=True):
    run: str
    hypothesis: str


def _cut_off(one: records.Observation) -> records.Observation:
    """As an observation reads whose run was interrupted."""
    if one.ended_at is not None or one.invalid is not None:
        return one
    return replace(one, invalid="interrupted before its end")
