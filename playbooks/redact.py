"""Secrets are taken out by value wherever text is kept or shown."""

import json
import re
from collections.abc import Mapping

from playbooks.env.values import escaped

MARK = "[redacted]"

SECRET_LENGTH = 8
"""A shorter value is no secret: it would be taken out of other words, too."""


class Redactor:
    """Replaces every value of `secrets` in texts and streamed bytes: as it is, in JSON, or as the

    values of variables are told.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        plain = [value for value in secrets.values() if value]
        in_json = [json.dumps(value)[1:-1] for value in plain]
        forms = {*plain, *in_json, *map(escaped, plain)}
        self._values = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, self._values)))

    def text(self, text: str) -> str:
        return self._pattern.sub(MARK, text) if self._values else text

    def stream(self) -> "RedactedStream":
        """A filter for one stream of bytes."""
        return RedactedStream([value.encode("utf-8", "surrogateescape") for value in self._values])


class RedactedStream:
    """Redacts `values` (longest first) across chunk boundaries: any chunks give the same bytes.

    What could be the start of a secret is held back until it is known whether it is one.
    """

    def __init__(self, values: list[bytes]) -> None:
        self._pattern = re.compile(b"|".join(map(re.escape, values))) if values else None
        self._hold = max(map(len, values), default=1) - 1
        self._kept = b""

    def feed(self, chunk: bytes) -> bytes:
        """The bytes that are safe to pass on."""
        return self._pass_on(self._kept + chunk, self._hold)

    def finish(self) -> bytes:
        """The rest."""
        return self._pass_on(self._kept, 0)

    def _pass_on(self, data: bytes, hold: int) -> bytes:
        """Up to the last `hold` bytes, where the longest secret could still begin."""
        if self._pattern is None:
            return data
        limit, at, parts = len(data) - hold, 0, []
        for found in self._pattern.finditer(data):
            if found.start() >= limit:
                break
            parts += [data[at : found.start()], MARK.encode()]
            at = found.end()
        limit = max(limit, at)
        self._kept = data[limit:]
        return b"".join([*parts, data[at:limit]])
