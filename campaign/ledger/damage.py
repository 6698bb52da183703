"""Whether a ledger is sound; and, of one that is not, what can still be read and saved."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from campaign.errors import CampaignError, Exit
from campaign.ledger.archive import tables_of
from campaign.ledger.connect import complaints, open_unchecked
from campaign.ledger.tables import OBSERVATION_COUNT

if TYPE_CHECKING:
    from sqlite_utils import Database

MOST_MESSAGES = 20
"""As many faults of the file's structure are told."""

LOST = "trials of it were lost with a damaged ledger"
"""Why an observation is no evidence any more."""

_SEEN = "SELECT count(*) FROM trial WHERE trial.observation = observation.id"
_TOLD = """
    SELECT fail + passed + censored FROM observation_count
    WHERE observation_count.observation = observation.id
"""
_DIFFERENT = f"({_SEEN}) <> coalesce(({_TOLD}), 0)"

_COUNT_ANEW = """
    INSERT INTO observation_count
    SELECT observation, sum(result = 'fail'), sum(result = 'pass'), sum(result = 'censored'),
           (SELECT total(amount) FROM trial_exposure
            WHERE trial_exposure.observation = trial.observation)
    FROM trial GROUP BY observation
"""


class Soundness(Struct, frozen=True):
    """`faults` are SQLite's own words for what is wrong with the file's structure.

    `dangling` counts the rows of a table that refer to rows which are not there; `miscounted` the
    observations whose trials are not as many as was noted. Neither is looked for where there are
    faults.
    """

    version: int
    faults: tuple[str, ...]
    dangling: dict[str, int]
    miscounted: int


class Readable(Struct, frozen=True):
    """How many rows of a table can be read; `whole`: all there are, as far as can be told."""

    table: str
    rows: int
    whole: bool


def soundness(path: Path) -> Soundness:
    """Looks at all of the ledger at `path`. Errors: CampaignError where it is none."""
    with closing(open_unchecked(path)) as connection, complaints(path):
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        faults = _faults(connection)
        if faults:
            return Soundness(version, faults, {}, 0)
        dangling: dict[str, int] = {}
        for row in connection.execute("PRAGMA foreign_key_check"):
            dangling[row[0]] = dangling.get(row[0], 0) + 1
        miscounted = 0
        if OBSERVATION_COUNT.name in tables_of(connection):
            sql = f"SELECT count(*) FROM observation WHERE {_DIFFERENT}"
            (miscounted,) = connection.execute(sql).fetchone()
        return Soundness(version, (), dangling, miscounted)


def _faults(connection: sqlite3.Connection) -> tuple[str, ...]:
    try:
        found = connection.execute(f"PRAGMA integrity_check({MOST_MESSAGES})").fetchall()
    except sqlite3.DatabaseError as error:
        return (str(error),)
    lines = [line for row in found for line in str(row[0]).splitlines()]
    return () if lines == ["ok"] else tuple(lines[:MOST_MESSAGES])


def readable(path: Path) -> tuple[Readable, ...]:
    """What of each table of a damaged ledger can be read. Errors: CampaignError: nothing can."""
    with closing(open_unchecked(path)) as connection, complaints(path):
        return tuple(_counted(connection, table) for table in tables_of(connection))


def _counted(connection: sqlite3.Connection, table: str) -> Readable:
    rows = _Rows(connection, table)
    count = sum(1 for _ in rows)
    return Readable(table, count, rows.whole)


def salvage(path: Path, target: Path) -> tuple[Readable, ...]:
    """Makes a new ledger at `target` of what can be read of the one at `path`, which stays.

    Rows that refer to lost ones are left out. An observation that lost trials is marked invalid:
    its rate would be another one. Returns what was taken over. Errors: CampaignError (USAGE where
    `target` exists).
    """
    from sqlite_utils import Database

    if target.exists():
        raise CampaignError(Exit.USAGE, f"{target} exists", "name a new file")
    with closing(open_unchecked(path)) as connection, complaints(target):
        database = Database(target, execute_plugins=False)
        try:
            return _take_over(connection, database)
        except BaseException:
            target.unlink(missing_ok=True)
            raise
        finally:
            database.close()


