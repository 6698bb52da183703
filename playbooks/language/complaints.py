"""What is said, in plain words and at its place, of a value that does not fit."""

from collections.abc import Sequence

from playbooks.language.marks import Document, Node
from playbooks.language.problems import meant, shown, suggest


class MisfitError(Exception):
    """A value that does not fit: `what` was expected, or where `whole` all that is to be said."""

    def __init__(self, what: str, *, whole: bool = False) -> None:
        super().__init__(what)
        self.what, self.whole = what, whole

    def told(self, node: Node) -> str:
        """The complaint about what stands at `node`."""
        return self.what if self.whole else unexpected(self.what, node)


def expected(what: str) -> MisfitError:
    """The complaint about a value that is not `what`; the value itself is added to it."""
    return MisfitError(what)


def refused(what: str) -> MisfitError:
    """The complaint `what`, said as it is."""
    return MisfitError(what, whole=True)


def unexpected(what: str, node: Node) -> str:
    """That `what` was expected, what is there, and how it would be text."""
    return f"expected {what}, not {found(node)}{_quoting(node, what)}"


def unknown(key: str, known: Sequence[str]) -> str:
    """That a mapping has a key that none of its kind has."""
    return f"unknown key {shown(key)}{suggest(key, known)}"


def no_word(words: Sequence[str], node: Node) -> str:
    """That what is there is none of the `words` that may be."""
    return f"expected {either(words)}, not {found(node)}{meant(node.text, words)}"


def no_choice(document: Document, node: Node, choices: Sequence[str], known: Sequence[str]) -> None:
    """Reports a mapping with none, or several, of the keys that choose what it is.

    `known` are all keys that it may have.
    """
    words = ", ".join(choices)
    if node.kind != "mapping":
        what = f"expected a mapping with one of the keys {words}, not {found(node)}"
        return document.report(node.mark, what)
    given = [key for key in node.entries if key in choices]
    for key in given[1:]:
        what = f"'{key}' beside '{given[0]}': exactly one of {words} may stand here"
        document.report(node.get(key).key, what)
    strange = [key for key in node.entries if key not in known]
    for key in strange:
        document.report(node.get(key).key, unknown(key, known))
    if not given and not strange:
        document.report(node.mark, f"expected exactly one of the keys {words}")
    return None


def no_chosen_word(document: Document, node: Node, key: str, words: Sequence[str]) -> None:
    """Reports a mapping whose `key` holds none of the words that choose what it is."""
    if node.kind != "mapping":
        document.report(node.mark, f"expected a mapping, not {found(node)}")
    elif not node.get(key):
        document.report(node.key, f"missing key '{key}': {either(words)}")
    else:
        document.report(node.get(key).mark, no_word(words, node.get(key)))


def either(words: Sequence[str]) -> str:
    """Such as "rate, time or mismatch"."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def found(node: Node) -> str:
    """What stands at a place, in a few words."""
    if node.kind != "scalar":
        return f"a {node.kind}"
    if isinstance(node.scalar, bool):
        return f"the boolean {node.text}"
    if isinstance(node.scalar, str):
        return shown(node.text)
    return f"the number {shown(node.text)[1:-1]}"


def _quoting(node: Node, what: str) -> str:
    if not what.startswith("text") or isinstance(node.scalar, str) or node.kind != "scalar":
        return ""
    return f': put it in quotes: "{shown(node.text)[1:-1]}"'
