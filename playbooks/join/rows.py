"""The rows of a log: the keys and values of its lines, found block by block on every core."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import polars as pl

from playbooks.join.blocks import Source, numbered_blocks, parsed, text_of, texts
from playbooks.parsers.fields import find
from playbooks.playbook import RowSpec

SCHEMA = {"key": pl.String, "value": pl.String, "line": pl.UInt32}
"""A row: `key` and `value` as texts, and the number of its line, from 1."""

_WORKERS = min(4, os.cpu_count() or 1)
_FIRST_PART = r"^(?:[^/\\]|\\.)*"


def rows(source: Source, spec: RowSpec) -> Iterator[pl.DataFrame]:
    """The rows of a log in the order of its lines, as frames of SCHEMA.

    Errors: what `source` raises on reading.
    """
    with source() as file, ThreadPoolExecutor(_WORKERS) as pool:
        blocks = numbered_blocks(file)
        ahead: deque[Future[pl.DataFrame]] = deque()
        for number, block in blocks:
            ahead.append(pool.submit(_rows, spec, number, block))
            if len(ahead) > 2 * _WORKERS:
                yield ahead.popleft().result()
        yield from (one.result() for one in ahead)


def joined_name(parts: Sequence[str]) -> str:
    """The text of a key or value of several parts; of one part it is the part."""
    if len(parts) == 1:
        return parts[0]
    return "/".join(part.replace("\\", "\\\\").replace("/", "\\/") for part in parts)


def split_name(text: str, parts: int) -> list[str]:
    """The parts that `joined_name` joined."""
    if parts == 1:
        return [text]
    found, at = [""], iter(text)
    for char in at:
        if char == "/":
            found.append("")
        else:
            found[-1] += next(at) if char == "\\" else char
    return found


def first_part(spec: RowSpec) -> pl.Expr:
    """The first part of the column `key`, as `joined_name` writes it."""
    key = pl.col("key")
    return key if len(spec.key) == 1 else key.str.extract(_FIRST_PART, 0)


def _rows(spec: RowSpec, number: int, block: bytes) -> pl.DataFrame:
    numbers = pl.int_range(number, number + pl.len(), dtype=pl.UInt32)
    lines = pl.DataFrame({"text": texts(block, spec.field)}).with_columns(numbers.alias("line"))
    if spec.skip is not None:
        lines = lines.filter(~pl.col("text").str.contains(spec.skip))
    found = _by_fields(lines, spec) if spec.match is None else _by_groups(lines, spec.match)
    value = _joined(spec.value, fill="") if spec.value else pl.lit("")
    return found.select(
        _joined(spec.key).alias("key"), value.alias("value"), pl.col("line")
    ).filter(pl.col("key").is_not_null())


def _by_groups(lines: pl.DataFrame, match: str) -> pl.DataFrame:
    found = lines.select("line", pl.col("text").str.extract_groups(match).alias("found"))
    return found.unnest("found")


def _by_fields(lines: pl.DataFrame, spec: RowSpec) -> pl.DataFrame:
    names = dict.fromkeys((*spec.key, *spec.value))
    found: dict[str, list[str | None]] = {name: [] for name in names}
    for text in lines["text"]:
        record = parsed(text) if text is not None else None
        for name, column in found.items():
            column.append(None if record is None else text_of(find(record, name)))
    columns = [pl.Series(name, column, dtype=pl.String) for name, column in found.items()]
    return lines.select("line").with_columns(columns)


def _joined(names: Sequence[str], fill: str | None = None) -> pl.Expr:
    """The columns of these names as one; null where one of them is, unless `fill` stands for it."""
    columns = [pl.col(name) if fill is None else pl.col(name).fill_null(fill) for name in names]
    if len(columns) == 1:
        return columns[0]
    escaped = (
        one.str.replace_all("\\", "\\\\", literal=True).str.replace_all("/", "\\/", literal=True)
        for one in columns
    )
    return pl.concat_str(list(escaped), separator="/")
