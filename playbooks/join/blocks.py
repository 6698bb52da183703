"""A log as blocks of whole lines, and the texts of their lines."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from json import JSONDecodeError, JSONDecoder
from typing import BinaryIO, NamedTuple, Protocol

import polars as pl

from playbooks.parsers.fields import MISSING, find
from playbooks.parsers.lines import ESCAPES, LINE_LIMIT

Source = Callable[[], AbstractContextManager[BinaryIO]]
"""Opens a log at its beginning; more than once, since lines are looked up again."""

BLOCK = 2 * LINE_LIMIT

_AS_WRITTEN = JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
"""Numbers as they are written: a digest of 128 bits is none that JSON's readers keep exactly."""


class Block(NamedTuple):
    """Whole lines of a log, each with its newline; `offset` is where they begin in it."""

    offset: int
    raw: bytes


class Readable(Protocol):
    """What can be read on."""

    def read(self, size: int, /) -> bytes: ...


def blocks(file: Readable) -> Iterator[Block]:
    """A log in blocks; of a line longer than LINE_LIMIT about so many bytes are kept."""
    begun, offset, read, beyond = b"", 0, 0, False
    while chunk := file.read(BLOCK):
        read += len(chunk)
        if beyond:
            chunk = chunk[chunk.find(b"\n") :] if b"\n" in chunk else b""
        begun, cut = begun + chunk, chunk.rfind(b"\n") + 1
        if cut:
            left = len(chunk) - cut
            yield Block(offset, begun[: len(begun) - left])
            begun, offset = begun[len(begun) - left :], read - left
        beyond = len(begun) > LINE_LIMIT
        begun = begun[: LINE_LIMIT + 4]  # so that the cut in `texts` sees a character whole
    if begun:
        yield Block(offset, begun)


def texts(raw: bytes, field: str | None) -> pl.Series:
    """The text of each line of a block, without escape codes; null where it has none.

    With `field` a line is a JSON object, and its text what stands at that path: a text, or the
    bytes that journald writes as numbers. Bytes that are no UTF-8 stay apart, as `\\xff`.
    """
    found = lines_of(raw)
    if field is not None:
        found = pl.Series([_at(line, field) for line in found], dtype=pl.String)
    if len(raw) > LINE_LIMIT and (found.str.len_bytes().max() or 0) > LINE_LIMIT:  # type: ignore[operator]
        found = found.map_elements(_cut, return_dtype=pl.String)
    if field is not None or b"\x1b" in raw:
        found = found.str.replace_all(ESCAPES.pattern, "")
    return found.str.strip_chars_end("\r") if field is not None or b"\r" in raw else found


def cut_off(lines: pl.Series) -> int:
    """How many lines begin as a JSON object and do not end as one."""
    begun = lines.str.contains(r'^\s*\{\s*"') & ~lines.str.contains(r"\}\s*$")
    return int(begun.sum())


def lines_of(raw: bytes) -> pl.Series:
    """The lines of a block as they stand there."""
    try:
        return pl.read_lines(raw)["line"]
    except pl.exceptions.ComputeError:  # no UTF-8
        return pl.read_lines(raw.decode(errors="backslashreplace").encode())["line"]


def text_of(value: object) -> str | None:
    """What a JSON value says, as text; None where it says nothing."""
    if value is None or value is MISSING:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return _nested(value)
    return value if value.isascii() else value.encode(errors="backslashreplace").decode()


def parsed(text: str) -> dict[str, object] | None:
    """The JSON object that `text` is, its numbers as texts; None where it is no object."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        found = _AS_WRITTEN.decode(text)
    except (JSONDecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _at(line: str, field: str) -> str | None:
    record = parsed(line)
    found = MISSING if record is None else find(record, field)
    written = _bytes(found)
    return text_of(found) if written is None else written.decode(errors="backslashreplace")


def _bytes(value: object) -> bytes | None:
    """The text that journald writes as a list of bytes, where it is no UTF-8."""
    if not isinstance(value, list):
        return None
    numbers = [one for one in value if isinstance(one, str) and one.isdigit() and len(one) < 4]
    fit = len(numbers) == len(value) and all(int(one) < 256 for one in numbers)
    return bytes(map(int, numbers)) if fit else None


def _nested(value: object) -> str:
    """A list or a mapping, the same for the same content."""
    if isinstance(value, list):
        return f"[{', '.join(text_of(one) or '' for one in value)}]"
    if isinstance(value, dict):
        inner = (f"{key}: {text_of(value[key]) or ''}" for key in sorted(value))
        return f"{{{', '.join(inner)}}}"
    return str(value)


def _cut(text: str) -> str:
    return text.encode()[:LINE_LIMIT].decode(errors="ignore")