def _take_over(source: sqlite3.Connection, database: "Database") -> tuple[Readable, ...]:
    from campaign.ledger.migrations import bring_up_to, bring_up_to_date

    (version,) = source.execute("PRAGMA user_version").fetchone()
    names = tables_of(source)
    bring_up_to(database, version)
    whole = {name: _copy(_Rows(source, name), database.conn) for name in names}
    _leave_out_dangling(database.conn)
    database.conn.commit()
    bring_up_to_date(database)
    _mark_incomplete(database.conn, whole["trial"], OBSERVATION_COUNT.name in names)
    database.conn.commit()
    database.execute("PRAGMA journal_mode = WAL")
    return tuple(_taken(database.conn, name, whole[name]) for name in names)


def _copy(rows: "_Rows", target: sqlite3.Connection) -> bool:
    """Adds the rows that the schema accepts; whether none was lost."""
    refused = False
    for row in rows:
        names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
        sql = f'INSERT INTO "{rows.table}" ({names}) VALUES ({marks})'
        try:
            target.execute(sql, [*row.values()])
        except sqlite3.IntegrityError:
            refused = True
    return rows.whole and not refused


def _leave_out_dangling(connection: sqlite3.Connection) -> None:
    """Removes rows that refer to what is not there, until none does."""
    while connection.execute("PRAGMA foreign_key_check").fetchone():
        for table in tables_of(connection):
            for parent, own, theirs in _references(connection, table):
                there = f'SELECT 1 FROM "{parent}" AS other WHERE other."{theirs}" = mine."{own}"'
                connection.execute(
                    f'DELETE FROM "{table}" AS mine '
                    f'WHERE mine."{own}" IS NOT NULL AND NOT EXISTS ({there})'
                )


def _references(connection: sqlite3.Connection, table: str) -> list[tuple[str, str, str]]:
    """Each column that refers to another table's."""
    return connection.execute(
        'SELECT "table", "from", "to" FROM pragma_foreign_key_list(?)', [table]
    ).fetchall()


def _mark_incomplete(connection: sqlite3.Connection, whole: bool, counted: bool) -> None:
    """Observations whose trials are not as many as were counted, or may not be."""
    lost = _DIFFERENT if whole or counted else "1"
    connection.execute(
        f"UPDATE observation SET invalid = coalesce(invalid, ?) WHERE {lost}", [LOST]
    )
    connection.execute("DELETE FROM observation_count")
    connection.execute(_COUNT_ANEW)


def _taken(connection: sqlite3.Connection, table: str, whole: bool) -> Readable:
    (rows,) = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()
    return Readable(table, rows, whole)


class _Rows:
    """The rows of a table up to a damaged place, and those after it; `whole`: there was none."""

    def __init__(self, connection: sqlite3.Connection, table: str) -> None:
        self._connection = connection
        self.table = table
        self._key = _key(connection, table)
        self.whole = True

    def __iter__(self) -> Iterator[dict[str, object]]:
        last: tuple[object, ...] | None = None
        try:
            for key, row in self._in_order("ASC"):
                yield row
                last = key
        except sqlite3.DatabaseError:
            self.whole = False
            yield from reversed(list(self._from_the_end(last)))

    def _from_the_end(self, last: tuple[object, ...] | None) -> Iterator[dict[str, object]]:
        try:
            for key, row in self._in_order("DESC"):
                if key == last:
                    return
                yield row
        except sqlite3.DatabaseError:
            return

    def _in_order(self, way: str) -> Iterator[tuple[tuple[object, ...], dict[str, object]]]:
        names, order = ", ".join(self._key), ", ".join(f"{one} {way}" for one in self._key)
        size = len(self._key)
        cursor = self._connection.execute(
            f'SELECT {names}, * FROM "{self.table}" NOT INDEXED ORDER BY {order}'
        )
        columns = [one[0] for one in cursor.description][size:]
        for row in cursor:
            yield tuple(row[:size]), dict(zip(columns, row[size:], strict=True))


def _key(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """By what the rows lie in order in the file."""
    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", [table]).fetchone()
    if "WITHOUT ROWID" not in sql:
        return ("rowid",)
    found = connection.execute(
        "SELECT name FROM pragma_table_info(?) WHERE pk ORDER BY pk", [table]
    ).fetchall()
    return tuple(f'"{name}"' for (name,) in found)
