"""What observations must have alike to be compared, as far as their reproducer goes."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from playbooks.playbook import Playbook, Reproduce
from playbooks.system import Reproducer, System


def conditions(
    reproducer: Reproducer, variables: Mapping[str, str], timeout_s: float
) -> dict[str, str]:
    """The reproducer, its host, timeout, command, and the variables that its templates use."""
    templates = (*reproducer.command, *reproducer.env.values())
    used = {
        name: value
        for name, value in variables.items()
        if any(f"{{{{ {name} }}}}" in word for word in templates)
    }
    return {
        "reproducer": reproducer.name,
        "host": reproducer.on,
        "timeout": f"{timeout_s:g} s",
        "command": " ".join(reproducer.command),
        **used,
    }


def planned_conditions(system: System, playbook: Playbook, action: Reproduce) -> dict[str, str]:
    """The conditions that a playbook's reproduction will have, as far as its files tell them."""
    reproducer = system.reproducers[action.use]
    timeout = action.timeout_s or reproducer.timeout_s
    return conditions(reproducer, {**playbook.vars, **action.vars}, timeout)


def accepts(patterns: Iterable[str], name: str) -> bool:
    """Whether an operator's patterns say that this condition may differ."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)
