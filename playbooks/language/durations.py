"""Durations and sizes as people write them: `1m30s`, `200ms`, `10MB`, `64MiB`."""

import re

DURATION = "a duration with its unit, such as 300s, 200ms, 15m or 1m30s"
SIZE = "a size such as 10MB, 64MiB, 512KB or a whole number of bytes"

_NUMBER = r"([0-9]{1,9}(?:\.[0-9]{1,6})?)"
DURATION_PATTERN = rf"^(?:{_NUMBER}h)?(?:{_NUMBER}m)?(?:{_NUMBER}s)?(?:{_NUMBER}ms)?$"
SIZE_PATTERN = r"^([0-9]{1,15})(B|KB|MB|GB|KiB|MiB|GiB)?$"

_SECONDS = (3600.0, 60.0, 1.0, 0.001)
_BYTES = {
    "GiB": 2**30,
    "GB": 10**9,
    "MiB": 2**20,
    "MB": 10**6,
    "KiB": 2**10,
    "KB": 10**3,
    "B": 1,
}


def seconds(text: str) -> float:
    """The seconds that `text` names: hours, minutes, seconds, milliseconds, largest first.

    Raises ValueError, with what was expected, for anything else.
    """
    found = re.fullmatch(DURATION_PATTERN, text)
    if not text or found is None:
        raise ValueError(f"expected {DURATION}")
    return sum(
        float(number) * unit
        for number, unit in zip(found.groups(), _SECONDS, strict=True)
        if number is not None
    )


def size(text: str) -> int:
    """The bytes that `text` names: KB, MB, GB are powers of 1000, KiB, MiB, GiB of 1024.

    Raises ValueError, with what was expected, for anything else.
    """
    found = re.fullmatch(SIZE_PATTERN, text)
    if found is None:
        raise ValueError(f"expected {SIZE}")
    return int(found[1]) * _BYTES[found[2] or "B"]
