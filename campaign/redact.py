"""Secrets are taken out by value wherever text is kept or shown."""

import json
from collections.abc import Mapping

MARK = "[redacted]"


class Redactor:
    """Replaces every value of `secrets`, and its form inside JSON, in texts and streamed bytes."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        plain = [value for value in secrets.values() if value]
        escaped = [json.dumps(value)[1:-1] for value in plain]
        self._values = sorted({*plain, *escaped}, key=len, reverse=True)
        self._encoded = [value.encode() for value in self._values]
        self._longest = max(map(len, self._encoded), default=0)

    def text(self, text: str) -> str:
        for value in self._values:
            text = text.replace(value, MARK)
        return text

    def stream(self) -> "RedactedStream":
        """A filter for one stream of bytes."""
        return RedactedStream(self._encoded, max(self._longest - 1, 0))


class RedactedStream:
    """Redacts across chunk boundaries by holding back what could be the start of a secret."""

    def __init__(self, values: list[bytes], hold: int) -> None:
        self._values = values
        self._hold = hold
        self._kept = b""

    def feed(self, chunk: bytes) -> bytes:
        """The bytes that are safe to pass on."""
        data = self._redact(self._kept + chunk)
        cut = max(len(data) - self._hold, 0) if self._hold else len(data)
        self._kept = data[cut:]
        return data[:cut]

    def finish(self) -> bytes:
        """The rest."""
        rest, self._kept = self._redact(self._kept), b""
        return rest

    def _redact(self, data: bytes) -> bytes:
        for value in self._values:
            data = data.replace(value, MARK.encode())
        return data
