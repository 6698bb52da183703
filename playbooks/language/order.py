"""Checks how a playbook hangs together: restarts after changes, arms that differ, its verdict."""

from collections.abc import Collection

from playbooks.language.marks import Document, Node
from playbooks.language.problems import shown, suggest

_CHANGES = ("patch", "env")
_ACTIONS = (
    *_CHANGES,
    "restart",
    "reproduce",
    "collect",
    "compare",
    "command",
    "wait",
    "http",
)


def check_order(document: Document, playbooks: Collection[str]) -> None:
    """Reports what contradicts itself in a playbook."""
    root = document.root
    steps, arms = root.get("steps").items, root.get("arms").texts()
    _arms(document, steps, arms)
    _schedule(document, root)
    # A step that is not understood may be the very restart or measure that seems to be missing.
    if steps and all(_action(step) for step in steps):
        _restarts(document, steps, [arm.text for arm in arms])
        _blocks(document, root, steps, [arm.text for arm in arms])
        _kind(document, root.get("kind"), steps)
        _measures(document, root.get("verdict"), steps)
    _against(document, root, [arm.text for arm in arms], playbooks)
    _stops(document, root, steps, [arm.text for arm in arms])


def _action(step: Node) -> str:
    given = [key for key in step.entries if key in _ACTIONS]
    return given[0] if len(given) == 1 else ""


def _arms(document: Document, steps: tuple[Node, ...], arms: tuple[Node, ...]) -> None:
    names = [arm.text for arm in arms]
    used = {step.get("when").text for step in steps}
    for when in (node for step in steps for node in step.get("when").texts()):
        if when.text not in names:
            hint = suggest(when.text, names) if names else ": this playbook declares no arms"
            document.report(when.mark, f"unknown arm {shown(when.text)}{hint}")
    seen: set[str] = set()
    for arm in arms:
        if arm.text in seen:
            document.report(arm.mark, f"arm {shown(arm.text)} is named twice")
        seen.add(arm.text)
    unused = [arm for arm in arms if arm.text not in used]
    for arm in unused[1:]:
        what = f"arm {shown(arm.text)} is the same as {shown(unused[0].text)}"
        document.report(arm.mark, f"{what}: give it a step with 'when: {arm.text}'")


def _restarts(document: Document, steps: tuple[Node, ...], arms: list[str]) -> None:
    changes = [at for at, step in enumerate(steps) if _action(step) in _CHANGES]
    restarts = [at for at, step in enumerate(steps) if _action(step) == "restart"]
    if changes and not restarts:
        what = "a change without a restart would run nowhere: add a restart step after the changes"
        _report(document, steps[changes[0]], what)
        return
    for at in changes:
        own = steps[at].get("when").text
        for arm in [own] if own else arms or [""]:
            if not any(_runs_in(steps[later], arm) for later in restarts if later > at):
                inside = f" in arm {shown(arm)}" if arm else ""
                what = f"a change after the last restart{inside}: move it before that restart"
                _report(document, steps[at], what)


def _schedule(document: Document, root: Node) -> None:
    schedule, seed = root.get("schedule"), root.get("seed")
    if schedule and not root.get("arms"):
        document.report(schedule.key, "a schedule needs arms: there is nothing to put in order")
    if seed and schedule.text != "randomised":
        document.report(seed.key, "only 'schedule: randomised' draws an order: leave the seed out")


def _stops(document: Document, root: Node, steps: tuple[Node, ...], arms: list[str]) -> None:
    """Rules for an early stop that have nothing to go by, whatever was run before."""
    own_control = root.get("verdict", "against").text in arms
    removing = any(step.get(change, "removes").texts() for step in steps for change in _CHANGES)
    for step in steps:
        stop = step.get("reproduce", "stop")
        word = stop.text or stop.get("rule").text
        if word == "sequential" and own_control:
            what = "stop: sequential pairs with trials of an earlier run, not with an arm"
            document.report(stop.key, f"{what}: set it against baseline, or leave it out")
        if word == "when_decided" and not removing:
            what = "stop: when_decided weighs a suspected cause, and no step removes one"
            document.report(stop.key, f"{what}: give a change 'removes', or leave it out")


def _blocks(document: Document, root: Node, steps: tuple[Node, ...], arms: list[str]) -> None:
    """Each block has a boot of its own for each arm."""
    restarts = [step for step in steps if _action(step) == "restart"]
    repeated = [root.get(key) for key in ("blocks", "schedule") if root.get(key)]
    for arm in arms or [""]:
        if repeated and not any(_runs_in(step, arm) for step in restarts):
            inside = f" in arm {shown(arm)}" if arm else ""
            what = f"each block is a boot of its own: add a restart step{inside}"
            document.report(repeated[0].key, what)


def _report(document: Document, step: Node, what: str) -> None:
    document.report(step.get(_action(step)).key, what)


def _runs_in(step: Node, arm: str) -> bool:
    return not step.get("when") or step.get("when").text == arm


def _kind(document: Document, kind: Node, steps: tuple[Node, ...]) -> None:
    restarts = [step for step in steps if _action(step) == "restart"]
    anew = [step for step in restarts if step.get("restart", "action").text != "reload"]
    if kind.text == "baseline" and not anew:
        what = "a baseline needs a restart step: what ran before is no known configuration"
        document.report(kind.mark, what)
    if kind.text == "detector" and not any(step.get("compare", "known_bad") for step in steps):
        what = "a detector playbook needs a compare step with known_bad: what it must find"
        document.report(kind.mark, what)


def _measures(document: Document, verdict: Node, steps: tuple[Node, ...]) -> None:
    actions = {_action(step) for step in steps}
    if verdict and "reproduce" not in actions:
        document.report(verdict.key, "a verdict needs a reproduce step: there would be no trials")
    if verdict.get("by").text == "mismatch" and "compare" not in actions:
        document.report(verdict.get("by").mark, "by mismatch needs a compare step")


def _against(document: Document, root: Node, arms: list[str], playbooks: Collection[str]) -> None:
    own = root.get("name").text
    known = ["baseline", *arms, *(name for name in playbooks if name != own)]
    for node in root.get("verdict", "against").texts():
        if node.text == own:
            document.report(node.mark, "a playbook cannot be set against itself")
        elif node.text not in known:
            what = f"unknown arm or playbook {shown(node.text)}{suggest(node.text, known)}"
            document.report(node.mark, what)
