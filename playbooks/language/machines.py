"""Checks what a file says of machines: one that is this one, and whole paths on all others."""

import posixpath
from collections.abc import Collection

from playbooks.language.marks import Document, Node
from playbooks.language.problems import shown


def check_machines(document: Document) -> None:
    """Reports two hosts with one journal, and paths on other hosts that start at nothing."""
    hosts = document.root.get("hosts").entries
    owners: dict[str, str] = {}
    for name, node in hosts.items():
        if "local" in node.entries:
            owner = owners.setdefault(posixpath.normpath(node.get("state_dir").text), name)
            if owner != name:
                what = f"{shown(name)} is this machine, and so is {shown(owner)}: keep one of them"
                document.report(node.key, f"{what}, or give it a 'state_dir' of its own")
    others = frozenset(name for name, node in hosts.items() if "ssh" in node.entries)
    for service in document.root.get("services").entries.values():
        home = _owner(service.get("host"), tuple(hosts))
        if home in others:
            for kind in ("process", "command"):
                _whole(document, service.get(kind, "cwd"), service.get(kind))
            for kind in ("systemd", "command"):
                _whole(document, service.get(kind, "log"))
            _whole(document, service.get("env", "path"))
        for hook in (*service.get("before_stop").items, *service.get("after_healthy").items):
            if (hook.get("on").text or home) in others:
                _whole(document, hook.get("cwd"))
    for reproducer in document.root.get("reproducers").entries.values():
        sessions = reproducer.get("http_sessions")
        if not sessions and _owner(reproducer.get("on"), tuple(hosts)) in others:
            _whole(document, reproducer.get("cwd"), reproducer)


def check_roots(document: Document, hosts: tuple[str, ...], others: Collection[str]) -> None:
    """Reports roots of patches and folders of commands on `others` that are no whole paths."""
    for step in document.root.get("steps").items:
        if _owner(step.get("patch", "host"), hosts) in others:
            _whole(document, step.get("patch", "root"))
        if _owner(step.get("command", "on"), hosts) in others:
            _whole(document, step.get("command", "cwd"))


def _owner(node: Node, hosts: tuple[str, ...]) -> str:
    return node.text or "".join(hosts[:1])


def _whole(document: Document, node: Node, owner: Node | None = None) -> None:
    """Reports a path that is not absolute, and one that is missing where `owner` is there."""
    if node.kind == "nothing":
        if owner is not None and owner.kind == "mapping":
            document.report(owner.key, "missing key 'cwd': on another host it has no default")
    elif not node.text.startswith("/"):
        what = f"{shown(node.text)} is on another host: give the whole path, from /"
        document.report(node.mark, what)
