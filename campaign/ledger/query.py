"""The read-only connection behind all reads, and rows as records."""

import json
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Protocol, Self, TypeVar

from campaign.ledger.connect import complaints, open_reader, open_snapshot


class _Record(Protocol):
    __struct_fields__: ClassVar[tuple[str, ...]]


_Row = TypeVar("_Row", bound=_Record)


class Reader:
    """A read-only connection to the ledger at `path`; a context manager.

    Reads never wait for a writer and never write. All raise CampaignError: REFUSED when the file
    is unusable.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> Self:
        """Opens the ledger at `path`; REFUSED when there is none this program can read."""
        return cls(path, open_reader(path))

    @classmethod
    def snapshot(cls, path: Path) -> Self:
        """As `open`; all that is read through it is of one moment, whatever is written since."""
        return cls(path, open_snapshot(path))

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

    def data_version(self) -> int:
        """A number that differs from the last one if another process has written in between."""
        (row,) = self._rows("PRAGMA data_version")
        return int(row[0])

    def _rows(self, sql: str, *values: str | float | None) -> list[sqlite3.Row]:
        with complaints(self.path):
            return self._connection.execute(sql, values).fetchall()

    def _named_rows(self, sql: str, values: Mapping[str, str | float | None]) -> list[sqlite3.Row]:
        """The rows of a query whose values are named in it, as in `:name`."""
        with complaints(self.path):
            return self._connection.execute(sql, values).fetchall()

    def _records(self, kind: type[_Row], sql: str, *values: str | float | None) -> tuple[_Row, ...]:
        """The rows of a query whose columns are the fields of the record `kind`."""
        rows = self._rows(sql, *values)
        if rows and rows[0].keys() == [*kind.__struct_fields__]:
            return tuple(kind(*row) for row in rows)
        return tuple(kind(**dict(row)) for row in rows)


def mapping(text: str) -> Mapping[str, Any]:
    """A JSON object of the ledger; where redaction has broken it, its text under one name."""
    try:
        value = json.loads(text)
    except ValueError:
        return {"unreadable": text}
    return value if isinstance(value, dict) else {"unreadable": text}
