"""Checks what hooks, proofs, guards and captures of campaign.yaml refer to."""

from collections.abc import Collection, Iterator

from playbooks.language.known import check_host, check_known
from playbooks.language.marks import Document, Node
from playbooks.language.problems import shown
from playbooks.templates import TemplateError, names

VALUE = "value"
"""The template of a proof: it stands for the value that the variable is to have."""

_HOOKS = ("before_stop", "after_healthy")


def check_service(document: Document, service: Node, hosts: Collection[str]) -> None:
    """Reports hooks on unknown hosts, and proofs that would prove nothing."""
    for key in _HOOKS:
        for hook in service.get(key).items:
            _hook(document, hook, hosts)
    reload = service.get("reload")
    if reload and not reload.get("command") and not service.get("systemd"):
        what = "missing key 'command': only a systemd unit has a way of its own to be reloaded"
        document.report(reload.key, what)
    for variable, proof in service.get("proof").entries.items():
        _proof(document, variable, proof)


def check_watch(
    document: Document, root: Node, hosts: Collection[str], services: Collection[str]
) -> None:
    """Reports guards and captures that are nowhere, or of nothing."""
    for one in root.get("guard").items:
        check_host(document, one, "on", hosts)
    on_failure = root.get("on_failure")
    for one in on_failure.get("capture").items:
        check_known(document, one.get("service"), "service", services)
        if one.get("service") and one.get("on"):
            what = "it runs on the host of its service: leave 'on' out"
            document.report(one.get("on").key, what)
        elif not one.get("service"):
            check_host(document, one, "on", hosts)
    check_known(document, on_failure.get("collect"), "service", services)
    if on_failure.kind == "mapping" and not on_failure.entries:
        document.report(on_failure.key, "does nothing: give capture, collect or hold")


def _hook(document: Document, hook: Node, hosts: Collection[str]) -> None:
    check_known(document, hook.get("on"), "host", hosts)
    if hook.get("check") and not hook.get("undo"):
        what = "'check' says whether there is something to undo: give 'undo', or leave it out"
        document.report(hook.get("check").key, what)


def _proof(document: Document, variable: str, proof: Node) -> None:
    used: set[str] = set()
    nodes = list(_texts(proof))
    for node in nodes:
        try:
            found = names(node.text)
        except TemplateError as error:
            document.report(node.mark, str(error))
            return
        for name in found:
            if name != VALUE:
                what = f"only {{{{ value }}}} is filled in here, not {shown(name)}"
                document.report(node.mark, what)
        used.update(found)
    if nodes and not used:
        what = f"it would hold whatever {variable} is: say with {{{{ value }}}} what to find"
        document.report(proof.key, what)


def _texts(proof: Node) -> Iterator[Node]:
    """What is looked for: what is asked, alone, proves nothing."""
    for key in ("match", "command", "log"):
        yield from proof.get(key).texts()
