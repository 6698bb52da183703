"""Reads files of NAME=VALUE lines as systemd's `EnvironmentFile=` does. Python 3.8, alone.

Blank lines, lines that begin with `#` or `;`, and lines that assign no valid name are passed
over. A value is any number of quoted pieces, then an unquoted rest: single quotes keep all as it
is, double quotes know backslash before `"`, `$`, backquote and backslash, and the unquoted rest
knows it before any character; a backslash at the end of a line continues it. `$NAME` and `%` mean
nothing. Beyond systemd, `export NAME=VALUE` is accepted. (systemd.exec(5), section Environment.)
"""

import re
from typing import Dict, List, NamedTuple, Pattern, Tuple

_HEAD = re.compile(rb"[ \t]*([^#; \t\r\n][^=\r\n]*)=")
_NAME = re.compile(rb"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*")
_BLANKS = re.compile(rb"[ \t]*")
_QUOTED = {
    b"'": re.compile(rb"'([^']*)'"),
    b'"': re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"', re.DOTALL),
}
_REST = re.compile(rb"(?:[^\\\r\n \t]+|\\(?:.|\Z)|[ \t]+(?![ \t\r\n]|\Z))*", re.DOTALL)
_QUOTED_ESCAPE = re.compile(rb'\\(?:\n|(["$`\\]))')
_REST_ESCAPE = re.compile(rb"\\(?:[\r\n]|(.?))")
_LINE = re.compile(rb"[^\r\n]*")
_NEWLINE = re.compile(rb"\r\n|\r|\n|\Z")


class EnvFileError(ValueError):
    """An env file, or a change of one, that cannot mean what it says: one clear line."""


class Assignment(NamedTuple):
    """`value` as a process gets it; the bytes [start, end) are its lines with their newline.

    [value_start, value_end) is the value as written, from after the `=` up to the newline.
    """

    name: str
    value: str
    start: int
    value_start: int
    value_end: int
    end: int


def parse(data: bytes) -> Dict[str, str]:
    """The variables that an env file sets; of several assignments to a name the last wins.

    Bytes that are not UTF-8 come as surrogate escapes: `value.encode("utf-8",
    "surrogateescape")` gives them back. Raises EnvFileError, which names the line, for a quote
    that is never closed and for a NUL byte.
    """
    return {found.name: found.value for found in scan(data)}


def scan(data: bytes) -> List[Assignment]:
    """All assignments of an env file in order, with where they stand; errors as `parse`."""
    if b"\0" in data:
        raise EnvFileError("%s: a NUL byte: remove it" % _line(data, data.index(b"\0")))
    found = []
    start = 0
    while start < len(data):
        head = _HEAD.match(data, start)
        if head:
            value, value_end = _value(data, head.end())
            end = _end(_NEWLINE, data, value_end)
            name = _NAME.fullmatch(head.group(1))
            if name:
                known = name.group(1).decode("ascii"), value.decode("utf-8", "surrogateescape")
                found.append(Assignment(*known, start, head.end(), value_end, end))
        else:
            end = _end(_NEWLINE, data, _end(_LINE, data, start))
        start = end
    return found


def _value(data: bytes, at: int) -> Tuple[bytes, int]:
    """The value that is written at `at`, and where it ends."""
    pieces = []
    at = _end(_BLANKS, data, at)
    while data[at : at + 1] in _QUOTED:
        quoted = _QUOTED[data[at : at + 1]].match(data, at)
        if quoted is None:
            raise EnvFileError("%s: the quote is never closed: close it" % _line(data, at))
        piece = quoted.group(1)
        pieces.append(piece if quoted.group()[:1] == b"'" else _QUOTED_ESCAPE.sub(rb"\1", piece))
        at = _end(_BLANKS, data, quoted.end())
    rest_end = _end(_REST, data, at)
    pieces.append(_REST_ESCAPE.sub(rb"\1", data[at:rest_end]))
    return b"".join(pieces), _end(_BLANKS, data, rest_end)


def _end(pattern: "Pattern[bytes]", data: bytes, at: int) -> int:
    """Where what the pattern matches at `at` ends; `at` itself where it does not match."""
    match = pattern.match(data, at)
    return match.end() if match else at


def _line(data: bytes, at: int) -> str:
    return "line %d" % (len(re.findall(rb"\r\n|\r|\n", data[:at])) + 1)
