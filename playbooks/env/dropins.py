"""Edits the environment in a drop-in of a systemd unit: `Environment=` and `UnsetEnvironment=`.

Every line that has nothing to do with a change is kept. (systemd.unit(5), systemd.exec(5).)
"""

import re
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from playbooks.agent.envfile import EnvFileError
from playbooks.env import unit_words

NAME = "zz-campaign.conf"
"""Sorts behind what `systemctl edit` and others write, for the last drop-in wins."""

_LINE = re.compile(r"(?:[^\n\\]|\\.)*(?:\n|\Z)", re.DOTALL)
_SECTION = re.compile(r"\[([^\]]*)\]\s*\Z")
_SETTING = re.compile(r"\s*([A-Za-z][A-Za-z0-9]*)\s*=\s*(.*)\Z", re.DOTALL)
_REFUSED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufdd0-\ufdef]|[\ufffe\uffff]")


def default_path(unit: str) -> str:
    """Where the drop-in of a system unit stands."""
    return f"/etc/systemd/system/{unit}.d/{NAME}"


class _Line(Struct, frozen=True):
    """A line with its continuations; `key` is empty for all but the settings of [Service]."""

    raw: str
    key: str
    value: str

    @property
    def words(self) -> list[unit_words.UnitWord]:
        try:
            return unit_words.split(self.value)
        except unit_words.UnitWordError as error:
            raise EnvFileError(f"{self.raw.strip()!r}: {error}") from None


def read(text: bytes) -> dict[str, str]:
    """The variables that the drop-in itself sets. Raises EnvFileError."""
    found: dict[str, str] = {}
    for line in _lines(text):
        if line.key == "Environment":
            if not line.words:
                found.clear()
            for name, value in _pairs(line):
                found[name] = value
    return {name: value for name, value in found.items() if name not in unset_names(text)}


def unset_names(text: bytes) -> frozenset[str]:
    """The variables that the drop-in takes from the unit, wherever they are set."""
    found: set[str] = set()
    for line in _lines(text):
        if line.key == "UnsetEnvironment":
            words = [word.value for word in line.words]
            found = found | {*words} if words else set()
    return frozenset(found)


def edit(text: bytes | None, set: Mapping[str, str], unset: Collection[str]) -> bytes:
    """The drop-in in which the names of `set` have their values and those of `unset` none.

    `text` None is an absent file; `set` and `unset` hold valid names, none in both. Spaces,
    quotes, backslashes, `$`, `%`, tabs and newlines survive. Raises EnvFileError for a value that
    systemd refuses: other control characters, what is not UTF-8.
    """
    for name, value in set.items():
        if bad := _REFUSED.search(value):
            raise EnvFileError(f"{name}: its value holds {bad[0]!r}, which systemd refuses")
    text = text or b""
    had = read(text)
    new = {name: value for name, value in set.items() if had.get(name) != value}
    gone = [name for name in unset if name not in unset_names(text)]
    kept = "".join(_without(line, {*new, *gone}, {*set}) for line in _lines(text))
    added = [f"Environment={unit_words.quoted(f'{name}={value}')}\n" for name, value in new.items()]
    added += [f"UnsetEnvironment={name}\n" for name in gone]
    return (_ready(kept) + "".join(added) if added else kept).encode("utf-8", "surrogateescape")


def _ready(text: str) -> str:
    """The text with its end in the section [Service], where lines may be added."""
    if text and not text.endswith("\n"):
        text += "\n"
    sections = [match[1] for line in text.splitlines() if (match := _SECTION.match(line.strip()))]
    return text if sections[-1:] == ["Service"] else text + "[Service]\n"


def _without(line: _Line, environment: Collection[str], unset: Collection[str]) -> str:
    """The line, less the assignments of `environment` or the names of `unset`."""
    if line.key == "Environment":
        kept = [one for one in line.words if one.value.partition("=")[0] not in environment]
    elif line.key == "UnsetEnvironment":
        kept = [one for one in line.words if one.value.partition("=")[0] not in unset]
    else:
        return line.raw
    if len(kept) == len(line.words):
        return line.raw
    return f"{line.key}={' '.join(one.raw for one in kept)}\n" if kept else ""


def _pairs(line: _Line) -> Iterator[tuple[str, str]]:
    for word in line.words:
        name, _, value = word.value.partition("=")
        yield name, value.replace("%%", "%")


def _lines(text: bytes) -> Iterator[_Line]:
    section, decoded, at = "", text.decode("utf-8", "surrogateescape"), 0
    while at < len(decoded):
        match = _LINE.match(decoded, at)
        assert match is not None
        at, raw = match.end(), match[0]
        stripped = raw.strip()
        if stripped.startswith(("#", ";")):
            end = decoded.find("\n", match.start()) + 1 or len(decoded)
            at, raw = end, decoded[match.start() : end]
            yield _Line(raw, "", "")
        elif header := _SECTION.match(stripped):
            section = header[1]
            yield _Line(raw, "", "")
        else:
            setting = _SETTING.match(re.sub(r"\\\n", " ", stripped))
            if setting is None or section != "Service":
                yield _Line(raw, "", "")
            else:
                yield _Line(raw, setting[1], setting[2])
