"""What observations must have alike to be compared, as far as their reproducer goes."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from playbooks.playbook import Env, Playbook, Reproduce
from playbooks.system import Reproducer, System
from playbooks.templates import names


def conditions(
    reproducer: Reproducer, variables: Mapping[str, str], timeout_s: float
) -> dict[str, str]:
    """The reproducer, its host, timeout, command, and the variables that its templates use.

    But for the one that only says how many trials there are: rates compare across numbers.
    """
    used = {*reproducer.used} - {numbering(reproducer)}
    values = {name: value for name, value in variables.items() if name in used}
    return {
        "reproducer": reproducer.name,
        "host": reproducer.on,
        "timeout": f"{timeout_s:g} s",
        "command": reproducer.told,
        **values,
    }


def numbering(reproducer: Reproducer) -> str | None:
    """The variable that says how many trials a reproducer drives, and nothing else.

    `trials:` names it alone and the command, or its environment, uses it once: what is used twice
    may set the load as well.
    """
    declared = names(reproducer.trials or "")
    if len(declared) != 1 or reproducer.used.count(declared[0]) != 1:
        return None
    return declared[0]


def planned_conditions(system: System, playbook: Playbook, action: Reproduce) -> dict[str, str]:
    """The conditions that a playbook's reproduction will have, as far as its files tell them."""
    reproducer = system.reproducers[action.use]
    timeout = action.timeout_s or reproducer.timeout_s
    return conditions(reproducer, {**playbook.vars, **action.vars}, timeout)


def first_conditions(system: System, playbook: Playbook) -> dict[str, str]:
    """The conditions of a playbook's first reproduction, as far as its files tell them."""
    for step in playbook.steps:
        if isinstance(step.action, Reproduce):
            return planned_conditions(system, playbook, step.action)
    return {}


def own_conditions(playbook: Playbook, arm: str | None = None) -> frozenset[str]:
    """The variables of services that a playbook sets, in one `arm` or (None) in any."""
    return frozenset(
        f"env.{service}.{name}"
        for step in playbook.steps
        if isinstance(step.action, Env) and (arm is None or step.when in (None, arm))
        for service in step.action.services
        for name in (*step.action.set, *step.action.unset)
    )


def but_for_env(conditions: Mapping[str, str]) -> dict[str, str]:
    """Without the services' environment, which a playbook may change."""
    return {name: value for name, value in conditions.items() if not name.startswith("env.")}


def accepts(patterns: Iterable[str], name: str) -> bool:
    """Whether an operator's patterns say that this condition may differ."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
