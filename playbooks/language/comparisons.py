"""Checks what a compare step refers to, and that its two sides can be set against each other."""

from collections.abc import Collection, Iterator

from playbooks.language.known import check_distinct, check_known
from playbooks.language.marks import Document, Node
from playbooks.language.problems import shown, suggest
from playbooks.parsers.lines import plural

_SIDES = ("left", "right", "known_bad")


def check_comparison(
    document: Document, compare: Node, services: Collection[str], playbooks: Collection[str]
) -> None:
    """Reports services and outputs that are not there, and keys that could never meet.

    `playbooks` are the names that an output may say besides the arms and the playbook's own.
    """
    if not compare:
        return
    arms = [arm.text for arm in document.root.get("arms").texts()]
    own = [] if arms else [document.root.get("name").text]
    outputs = list(dict.fromkeys((*arms, *own, *playbooks)))
    for name in _SIDES:
        side = compare.get(name)
        for where in ("log", "of"):
            check_known(document, side.get(where), "service", services)
        for node in side.get("output").texts():
            if node.text not in outputs:
                what = f"unknown arm or playbook {shown(node.text)}{suggest(node.text, outputs)}"
                document.report(node.mark, what)
        _rows(document, side, needs_value=name != "known_bad")
    _alike(document, compare)


def _rows(document: Document, side: Node, *, needs_value: bool) -> None:
    """Reports a side that does not say what its keys and values are."""
    if side.kind != "mapping" or side.get("checkpoint"):
        return
    needed = ("key", "value") if needs_value else ("key",)
    for name in needed:
        check_distinct(document, side.get(name).texts())
    if not needs_value and side.get("value"):
        document.report(side.get("value").key, "known_bad finds keys alone: leave the value out")
    if side.get("match"):
        _groups(document, side, needed)
    elif not all(side.get(name) for name in needed):
        what = f"missing key 'match': a regular expression with the groups {' and '.join(needed)}"
        document.report(side.key, f"{what}; of lines that are JSON name the fields instead")


def _groups(document: Document, side: Node, needed: Collection[str]) -> None:
    from playbooks.join.expression import groups

    match = side.get("match")
    try:
        found = groups(match.text)
    except ValueError:
        return
    wanted = [name for key in needed for name in _names(side, key)]
    missing = [f"(?P<{name}>...)" for name in wanted if name not in found]
    if missing:
        what = f"the regular expression needs the named group {' and '.join(missing)}"
        document.report(match.mark, what)


def _names(side: Node, key: str) -> Iterator[str]:
    node = side.get(key)
    yield from (one.text for one in node.texts()) if node else (key,)


def _alike(document: Document, compare: Node) -> None:
    """Reports sides whose keys or values have not as many parts as the left's."""
    left = compare.get("left")
    for name, keys in (("right", ("key", "value")), ("known_bad", ("key",))):
        side = compare.get(name)
        for key in keys if side and left else ():
            ours, theirs = (len(list(_names(one, key))) for one in (left, side))
            if ours != theirs:
                node = side.get(key) or side
                what = f"the {key} of {name} has {plural(theirs, 'part')}, that of left {ours}"
                document.report(node.key, f"{what}: they could never agree")
