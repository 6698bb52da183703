"""Checks that what a file names is there, and is named once."""

from collections.abc import Collection, Iterable

from playbooks.language.marks import Document, Node
from playbooks.language.problems import shown, suggest


def check_known(document: Document, node: Node, kind: str, known: Collection[str]) -> None:
    """Reports each text of `node` that is not `known`."""
    for one in node.texts():
        if one.text not in known:
            hint = suggest(one.text, known)
            document.report(one.mark, f"unknown {kind} {shown(one.text)}{hint}")


def check_distinct(document: Document, nodes: Iterable[Node]) -> None:
    """Reports a text that is there twice."""
    seen: set[str] = set()
    for node in nodes:
        if node.text in seen:
            document.report(node.mark, f"{shown(node.text)} is named twice")
        seen.add(node.text)


def check_host(document: Document, owner: Node, key: str, hosts: Collection[str]) -> None:
    """Reports a host under `key` that is not there, and one left out where there are several."""
    check_known(document, owner.get(key), "host", hosts)
    if owner.kind == "mapping" and key not in owner.entries and len(hosts) > 1:
        what = f"missing key '{key}': there are {len(hosts)} hosts ({', '.join(hosts)})"
        document.report(owner.key, what)
