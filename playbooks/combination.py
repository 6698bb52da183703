"""Several playbooks as one restart: what each removes, removed together."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from itertools import combinations

from msgspec.structs import replace

from playbooks.diff_reader import DiffError, parse
from playbooks.plan import PlanError
from playbooks.playbook import (
    Diff,
    Env,
    Kind,
    Patch,
    Playbook,
    Reproduce,
    Restart,
    Step,
    Upload,
)

JOINED_BY = "+"
"""Stands between the names of playbooks that are to be one restart."""


def removes(playbook: Playbook) -> frozenset[str]:
    """The suspected causes that the playbook's changes remove."""
    return frozenset(one for _, change in _changes(playbook) for one in change.removes)


def in_arm(playbook: Playbook, arm: str) -> Playbook:
    """The playbook as it is in one of its arms."""
    steps = tuple(step for step in playbook.steps if step.when in (None, arm))
    return replace(playbook, arms=(), steps=steps)


def unfit(playbook: Playbook) -> str | None:
    """Why the playbook cannot be part of one restart; None where it can."""
    kinds = [type(step.action) for step in playbook.steps]
    if playbook.arms:
        return "it has arms"
    if not removes(playbook):
        return "none of its steps says what it removes"
    if kinds.count(Restart) != 1 or kinds.count(Reproduce) != 1:
        return "it has not exactly one restart and one reproduce step"
    if any(isinstance(one.action, Restart) and one.action.reload for one in playbook.steps):
        return "it reloads, and does not restart"
    others = set(kinds) - {Patch, Env, Restart, Reproduce}
    return f"it has a {others.pop().__name__.lower()} step" if others else None


def combine(playbooks: Sequence[Playbook]) -> Playbook:
    """The playbooks as one of kind toggle: all their changes, one restart, the first's trials.

    Raises PlanError where they do not go together.
    """
    for one in playbooks:
        if why := unfit(one):
            raise PlanError(f"{one.name} cannot be combined with others: {why}")
    for one, other in combinations(playbooks, 2):
        if why := _disagreement(one, other):
            raise PlanError(f"{one.name} and {other.name} do not go together: {why}")
    first = playbooks[0]
    text = "\n---\n".join(one.text for one in playbooks)
    return replace(
        first,
        name=JOINED_BY.join(one.name for one in playbooks),
        kind=Kind.TOGGLE,
        steps=tuple(_steps(playbooks)),
        hypotheses=tuple(dict.fromkeys(slug for one in playbooks for slug in one.hypotheses)),
        question=f"Does it fail without {' and '.join(sorted(_all_removed(playbooks)))}?",
        if_true="",
        if_false="",
        text=text,
        sha256=sha256(text.encode()).hexdigest(),
    )


def share_a_file(one: Playbook, other: Playbook) -> bool:
    """Whether both change the same file by patches; one that cannot be read shares none."""
    return not patched(one).isdisjoint(patched(other))


def _all_removed(playbooks: Iterable[Playbook]) -> frozenset[str]:
    return frozenset().union(*map(removes, playbooks))


def _changes(playbook: Playbook) -> Iterator[tuple[Step, Patch | Env]]:
    for step in playbook.steps:
        if isinstance(step.action, Patch | Env):
            yield step, step.action


def _steps(playbooks: Sequence[Playbook]) -> Iterator[Step]:
    for one in playbooks:
        yield from (step for step, _ in _changes(one))
    restarts = [
        (step, step.action)
        for one in playbooks
        for step in one.steps
        if isinstance(step.action, Restart)
    ]
    (step, first), *_ = restarts
    services = dict.fromkeys(name for _, action in restarts for name in action.services)
    yield replace(step, action=Restart(tuple(services), batch=first.batch))
    yield _driven(playbooks[0])


def _driven(playbook: Playbook) -> Step:
    return next(step for step in playbook.steps if isinstance(step.action, Reproduce))


def _disagreement(one: Playbook, other: Playbook) -> str | None:
    """Why not: one says so, or they would have otherwise the trials or a service's variable."""
    for says, names in ((one, other), (other, one)):
        if names.name in says.conflicts_with:
            return f"{says.name} says that it conflicts with {names.name}"
    if (one.vars, _driven(one).action) != (other.vars, _driven(other).action):
        return "their trials differ"
    if _batch(one) != _batch(other):
        return "they do not restart in the same batches"
    ours, theirs = dict(_variables(one)), dict(_variables(other))
    for (service, name), value in ours.items():
        if (service, name) in theirs and theirs[service, name] != value:
            return f"both change {name} of {service}"
    return None


def _batch(playbook: Playbook) -> int:
    actions = [step.action for step in playbook.steps]
    return max(action.batch for action in actions if isinstance(action, Restart))


def _variables(playbook: Playbook) -> Iterator[tuple[tuple[str, str], str | None]]:
    for _, change in _changes(playbook):
        if isinstance(change, Env):
            for service in change.services:
                for name in (*change.set, *change.unset):
                    yield (service, name), change.set.get(name)


def patched(playbook: Playbook) -> frozenset[tuple[str, str, str]]:
    """The files (host, root, path) that it patches; none of a patch that cannot be read."""
    return frozenset(
        (host, root, path)
        for _, change in _changes(playbook)
        if isinstance(change, Patch)
        for host, root in change.places
        for path in _paths(change)
    )


def _paths(patch: Patch) -> tuple[str, ...]:
    match patch.change:
        case Diff(file=file, strip=strip):
            try:
                return tuple(one.path for one in parse(file.read_bytes(), strip=strip))
            except (OSError, DiffError):
                return ()
        case Upload(to=to):
            return (to,)
        case replacement:
            return (replacement.path,)
