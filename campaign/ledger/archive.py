"""A ledger as lines of JSON, table by table, and a ledger made of such lines again."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path

from msgspec import Struct

from campaign.errors import CampaignError, Exit
from campaign.ledger.connect import complaints, open_snapshot
from campaign.ledger.version import VERSION

BATCH = 1000
_OURS = "name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"


class Dump(Struct, frozen=True):
    """One table: its name, and its rows in their order as lines of JSON objects."""

    table: str
    lines: Iterator[str]


def dump(path: Path) -> Iterator[Dump]:
    """Every table of the ledger at `path` as it is at this moment, whoever writes meanwhile.

    The lines of a table must be read before the next table is asked for. Errors: CampaignError.
    """
    with closing(open_snapshot(path)) as connection, complaints(path):
        for table in tables_of(connection):
            rows = connection.execute(f'SELECT * FROM "{table}" {_order(connection, table)}')
            yield Dump(table, (_line(row) for row in rows))


def rebuild(path: Path, version: int, tables: Iterable[Dump]) -> None:
    """Makes a new ledger at `path` of tables as a ledger of `version` had them, and updates it.

    Errors: CampaignError (USAGE) where they do not fit the schema of that version.
    """
    from sqlite_utils import Database

    from campaign.ledger.migrations import bring_up_to

    database = Database(path, execute_plugins=False)
    try:
        bring_up_to(database, version)
        database.execute("BEGIN IMMEDIATE")
        database.execute("PRAGMA defer_foreign_keys = ON")
        for one in tables:
            _fill(database.conn, one)
        _check_references(database.conn)
        database.commit()
        bring_up_to(database, VERSION)
        database.execute("PRAGMA journal_mode = WAL")
    except (sqlite3.IntegrityError, sqlite3.OperationalError, ValueError, TypeError) as error:
        raise CampaignError(Exit.USAGE, f"its rows make no ledger: {error}") from error
    finally:
        database.rollback()
        database.close()


def _line(row: sqlite3.Row) -> str:
    return json.dumps(dict(row), ensure_ascii=False, separators=(",", ":"))


def tables_of(connection: sqlite3.Connection) -> list[str]:
    """The names of a ledger's tables, in the order of their making."""
    found = connection.execute(
        f"SELECT name FROM sqlite_master WHERE type = 'table' AND {_OURS} ORDER BY rowid"
    )
    return [row[0] for row in found]


def _order(connection: sqlite3.Connection, table: str) -> str:
    """In order of insertion, which reads rely on; tables without row numbers are sorted."""
    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", [table]).fetchone()
    return "" if "WITHOUT ROWID" in sql else "ORDER BY rowid"


def _fill(connection: sqlite3.Connection, dumped: Dump) -> None:
    """Errors: ValueError for a table or a column that there is not, or what is no row."""
    known = {
        row[1] for row in connection.execute("SELECT * FROM pragma_table_info(?)", [dumped.table])
    }
    if not known:
        raise ValueError(f"there is no table {dumped.table}")
    rows = map(_row, dumped.lines)
    while batch := list(islice(rows, BATCH)):
        names = list(batch[0])
        if not known.issuperset(names):
            raise ValueError(f"{dumped.table} has no {', '.join(sorted(set(names) - known))}")
        columns = ", ".join(f'"{name}"' for name in names)
        marks = ", ".join(f":{name}" for name in names)
        connection.executemany(f'INSERT INTO "{dumped.table}" ({columns}) VALUES ({marks})', batch)


def _row(line: str) -> Mapping[str, object]:
    row = json.loads(line)
    if not isinstance(row, dict):
        raise ValueError(f"no row: {line[:60]}")
    return row


def _check_references(connection: sqlite3.Connection) -> None:
    broken = connection.execute("PRAGMA foreign_key_check").fetchone()
    if broken is not None:
        raise ValueError(f"a row of {broken[0]} refers to a row of {broken[2]} that there is not")
