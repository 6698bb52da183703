"""JSON documents in an output, with the program's own messages around them."""

import json
import re

from msgspec import Struct

from playbooks.parsers.lines import DOCUMENT_LIMIT, Line
from playbooks.parsers.parser import ParseError, quoted

_OBJECT = re.compile(r'\s*\{\s*(?:"|\}|$)')


class Found(Struct, frozen=True):
    """A document, and the line where it begins."""

    value: object
    where: str


class Documents:
    """Gathers an output's lines from the first that begins an object, or with `lists` a list."""

    def __init__(self, *, lists: bool = False) -> None:
        self._lists = lists
        self._lines: list[Line] = []
        self._size = 0

    def add(self, line: Line) -> None:
        """Raises ParseError where there is more than DOCUMENT_LIMIT to be kept."""
        if not self._lines and not self._begins(line.text):
            return
        self._lines.append(line)
        self._size += len(line.text)
        if self._size > DOCUMENT_LIMIT:
            raise ParseError(
                f"{line.where}: more than {DOCUMENT_LIMIT} bytes of JSON: "
                "let the program write less of it"
            )

    def found(self, *, cut: bool) -> list[Found]:
        """The documents, in order. With `cut`, one that the output's end cuts off is left out.

        Raises ParseError for one that is cut off without that, or broken.
        """
        text = "\n".join(line.text for line in self._lines)
        found: list[Found] = []
        start = end = 0
        for line in self._lines:
            if start >= end and self._begins(line.text):
                decoded = _decoded(text, start, line.where, cut)
                if decoded is None:
                    break
                value, end = decoded
                found.append(Found(value, line.where))
            start += len(line.text) + 1
        return found

    def _begins(self, text: str) -> bool:
        """Whether a document begins on the line, and no message such as "[INFO] ready"."""
        if _OBJECT.match(text):
            return True
        return self._lists and text.lstrip().startswith("[") and _is_list(text.strip())


def _decoded(text: str, start: int, where: str, cut: bool) -> tuple[object, int] | None:
    """The document that begins at `start`, and where it ends; None where the stop cut it off."""
    start += len(text[start : start + 1000]) - len(text[start : start + 1000].lstrip())
    try:
        value, end = json.JSONDecoder().raw_decode(text, start)
    except json.JSONDecodeError as error:
        if cut:
            return None
        raise ParseError(_broken(error, text, start, where)) from None
    except RecursionError:
        raise ParseError(f"{where}: JSON that is nested too deeply to be read") from None
    rest = text[end:].partition("\n")[0].strip()
    if rest:
        raise ParseError(f"{where}: {quoted(rest[:80])} after the JSON document, on its line")
    return value, end


def only(found: list[Found], where_more: str) -> Found | None:
    """The one document, or None. Raises ParseError for more: `where_more` says what to do."""
    if len(found) > 1:
        raise ParseError(
            f"{found[1].where}: a second JSON document, after that of {found[0].where}: "
            f"are there two runs in this output? {where_more}"
        )
    return found[0] if found else None


def _is_list(text: str) -> bool:
    """Whether the line is a list, or the beginning of one that goes on after it."""
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        return error.pos >= len(text)
    except RecursionError:
        return True
    return end == len(text)


def _broken(error: json.JSONDecodeError, text: str, start: int, where: str) -> str:
    beginning = quoted(text[start : start + 80].partition("\n")[0])
    if error.pos >= len(text.rstrip()) or "Unterminated" in error.msg:
        return f"{where}: the JSON that begins {beginning} has no end: is the output cut off?"
    return f"{where}: {beginning} begins no JSON document: {error.msg}"
