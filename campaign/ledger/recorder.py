"""The only writer of the ledger."""

import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import asdict

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.connect import complaints, open_writer
from campaign.ledger.counting import ADD_COUNTED, counted
from campaign.ledger.merge import Merged, attached, merge_rows
from campaign.ledger.tables import CAMPAIGN, HYPOTHESIS, RUN_HYPOTHESIS, TABLES, Record, Table
from hypotheses.hypothesis import Hypothesis, Standing

Value = str | int | float | None

LONGEST_PREFIX = 80
"""As many characters of a playbook's name are in the ids of its runs at most."""

_BASE32 = "abcdefghijklmnopqrstuvwxyz234567"


def _unchanged(text: str) -> str:
    return text


class Recorder:
    """Writes what happens. A context manager; to be used by the thread that opened it.

    Every call is one transaction, synced to the disk when it returns; after an error nothing of
    it is stored and the call may be repeated. All raise CampaignError: REFUSED when the ledger is
    locked for more than five seconds, the disk is full or the file is unusable, FAULT for a row
    that breaks the schema.

    `redact` is applied to all text but ids and words of a fixed set. JSON is redacted as text: a
    secret with quotes or backslashes is found there only if `redact` knows its escaped form too.
    """

    def __init__(
        self, path: Path, connection: sqlite3.Connection, redact: Callable[[str], str]
    ) -> None:
        self.path = path
        self._connection = connection
        self._redact = redact

    @classmethod
    def open(
        cls, path: Path, *, create: bool, redact: Callable[[str], str] = _unchanged
    ) -> "Recorder":
        """Opens the ledger at `path`, brought up to date; `create` makes it where there is none."""
        return cls(path, open_writer(path, create=create), redact)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes the calls inside one transaction: all of them are stored, or none."""
        if self._connection.in_transaction:
            yield
            return
        with complaints(self.path):
            # IMMEDIATE: a transaction that reads first would lose to another writer at once.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.commit()
            finally:
                self._connection.rollback()

    def new_id(self, prefix: str = "") -> str:
        """A new id: `<prefix>-<6 characters>`, of no run so far; 12 characters without a prefix.

        It names folders, too, so a long prefix is cut.
        """
        if not prefix:
            return _random(12)
        while True:
            candidate = f"{prefix[:LONGEST_PREFIX].rstrip('+-')}-{_random(6)}"
            with complaints(self.path):
                if self._first("SELECT id FROM run WHERE id = ?", candidate) is None:
                    return candidate

    def add(self, record: Record) -> None:
        """Stores a new row."""
        self.add_all((record,))

    def add_all(self, rows: Iterable[Record]) -> None:
        """Stores new rows, in their order, in one transaction."""
        with self.transaction():
            for kind, group in groupby(rows, type):
                some = list(group)
                self._insert(TABLES[kind], map(asdict, some))
                for one in counted(some):
                    self._connection.execute(ADD_COUNTED, asdict(one))

    def update(self, record_type: type[Record], key: str, **fields: Value) -> None:
        """Changes fields of the row of a table whose own column is its key (most often `id`)."""
        table = TABLES[record_type]
        with self.transaction():
            if not self._change(table, table.key, key, fields):
                what = f"{self.path}: no {table.name} has the {table.key} {key}"
                raise CampaignError(Exit.FAULT, what)

    def set_campaign(self, name: str, symptom: str, currency: str) -> records.CampaignRecord:
        """Says which campaign this ledger belongs to; when it began and its hash key stay."""
        named: dict[str, Value] = {"name": name, "symptom": symptom, "currency": currency}
        begun: dict[str, Value] = {"created_at": time.time(), "hash_key": secrets.token_hex(32)}
        with self.transaction():
            old = self._campaign()
            if old is None:
                self._insert(CAMPAIGN, [named | begun])
            else:
                self._change(CAMPAIGN, "name", old.name, named)
            new = self._campaign()
        assert new is not None
        return new

    def _campaign(self) -> records.CampaignRecord | None:
        columns = ", ".join(records.CampaignRecord.__struct_fields__)
        row = self._connection.execute(f"SELECT {columns} FROM campaign").fetchone()
        return None if row is None else records.CampaignRecord(*row)

    def add_hypothesis(self, hypothesis: Hypothesis) -> None:
        """Adds a hypothesis, and that to its history. USAGE when its slug is taken or no slug."""
        slug = hypothesis.slug
        if not slug or any(letter.isspace() or letter in "()" for letter in slug):
            raise CampaignError(
                Exit.USAGE,
                f"{slug!r} cannot name a hypothesis",
                "use letters, digits and hyphens, without blanks or parentheses",
            )
        with self.transaction():
            if self._hypothesis(slug) is not None:
                raise CampaignError(
                    Exit.USAGE, f"the hypothesis {slug} exists", "choose another name, or change it"
                )
            self._insert(HYPOTHESIS, [self._row(hypothesis)])
            self._tell(slug, "added", hypothesis.claim, standing=hypothesis.standing)

    def change_hypothesis(self, hypothesis: Hypothesis) -> None:
        """Replaces all but the standing of the hypothesis with that slug, and tells what changed.

        USAGE when there is none of that slug.
        """
        with self.transaction():
            old = self._known(hypothesis.slug)
            new = self._stored(HYPOTHESIS, self._row(hypothesis))
            changed = [name for name in new if name != "standing" and new[name] != old[name]]
            if changed:
                self._change(HYPOTHESIS, "slug", hypothesis.slug, {n: new[n] for n in changed})
                lines = (f"{name}: {_shown(old[name])} -> {_shown(new[name])}" for name in changed)
                self._tell(hypothesis.slug, "changed", "\n".join(lines))

    def note(self, slug: str, text: str) -> None:
        """Adds a note to a hypothesis. USAGE when there is none of that slug."""
        with self.transaction():
            self._known(slug)
            self._tell(slug, "note", text)

    def set_standing(
        self, slug: str, standing: Standing, reason: str, by: str, runs: Iterable[str] = ()
    ) -> None:
        """Gives a hypothesis a standing: `by` "rule" or "operator", resting on `runs` (ids).

        USAGE when there is none of that slug.
        """
        with self.transaction():
            self._known(slug)
            self._change(HYPOTHESIS, "slug", slug, {"standing": str(standing)})
            self._tell(slug, "standing", reason, standing=standing, by=by, runs=" ".join(runs))

    def link_run(self, run: str, slugs: Iterable[str]) -> None:
        """Says which hypotheses a run speaks to; they share its costs equally."""
        sql = f'INSERT OR IGNORE INTO "{RUN_HYPOTHESIS.name}" (run, hypothesis) VALUES (?, ?)'
        with self.transaction():
            self._connection.executemany(sql, [(run, slug) for slug in dict.fromkeys(slugs)])

    def retract(self, run: str, reason: str) -> None:
        """Says that a run's results do not count. USAGE when it is unknown or retracted already."""
        with self.transaction():
            row = self._first("SELECT retracted FROM run WHERE id = ?", run)
            if row is None:
                raise CampaignError(Exit.USAGE, f"there is no run {run}")
            if row["retracted"] is not None:
                raise CampaignError(
                    Exit.USAGE, f"the run {run} is retracted already: {row['retracted']}"
                )
            self.update(records.Run, run, retracted=reason, retracted_at=time.time())

    def drop_tails(self, runs: Iterable[str]) -> None:
        """Forgets the end of the output that observations of these runs keep."""
        with self.transaction():
            for run in runs:
                self._change(TABLES[records.Observation], "run", run, {"tail": ""})

    def compact(self) -> None:
        """Gives the room of what was forgotten back to the disk; needs the ledger to itself."""
        with complaints(self.path):
            self._connection.execute("VACUUM")
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def merge(self, other: Path) -> Merged:
        """Adds all rows that the ledger at `other` has and this one does not.

        REFUSED where that ledger is of another campaign.
        """
        with (
            complaints(self.path),
            attached(self._connection, other),
            self.transaction(),
        ):
            return merge_rows(self._connection)

    def _tell(
        self,
        slug: str,
        kind: str,
        text: str,
        *,
        standing: str | None = None,
        by: str = "operator",
        runs: str = "",
    ) -> None:
        self.add(
            records.HypothesisEvent(
                self.new_id(), slug, time.time(), kind, text, standing, by, runs
            )
        )

    def _known(self, slug: str) -> dict[str, Value]:
        row = self._hypothesis(slug)
        if row is None:
            raise CampaignError(
                Exit.USAGE,
                f"there is no hypothesis {slug}",
                "`campaign hypothesis list` shows them",
            )
        return row

    def _hypothesis(self, slug: str) -> dict[str, Value] | None:
        return self._first("SELECT * FROM hypothesis WHERE slug = ?", slug)

    def _first(self, sql: str, key: str) -> dict[str, Value] | None:
        found = self._connection.execute(sql, [_storable(key)])
        row, names = found.fetchone(), (one[0] for one in found.description)
        return None if row is None else dict(zip(names, row, strict=True))

    def _row(self, hypothesis: Hypothesis) -> dict[str, Value]:
        """A hypothesis's columns; the items of its lists are redacted before they become JSON."""
        fields = asdict(hypothesis)
        for name in ("assumptions", "links"):
            items = [_storable(self._redact(item)) for item in getattr(hypothesis, name)]
            fields[name] = json.dumps(items, ensure_ascii=False)
        return fields

    def _insert(self, table: Table, rows: Iterable[Mapping[str, Value]]) -> None:
        """Stores rows of the same columns, by one prepared statement: trials come by thousands."""
        stored = [self._stored(table, row) for row in rows]
        names = ", ".join(f'"{name}"' for name in stored[0])
        marks = ", ".join("?" for _ in stored[0])
        sql = f'INSERT INTO "{table.name}" ({names}) VALUES ({marks})'
        self._connection.executemany(sql, [tuple(row.values()) for row in stored])

    def _change(self, table: Table, key: str, value: str, fields: Mapping[str, Value]) -> bool:
        """Whether there was such a row."""
        stored = self._stored(table, fields)
        assignments = ", ".join(f'"{name}" = ?' for name in stored)
        sql = f'UPDATE "{table.name}" SET {assignments} WHERE "{key}" = ?'
        return self._connection.execute(sql, [*stored.values(), value]).rowcount > 0

    def _stored(self, table: Table, fields: Mapping[str, Value]) -> dict[str, Value]:
        return {name: self._clean(value, name in table.verbatim) for name, value in fields.items()}

    def _clean(self, value: Value, verbatim: bool) -> Value:
        if not isinstance(value, str):
            return value
        return _storable(value if verbatim else self._redact(value))


def _storable(text: str) -> str:
    """`text` with lone surrogates (bytes that were no UTF-8) written out: SQLite refuses them."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _shown(value: Value) -> str:
    return "none" if value in (None, "") else str(value)


def _random(length: int) -> str:
    return "".join(secrets.choice(_BASE32) for _ in range(length))
