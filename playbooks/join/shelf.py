"""The rows of one side: in one piece while they are few, else in parts, on disk where many."""

from io import BytesIO
from pathlib import Path

import polars as pl

from playbooks.join.rows import SCHEMA

HELD = 128 * 1024 * 1024
"""Bytes of rows that a side holds in memory before they go to disk."""
PARTS = 32
"""Rows with the same key are in the same one."""
_AT_ONCE = 32 * 1024 * 1024


class Shelf:
    """Takes rows in the order of their lines, and gives each part back in that order."""

    def __init__(self, folder: Path, name: str, held: int = HELD) -> None:
        self._folder, self._name, self._limit = folder, name, held
        self._whole: list[pl.DataFrame] = []
        self._parts: dict[int, list[pl.DataFrame]] = {}
        self._whole_size = self._parted_size = self._written = 0
        self.is_parted = False

    def add(self, rows: pl.DataFrame) -> None:
        """Errors: OSError where the disk takes no more."""
        self._whole.append(rows)
        self._whole_size += int(rows.estimated_size())
        if self._whole_size > min(self._limit, _AT_ONCE):
            self.part_all()
        if self._parted_size > self._limit:
            self._to_disk()

    def part_all(self) -> None:
        """Sorts what is in one piece into its parts."""
        rows = self.whole().with_columns((pl.col("key").hash() % PARTS).alias("part"))
        for (number,), part in rows.partition_by("part", as_dict=True, include_key=False).items():
            self._parts.setdefault(int(str(number)), []).append(part)
        self._parted_size += self._whole_size
        self._whole, self._whole_size, self.is_parted = [], 0, True

    def whole(self) -> pl.DataFrame:
        """What is in one piece."""
        return pl.concat(self._whole, rechunk=True) if self._whole else pl.DataFrame(schema=SCHEMA)

    def part(self, number: int) -> pl.DataFrame:
        """A part, which is forgotten here."""
        files = sorted(self._folder.glob(f"{self._name}-{number:02}-*"))
        found = [*map(pl.read_ipc, files), *self._parts.pop(number, ())]
        for file in files:
            file.unlink()
        return pl.concat(found, rechunk=True) if found else pl.DataFrame(schema=SCHEMA)

    def _to_disk(self) -> None:
        for number, part in self._parts.items():
            written = BytesIO()  # polars itself would not say of a full disk that it is full
            pl.concat(part).write_ipc(written)
            file = self._folder / f"{self._name}-{number:02}-{self._written:06}"
            file.write_bytes(written.getvalue())
        self._parts, self._parted_size = {}, 0
        self._written += 1
