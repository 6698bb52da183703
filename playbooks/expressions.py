"""Users' regular expressions over text that nobody vouches for, by RE2.

RE2 never goes back, so that the time a search takes grows with the text alone, whatever the
expression: none can hang a run. It has no look-arounds and no back references for that reason,
and `\\d`, `\\w`, `\\s` and `\\b` go by ASCII (https://github.com/google/re2/wiki/Syntax).
"""

from typing import Any


class Expression:
    """A compiled expression. Raises ValueError, with why in one line, for what RE2 cannot take."""

    def __init__(self, source: str) -> None:
        import re2

        options = re2.Options()
        options.log_errors = False
        try:
            self._compiled: Any = re2.compile(source, options)
        except (re2.error, UnicodeEncodeError) as error:
            raise ValueError(_why(error)) from None
        self.source = source
        self._indices = {name: at - 1 for name, at in self._compiled.groupindex.items()}
        self.groups = frozenset(self._indices)

    def find(self, text: str) -> dict[str, str | None] | None:
        """The named groups of the first match in `text`; None where there is none."""
        found = self._compiled.search(text.encode(errors="replace"))
        if found is None:
            return None
        values = found.groups()
        return {name: _decoded(values[at]) for name, at in self._indices.items()}


def _decoded(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")


def _why(error: Exception) -> str:
    first = error.args[0] if error.args else ""
    said = first.decode(errors="replace") if isinstance(first, bytes) else str(error)
    if "invalid perl operator" in said:
        return f"{said}: look-arounds and back references could take for ever, and are not taken"
    if r"\Z" in said:
        return rf"{said}: the end of the text is \z, that of the line $"
    return said
