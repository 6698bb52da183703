"""Names of hosts taken out of whatever is told, each replaced by the same word everywhere."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar, cast

from msgspec import Struct
from msgspec.structs import asdict, replace

T = TypeVar("T")

_ADDRESS = re.compile(
    r"""
      (?<=://)(?P<url>[A-Za-z0-9.-]+)                    # the host of a URL
    | (?<![\w.])(?P<ip>\d{1,3}(?:\.\d{1,3}){3})(?![\w.]*\d)  # an IPv4 address
    """,
    re.VERBOSE,
)
_HERE = re.compile(r"localhost|127(\.\d+){3}|0\.0\.0\.0|host-\d+")


class Disguise:
    """Replaces host names by host-1, host-2, ... in the order they are met.

    `known` are told apart from ordinary words by being whole words; the hosts of URLs and IPv4
    addresses are replaced whether they are known or not, but for this machine's own (127.0.0.1,
    localhost).
    """

    def __init__(self, known: Iterable[str]) -> None:
        names = sorted({name for name in known if name}, key=len, reverse=True)
        words = "|".join(map(re.escape, names))
        self._known = re.compile(rf"(?<![\w-])(?:{words})(?![\w-])") if names else None
        self._given: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub(lambda found: self._word(found[0]), text)
        return _ADDRESS.sub(lambda found: self._word(found[0]), text)

    def _word(self, name: str) -> str:
        if _HERE.fullmatch(name):
            return name
        return self._given.setdefault(name, f"host-{len(self._given) + 1}")


def rewritten(value: T, write: Callable[[str], str]) -> T:
    """`value` with every text in it rewritten, through records, tuples and mappings.

    Words of fixed sets (enumerations) stay.
    """
    new: object = value
    if type(value) is str:
        new = write(str(value))
    elif isinstance(value, tuple):
        new = tuple(rewritten(one, write) for one in value)
    elif isinstance(value, Mapping):
        new = {write(name): rewritten(one, write) for name, one in value.items()}
    elif isinstance(value, Struct):
        fields = asdict(value).items()
        new = replace(value, **{name: rewritten(one, write) for name, one in fields})
    return cast(T, new)
