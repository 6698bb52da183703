"""The rows of one side: in memory while they are few, else on disk in parts that fit."""

from pathlib import Path

import polars as pl

from playbooks.join.rows import SCHEMA

HELD = 32 * 1024 * 1024
"""Bytes of rows that are held in memory before they go to disk."""
PARTS = 32
"""Rows with the same key are in the same one."""


class Shelf:
    """Takes rows in the order of their lines, and gives each part back in that order."""

    def __init__(self, folder: Path, name: str, held: int = HELD) -> None:
        self._folder, self._name, self._limit = folder, name, held
        self._held: list[pl.DataFrame] = []
        self._size = self._written = 0

    @property
    def is_on_disk(self) -> bool:
        return self._written > 0

    def add(self, rows: pl.DataFrame) -> None:
        """Errors: OSError where the disk takes no more."""
        self._held.append(rows)
        self._size += int(rows.estimated_size())
        if self._size > self._limit:
            self.to_disk()

    def to_disk(self) -> None:
        """Writes what is held, a file a part."""
        rows = self.all().with_columns((pl.col("key").hash() % PARTS).alias("part"))
        self._held, self._size = [], 0
        parts = rows.partition_by("part", as_dict=True, include_key=False)
        for (number,), part in parts.items():
            part.write_ipc(self._folder / f"{self._name}-{number:02}-{self._written:06}")
        self._written += 1

    def all(self) -> pl.DataFrame:
        """What is held."""
        return pl.concat(self._held) if self._held else pl.DataFrame(schema=SCHEMA)

    def part(self, number: int) -> pl.DataFrame:
        """A part of what is on disk; it is there no more afterwards."""
        files = sorted(self._folder.glob(f"{self._name}-{number:02}-*"))
        found = [pl.read_ipc(file) for file in files]
        for file in files:
            file.unlink()
        return pl.concat(found, rechunk=True) if found else pl.DataFrame(schema=SCHEMA)
