"""Two ledgers of one campaign become one: ids stay unique, so rows only have to be added."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from campaign.errors import CampaignError, Exit

_WITHOUT_KEY = {"comparison_key": "comparison", "comparison_context": "comparison"}
"""Tables whose rows have no key of their own, and the row of another table they belong to."""


class Merged(Struct, frozen=True):
    """How many rows were added, by table, and of how many there was another form: ours stayed.

    `same_key` says whether both hashed the values of environments with the same key; where not,
    conditions of the two sides differ by those hashes.
    """

    added: Mapping[str, int]
    differed: Mapping[str, int]
    same_key: bool


@contextmanager
def attached(connection: sqlite3.Connection, other: Path) -> Iterator[None]:
    """The ledger at `other` as `theirs` on `connection`.

    Errors: CampaignError (REFUSED) where it is of another campaign.
    """
    connection.execute("ATTACH DATABASE ? AS theirs", [str(other)])
    try:
        ours, theirs = (
            connection.execute(f"SELECT name FROM {side}.campaign").fetchone()
            for side in ("main", "theirs")
        )
        if ours and theirs and ours[0] != theirs[0]:
            raise CampaignError(
                Exit.REFUSED, f"that is the campaign {theirs[0]}, and this ledger is of {ours[0]}"
            )
        yield
    finally:
        connection.execute("DETACH DATABASE theirs")


def merge_rows(connection: sqlite3.Connection) -> Merged:
    """Adds the rows of `theirs` that are not in `main`; to be called inside a transaction."""
    connection.execute("PRAGMA defer_foreign_keys = ON")
    keys = {
        side: connection.execute(f"SELECT hash_key FROM {side}.campaign").fetchone()
        for side in ("main", "theirs")
    }
    added, differed = {}, {}
    for table, columns, key in _tables(connection):
        match = " AND ".join(f'ours."{name}" = new."{name}"' for name in key)
        changed = " OR ".join(f'ours."{name}" IS NOT new."{name}"' for name in columns)
        (count,) = connection.execute(
            f'SELECT count(*) FROM theirs."{table}" AS new JOIN main."{table}" AS ours'
            f" ON {match} WHERE {changed}"
        ).fetchone()
        differed[table] = int(count) if table not in _WITHOUT_KEY else 0
        added[table] = connection.execute(
            f'INSERT INTO main."{table}" SELECT new.* FROM theirs."{table}" AS new'
            f' WHERE NOT EXISTS (SELECT 1 FROM main."{table}" AS ours WHERE {match})'
        ).rowcount
    return Merged(
        {table: count for table, count in added.items() if count},
        {table: count for table, count in differed.items() if count},
        keys["main"] == keys["theirs"] or None in keys.values(),
    )


def _tables(
    connection: sqlite3.Connection,
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Each table with its columns and its key; the campaign's own row stays ours."""
    names = connection.execute(
        "SELECT name FROM main.sqlite_master WHERE type = 'table'"
        " AND name NOT LIKE '\\_%' ESCAPE '\\' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        " ORDER BY name NOT IN ('comparison_key', 'comparison_context')"
    ).fetchall()
    for (table,) in names:
        info = connection.execute("SELECT name, pk FROM pragma_table_info(?)", [table]).fetchall()
        key = tuple(name for name, pk in info if pk) or (_WITHOUT_KEY.get(table, ""),)
        if table != "campaign":
            yield table, tuple(name for name, _ in info), key
