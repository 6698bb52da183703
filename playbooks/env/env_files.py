"""Edits files of NAME=VALUE lines: comments, order and every line that need not change are kept."""

import re
from collections.abc import Iterable, Mapping

from playbooks.agent.envfile import EnvFileError, parse, scan

__all__ = ["EnvFileError", "edit", "read"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(rb"[A-Za-z0-9_./:@%+,=-]*")
_NEEDS_BACKSLASH = re.compile(rb'(["\\$`])')
_CONTINUED = re.compile(rb"\\(?:\r\n|\r|\n)\Z")


def read(text: bytes) -> dict[str, str]:
    """The variables that an env file sets, as `playbooks.agent.envfile.parse` reads them."""
    return parse(text)


def edit(text: bytes | None, set: Mapping[str, str], unset: Iterable[str]) -> bytes:
    """The env file in which the names of `set` have their values and those of `unset` none.

    `text` None is an absent file. A variable that changes keeps its place (of several assignments
    the last, which wins), new ones are appended, and all other lines stay byte for byte. Values
    are quoted so that systemd and a shell read the same. Raises EnvFileError for a name or a
    value that no line can hold, a name that is both set and unset, and a file that `read` refuses.
    """
    text = text or b""
    removed = frozenset(map(_checked, unset))
    written = {_checked(name): _quoted(name, value) for name, value in set.items()}
    if both := sorted(removed & written.keys()):
        raise EnvFileError(f"{both[0]} is both set and unset: keep one of the two")
    assignments = scan(text)
    last = {found.name: found for found in assignments}
    pieces, at = [], 0
    for found in assignments:
        pieces.append(text[at : found.start])
        at = found.end
        if found is last[found.name] and set.get(found.name, found.value) != found.value:
            tail = text[found.value_end : found.end]
            pieces.append(text[found.start : found.value_start] + written[found.name] + tail)
        elif found.name not in removed:
            pieces.append(text[found.start : found.end])
    kept = b"".join([*pieces, text[at:]])
    return _append(kept, {name: value for name, value in written.items() if name not in last})


def _append(text: bytes, new: Mapping[str, bytes]) -> bytes:
    if not new:
        return text
    newline = b"\r\n" if re.match(rb"[^\r\n]*\r\n", text) else b"\n"
    if text and not text.endswith((b"\n", b"\r")):
        text += newline
    if _CONTINUED.search(text):
        text += newline
    return text + b"".join(name.encode() + b"=" + value + newline for name, value in new.items())


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        what = "is no variable name: use letters, digits and _, and no digit first"
        raise EnvFileError(f"{name!r} {what}")
    return name


def _quoted(name: str, value: str) -> bytes:
    """The value as written: plain where it can be, else in single, else in double quotes."""
    if bad := re.search(r"[\0\r\n]", value):
        what = f"its value holds {bad[0]!r}, and an env file has one line a variable: remove it"
        raise EnvFileError(f"{name}: {what}")
    try:
        raw = value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        what = "its value holds half a surrogate pair: give text that UTF-8 can write"
        raise EnvFileError(f"{name}: {what}") from None
    if _PLAIN.fullmatch(raw):
        return raw
    if b"'" not in raw:
        return b"'" + raw + b"'"
    return b'"' + _NEEDS_BACKSLASH.sub(rb"\\\1", raw) + b'"'
