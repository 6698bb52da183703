"""Server-sent events, as they come: any chunk boundaries give the same events.

Of an event only its data counts here (https://html.spec.whatwg.org/multipage/server-sent-events.html).
"""

import re

_LINE = re.compile(rb"([^\r\n]*)(\r\n|\r|\n)")


class Events:
    """The data of each event in a stream of bytes."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[str] = []
        self._begun = False

    def feed(self, chunk: bytes) -> list[str]:
        """The data of the events that `chunk` completes."""
        text = self._rest + chunk
        # A carriage return at the end may be half of a line end.
        held = 1 if text.endswith(b"\r") else 0
        return self._read(text, len(text) - held)

    def finish(self) -> list[str]:
        """The data of an event whose last line end, or empty line, never came."""
        found = self._read(self._rest + b"\n\n", len(self._rest) + 2)
        self._rest = b""
        return found

    def _read(self, text: bytes, limit: int) -> list[str]:
        found: list[str] = []
        at = 0
        while line := _LINE.match(text, at, limit):
            at = line.end()
            found += self._line(line[1].decode("utf-8", "replace"))
        self._rest = text[at:]
        return found

    def _line(self, line: str) -> list[str]:
        if not self._begun:
            self._begun, line = True, line.removeprefix("\ufeff")
        if line:
            name, _, value = line.partition(":")
            if name == "data":
                self._data.append(value.removeprefix(" "))
            return []
        data, self._data = self._data, []
        return ["\n".join(data)] if data else []
