"""The conditions of observations, as they are compared."""

import re
from collections.abc import Iterable, Iterator, Mapping

from campaign.ledger.query import Reader, mapping

KEPT = "kept"
"""The condition that says what earlier runs had kept changed on the hosts."""

NOTHING_KEPT = "nothing"

_SHOWN = 12
"""As many digits of a hash are told."""

_USED = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def kept_text(files: Iterable[tuple[str, str, str | None]]) -> str:
    """The condition that (host, path, SHA-256 or None for no file) of each kept file make."""
    return ", ".join(
        sorted(f"{host}:{path} {digest[:_SHOWN] if digest else 'no file'}"
               for host, path, digest in files)
    )  # fmt: skip


def stored(text: str) -> dict[str, str]:
    """What a stored text of conditions says. One that was stored before anything could be kept

    says so, too.
    """
    return {KEPT: NOTHING_KEPT, **{name: str(value) for name, value in mapping(text).items()}}


class ConditionReads(Reader):
    """Reads of conditions."""

    def conditions(self) -> Mapping[str, Mapping[str, str]]:
        """What each stored text of conditions says: the values, as text, by their names.

        The variable that says how many trials there are, and nothing else, is none: rates compare
        across numbers. Earlier versions stored it.
        """
        rows = self._rows("SELECT DISTINCT conditions FROM observation")
        found = {text: stored(text) for (text,) in rows}
        numbering = {*_numbering(found.values())}
        return {
            text: {
                name: value
                for name, value in one.items()
                if (one.get("command"), name) not in numbering
            }
            for text, one in found.items()
        }


def _numbering(found: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, str]]:
    """Commands, each with a variable that it uses and that is not stored with all its trials."""
    for one in found:
        command = one.get("command", "")
        yield from ((command, name) for name in _USED.findall(command) if name not in one)
