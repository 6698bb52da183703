"""The reads that judging rests on: what counts as evidence, and what was made of it."""

from collections.abc import Mapping, Sequence
from sqlite3 import Row

from msgspec import Struct

from campaign.ledger.conditions import ConditionReads, stored
from campaign.ledger.query import mapping
from hypotheses.observation import Counts, Observation, Stopping, like_the_newest
from hypotheses.verdict import Verdict, Word

_OBSERVATIONS = """
SELECT coalesce(observation.cycle, observation.boot) AS restart, observation.run,
       run.playbook, observation.arm, observation.conditions,
       rates.fail, rates.n, rates.censored, observation.stop_reason,
       terms.rule, terms.stopped, terms.stands, terms.unit,
       run.id IN (SELECT run FROM run_terms WHERE imported_by IS NOT NULL) AS imported,
       (SELECT exposure FROM exposure_rates
        WHERE exposure_rates.observation = observation.id) AS exposure
FROM observation
JOIN run ON run.id = observation.run
JOIN trial_rates AS rates ON rates.observation = observation.id
LEFT JOIN observation_terms AS terms ON terms.observation = observation.id
WHERE observation.invalid IS NULL AND run.retracted IS NULL
  AND (run.status = 'completed' OR run.id = ?4)
  AND (?1 IS NULL OR run.kind = ?1)
  AND (?2 IS NULL OR run.playbook = ?2)
  AND (?3 IS NULL OR observation.arm = ?3)
  AND (?4 IS NULL OR run.id = ?4)
  AND (?5 IS NULL OR observation.started_at <= ?5)
ORDER BY observation.started_at, observation.rowid
"""


class Judged(Struct, frozen=True):
    """A run's verdict on a hypothesis."""

    run: str
    playbook: str
    kind: str
    verdict: Verdict


class Compared(Struct, frozen=True):
    """The detector of a comparison, and when it was made."""

    detector: str
    at: float


