"""The rows of a log: the keys and values of its lines, found block by block on every core."""

import os
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import polars as pl

from playbooks.join.blocks import (
    Block,
    Source,
    blocks,
    cut_off,
    lines_of,
    parsed,
    text_of,
    texts,
)
from playbooks.join.excerpts import Places
from playbooks.parsers.fields import find
from playbooks.playbook import RowSpec

SCHEMA = {"key": pl.String, "value": pl.String, "line": pl.UInt32}
"""A row: `key` and `value` as texts, and the number of its line, from 1."""

_WORKERS = min(4, os.cpu_count() or 1)
_FIRST_PART = r"^(?:[^/\\]|\\.)*"


def rows(source: Source, spec: RowSpec, places: Places | None = None) -> Iterator[pl.DataFrame]:
    """The rows of a log in the order of its lines, as frames of SCHEMA.

    `places`, where given, takes note of where its blocks begin. Errors: what `source` raises on
    reading.
    """
    places = Places() if places is None else places
    with source() as file, ThreadPoolExecutor(_WORKERS) as pool:
        ahead: deque[Future[_Found]] = deque()
        for block in blocks(file):
            ahead.append(pool.submit(_rows, spec, block))
            if len(ahead) > 2 * _WORKERS:
                yield _numbered(ahead.popleft().result(), places)
        yield from (_numbered(one.result(), places) for one in ahead)


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


class _Found(NamedTuple):
    """The rows of a block; their lines are numbered from 0, as the block's first one."""

    block: Block
    lines: int
    cut_off: int
    rows: pl.DataFrame


def _numbered(found: _Found, places: Places) -> pl.DataFrame:
    first = places.add(found.block, found.lines)
    places.cut_off += found.cut_off
    return found.rows.with_columns(pl.col("line") + pl.lit(first, dtype=pl.UInt32))


def _rows(spec: RowSpec, block: Block) -> _Found:
    text = texts(block.raw, spec.field)
    count = len(text)
    lines = pl.DataFrame({"text": text, "line": pl.int_range(count, dtype=pl.UInt32, eager=True)})
    if spec.skip is not None:
        lines = lines.filter(~pl.col("text").str.contains(spec.skip))
    cut = cut_off(lines_of(block.raw) if spec.field else lines["text"]) if spec.is_json else 0
    names = tuple(dict.fromkeys((*spec.key, *spec.value)))
    found = _by_groups(lines, names, spec.match) if spec.match else _by_fields(lines, names)
    key = _joined([_part(names, one) for one in spec.key])
    values = [_part(names, one).fill_null("") for one in spec.value]
    value = _joined(values) if values else pl.lit("")
    rows = found.select(key.alias("key"), value.alias("value"), pl.col("line"))
    return _Found(block._replace(raw=b""), count, cut, rows.filter(pl.col("key").is_not_null()))


def _part(names: Sequence[str], name: str) -> pl.Expr:
    """The column of a group or field; not called like it, since it may be called like ours."""
    return pl.col(f"part {names.index(name)}")


def _by_groups(lines: pl.DataFrame, names: Sequence[str], match: str) -> pl.DataFrame:
    found = lines.select("line", pl.col("text").str.extract_groups(match).alias("found"))
    groups = pl.col("found").struct
    parts = [groups.field(name).alias(f"part {at}") for at, name in enumerate(names)]
    return found.select("line", *parts)


def _by_fields(lines: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    found: list[list[str | None]] = [[] for _ in names]
    for text in lines["text"]:
        record = parsed(text) if text is not None else None
        for name, part in zip(names, found, strict=True):
            part.append(None if record is None else text_of(find(record, name)))
    parts = [pl.Series(f"part {at}", part, dtype=pl.String) for at, part in enumerate(found)]
    return lines.select("line").with_columns(parts)


def _joined(parts: Sequence[pl.Expr]) -> pl.Expr:
    """As `joined_name`, of columns; null where one of them is."""
    if len(parts) == 1:
        return parts[0]
    escaped = (
        one.str.replace_all("\\", "\\\\", literal=True).str.replace_all("/", "\\/", literal=True)
        for one in parts
    )
    return pl.concat_str(list(escaped), separator="/")
