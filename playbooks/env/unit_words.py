"""Splits the settings of systemd units into words, and writes words so that they come back.

Words are separated by blanks; quotes, double or single, may stand anywhere; a backslash begins a
C escape; `%%` is a percent sign. (systemd.syntax(7), section Quoting.)
"""

import re

from msgspec import Struct

_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|([0-7]{3})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_LETTERS = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_PIECE = re.compile(r"""\\[\s\S]|[^\\'"\s]+""")
_QUOTED = {mark: re.compile(rf"{mark}((?:[^{mark}\\]|\\.)*){mark}", re.DOTALL) for mark in "'\""}


class UnitWordError(ValueError):
    """A quote is never closed."""


class UnitWord(Struct, frozen=True):
    """A word: what it means, and how it is written."""

    value: str
    raw: str


def split(text: str) -> list[UnitWord]:
    """The words of a setting's value, or of what `systemctl show` prints of one.

    Raises UnitWordError.
    """
    words, at = [], 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        value, start = "", at
        while at < len(text) and not text[at].isspace():
            quoted = _QUOTED.get(text[at])
            match = (quoted or _PIECE).match(text, at)
            if match is None:
                raise UnitWordError("a quote is never closed")
            value += _unescaped(match[1] if quoted else match[0])
            at = match.end()
        words.append(UnitWord(value, text[start:at]))
    return words


def _unescaped(text: str) -> str:
    def one(match: re.Match[str]) -> str:
        byte, octal, short, long, letter = match.groups()
        if letter is not None:
            return _LETTERS.get(letter, letter)
        return chr(int(octal, 8) if octal else int(byte or short or long, 16))

    return _ESCAPE.sub(one, text)


def quoted(value: str) -> str:
    """The value as one word of a unit file, its percent signs doubled."""
    text = value.replace("\\", r"\\").replace('"', r"\"").replace("%", "%%")
    return '"' + text.replace("\n", r"\n").replace("\t", r"\t") + '"'