class EvidenceReads(ConditionReads):
    """Reads for judging. Retracted runs and invalid observations are never in them."""

    def observations_of(
        self,
        *,
        kind: str | None = None,
        playbook: str | None = None,
        arm: str | None = None,
        run: str | None = None,
        until: float | None = None,
    ) -> tuple[Observation, ...]:
        """Valid observations with their counts, oldest first, by all that is given.

        Those that began after `until` are left out. Of completed runs only; but those of `run`,
        where it is given, count while it still runs. Observations with the same `restart` follow
        the same restart cycle.
        """
        rows = self._rows(_OBSERVATIONS, kind, playbook, arm, run, until)
        conditions = self.conditions()
        return tuple(_observation(row, conditions[row["conditions"]]) for row in rows)

    def baselines(self, seen: Sequence[Observation] | None = None) -> tuple[Observation, ...]:
        """The baselines that the suspects are held against, oldest first: all alike.

        Of the reproducers with which suspects were removed, where any were: a baseline of another
        one is there for something else. `seen` are all valid baselines, where they have been read.
        """
        rows = self._rows(
            """
            SELECT DISTINCT observation.reproducer FROM observation
            JOIN run ON run.id = observation.run
            JOIN removal ON removal.boot = observation.boot
            WHERE observation.invalid IS NULL AND run.retracted IS NULL
              AND run.status = 'completed'
            """
        )
        suspects = {row["reproducer"] for row in rows}
        found = self.observations_of(kind="baseline") if seen is None else seen
        fit = [one for one in found if one.conditions.get("reproducer") in suspects]
        return like_the_newest(fit or found)

    def outcomes_of(self, against: str, alike: Mapping[str, str]) -> tuple[bool, ...]:
        """Whether each trial of `against` failed, in order, where the conditions are `alike`.

        `against` is "baseline" or a playbook's name. Censored trials and imported runs, whose
        order is not known, are left out.
        """
        rows = self._rows(
            """
            SELECT observation.conditions, trial.result
            FROM observation
            JOIN run ON run.id = observation.run
            JOIN trial ON trial.observation = observation.id
            WHERE observation.invalid IS NULL AND run.retracted IS NULL
              AND run.status = 'completed' AND trial.result <> 'censored'
              AND run.id NOT IN (SELECT run FROM run_terms WHERE imported_by IS NOT NULL)
              AND ((?1 = 'baseline' AND run.kind = 'baseline') OR run.playbook = ?1)
            ORDER BY observation.started_at, observation.rowid, trial.position
            """,
            against,
        )
        same = {text: alike.items() <= stored(text).items() for text in {row[0] for row in rows}}
        return tuple(row["result"] == "fail" for row in rows if same[row["conditions"]])

    def condition_names(self) -> frozenset[str]:
        """The names of all conditions that were ever recorded."""
        return frozenset(name for one in self.conditions().values() for name in one)

    def trusted_detectors(self) -> frozenset[str]:
        """The detectors whose latest judged detector run, retracted ones aside, saw right."""
        latest: dict[str, str] = {}
        for row in self._rows(
            """
            SELECT comparison.detector, verdict.word
            FROM comparison
            JOIN run ON run.id = comparison.run
            JOIN verdict ON verdict.run = run.id
            WHERE run.kind = 'detector' AND run.retracted IS NULL AND comparison.detector <> ''
            ORDER BY run.started_at, run.rowid, verdict.at, verdict.rowid
            """
        ):
            latest[row["detector"]] = row["word"]
        return frozenset(name for name, word in latest.items() if word == Word.SUPPORTED)

    def latest_comparison(self, playbook: str) -> Compared | None:
        """What `playbook` compared in its latest completed run, if any; retracted runs aside."""
        rows = self._records(
            Compared,
            """
            SELECT comparison.detector, comparison.at
            FROM comparison JOIN run ON run.id = comparison.run
            WHERE run.playbook = ? AND run.retracted IS NULL AND run.status = 'completed'
              AND comparison.detector <> ''
            ORDER BY run.started_at DESC, run.rowid DESC, comparison.at DESC LIMIT 1
            """,
            playbook,
        )
        return rows[0] if rows else None

    def evidence(self, slug: str) -> tuple[Judged, ...]:
        """The latest verdict of each completed run on a hypothesis, the earliest run first."""
        rows = self._rows(
            """
            SELECT run.id, run.playbook, run.kind,
                   word, qualifier, reasons, numbers, still_needed
            FROM verdict JOIN run ON run.id = verdict.run
            WHERE verdict.hypothesis = ? AND run.retracted IS NULL AND run.status = 'completed'
            ORDER BY run.started_at, run.rowid, verdict.at, verdict.rowid
            """,
            slug,
        )
        latest = {
            row["id"]: Judged(row["id"], row["playbook"], row["kind"], _verdict(row))
            for row in rows
        }
        return tuple(latest.values())

    def newest_evidence(self, slug: str) -> tuple[Judged, ...]:
        """The last of `evidence` for each playbook, the newest first."""
        rows = self._rows(
            """
            WITH told AS (
                SELECT run.id, run.playbook, run.kind, run.started_at, run.rowid AS place,
                       word, qualifier, reasons, numbers, still_needed,
                       row_number() OVER (
                           PARTITION BY run.playbook
                           ORDER BY run.started_at DESC, run.rowid DESC,
                                    verdict.at DESC, verdict.rowid DESC) AS age
                FROM verdict JOIN run ON run.id = verdict.run
                WHERE verdict.hypothesis = ? AND run.retracted IS NULL AND run.status = 'completed'
            )
            SELECT * FROM told WHERE age = 1 ORDER BY started_at DESC, place DESC
            """,
            slug,
        )
        return tuple(Judged(row["id"], row["playbook"], row["kind"], _verdict(row)) for row in rows)

    def latest_verdicts(self, run: str) -> Mapping[str | None, Verdict]:
        """A run's latest verdict on each hypothesis; None: on none."""
        rows = self._rows("SELECT * FROM verdict WHERE run = ? ORDER BY at, rowid", run)
        return {row["hypothesis"]: _verdict(row) for row in rows}

    def is_overruled(self, slug: str) -> bool:
        """Whether an operator gave a hypothesis its latest standing, so that no rule moves it."""
        rows = self._rows(
            """
            SELECT by FROM hypothesis_event WHERE hypothesis = ? AND kind = 'standing'
            ORDER BY at DESC, rowid DESC LIMIT 1
            """,
            slug,
        )
        return bool(rows) and rows[0]["by"] == "operator"


def _verdict(row: Row) -> Verdict:
    return Verdict(
        word=Word(row["word"]),
        qualifier=row["qualifier"],
        reasons=tuple(row["reasons"].splitlines()),
        numbers=mapping(row["numbers"]),
        still_needed=row["still_needed"],
    )


def _observation(row: Row, conditions: Mapping[str, str]) -> Observation:
    stop = Stopping(row["stop_reason"], row["stopped"], bool(row["stands"]))
    return Observation(
        counts=Counts(row["fail"], row["n"] - row["fail"], row["censored"]),
        restart=row["restart"],
        run=row["run"],
        playbook=row["playbook"],
        arm=row["arm"],
        conditions=conditions,
        stop=stop if row["rule"] else None,
        exposure=row["exposure"],
        unit=row["unit"] or "",
        imported=bool(row["imported"]),
    )
