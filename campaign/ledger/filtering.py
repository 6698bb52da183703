"""Runs as lists show them: found by filters, and read where they are looked at."""

import json
from array import array
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from campaign.ledger import records
from campaign.ledger.owner import Owner, is_alive
from campaign.ledger.query import Reader

NO_HYPOTHESIS = "(none)"
"""In place of a hypothesis: the runs that speak to none."""


class RunFilter(Struct, frozen=True):
    """Which runs are meant: those that everything given here is true of.

    `hypothesis` "(none)" means the runs that speak to none; `verdict` is the word of the latest
    one; `text` is looked for, in any case, in ids, questions, errors, reasons of verdicts and of
    retractions, and in the notes of a run's hypotheses.
    """

    playbook: str | None = None
    hypothesis: str | None = None
    status: str | None = None
    verdict: str | None = None
    text: str = ""


EVERY_RUN = RunFilter()

_TEXT = """(
    id LIKE :text ESCAPE '\\' OR question LIKE :text ESCAPE '\\' OR error LIKE :text ESCAPE '\\'
    OR retracted LIKE :text ESCAPE '\\'
    OR id IN (SELECT run FROM verdict WHERE reasons LIKE :text ESCAPE '\\')
    OR id IN (SELECT run FROM run_hypothesis WHERE hypothesis IN (
        SELECT hypothesis FROM hypothesis_event
        WHERE kind = 'note' AND text LIKE :text ESCAPE '\\')))"""
_STATUS = "status = :status AND id NOT IN (SELECT value FROM json_each(:gone))"
_INTERRUPTED = "(status = 'interrupted' OR id IN (SELECT value FROM json_each(:gone)))"
_HYPOTHESIS = "id IN (SELECT run FROM run_hypothesis WHERE hypothesis = :hypothesis)"
_NONE = "id NOT IN (SELECT run FROM run_hypothesis)"
_VERDICT = """(SELECT word FROM verdict WHERE verdict.run = run.id
    ORDER BY at DESC, verdict.rowid DESC LIMIT 1) = :verdict"""


class FilteredReads(Reader):
    """Reads for lists of runs."""

    def places(
        self, wanted: RunFilter, limit: int | None = None, since: float = 0.0
    ) -> "array[int]":
        """Where the runs that are meant are, the newest first, `limit` at most: for `runs_at`.

        They began at `since` (seconds since the epoch) or later.

        A place is eight bytes and stays a run's own, so the whole of a long list may be kept
        while only what is on the screen is read.
        """
        values: dict[str, str | float | None] = {
            "limit": -1 if limit is None else limit,
            "playbook": wanted.playbook,
            "hypothesis": wanted.hypothesis,
            "status": wanted.status,
            "verdict": wanted.verdict,
            "text": _pattern(wanted.text),
            "since": since,
            "gone": json.dumps(self._gone()) if wanted.status else "[]",
        }
        sql = f"""SELECT rowid FROM run WHERE started_at >= :since AND {_conditions(wanted)}
                  ORDER BY started_at DESC, rowid DESC LIMIT :limit"""
        return array("q", [row[0] for row in self._named_rows(sql, values)])

    def runs_at(self, places: Sequence[int]) -> dict[int, records.Run]:
        """The runs at these places, in their order."""
        rows = self._rows(
            f"SELECT rowid, {_RUN} FROM run WHERE rowid IN (SELECT value FROM json_each(?))",
            json.dumps(list(places)),
        )
        found = {place: as_seen(records.Run(*values)) for place, *values in rows}
        return {one: found[one] for one in places if one in found}

    def place_of(self, run: str) -> int | None:
        """Where the run of that id is; None where there is none."""
        rows = self._rows("SELECT rowid FROM run WHERE id = ?", run)
        return int(rows[0][0]) if rows else None

    def run_count(self) -> int:
        """How many runs there are, whatever became of them."""
        (row,) = self._rows("SELECT count(*) FROM run")
        return int(row[0])

    def playbooks(self) -> tuple[str, ...]:
        """The names of the playbooks that were run."""
        rows = self._rows("SELECT DISTINCT playbook FROM run ORDER BY playbook")
        return tuple(row["playbook"] for row in rows)

    def _gone(self) -> list[str]:
        """The ids of runs that are stored as running while their process is gone."""
        rows = self._rows(
            "SELECT id, owner_pid, owner_start, owner_boot FROM run WHERE status = 'running'"
        )
        return [row["id"] for row in rows if not is_alive(Owner(*list(row)[1:]))]


_RUN = ", ".join(records.Run.__struct_fields__)


def as_seen(run: records.Run) -> records.Run:
    """`run`, interrupted where it is stored as running and its process is gone."""
    if run.status != "running" or is_alive(Owner(run.owner_pid, run.owner_start, run.owner_boot)):
        return run
    return replace(run, status="interrupted")


def _conditions(wanted: RunFilter) -> str:
    """The filters that are set; each is in SQL only then, so that indexes serve the others."""
    given = (
        (wanted.playbook, "playbook = :playbook"),
        (wanted.hypothesis, _NONE if wanted.hypothesis == NO_HYPOTHESIS else _HYPOTHESIS),
        (wanted.status, _INTERRUPTED if wanted.status == "interrupted" else _STATUS),
        (wanted.verdict, _VERDICT),
        (wanted.text, _TEXT),
    )
    return " AND ".join(sql for value, sql in given if value) or "TRUE"


def _pattern(text: str) -> str:
    for special in "\\%_":
        text = text.replace(special, "\\" + special)
    return f"%{text}%"
