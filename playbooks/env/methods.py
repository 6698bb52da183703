"""The ways to change a service's environment: each edits one file, purely."""

import re
from collections.abc import Collection, Iterable, Mapping

from playbooks.agent.envfile import EnvFileError
from playbooks.env import dropins, env_files, scripts
from playbooks.system import EnvMethod

__all__ = ["EnvFileError", "edit", "read"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def read(method: EnvMethod, text: bytes | None) -> dict[str, str]:
    """The variables that the method's file sets; None is an absent file. Raises EnvFileError."""
    if text is None:
        return {}
    match method.via:
        case "env_file":
            return env_files.read(text)
        case "dropin":
            return dropins.read(text)
        case "script":
            return scripts.read(text)


def edit(
    method: EnvMethod, text: bytes | None, set: Mapping[str, str], unset: Iterable[str]
) -> bytes:
    """The method's file in which the names of `set` have their values and those of `unset` none.

    Raises EnvFileError where that cannot be done with certainty, with the reason.
    """
    gone = tuple(dict.fromkeys(unset))
    _check(set, gone)
    match method.via:
        case "env_file":
            return env_files.edit(text, set, gone)
        case "dropin":
            return dropins.edit(text, set, gone)
        case "script":
            return scripts.edit(text, set, gone)


def _check(set: Mapping[str, str], unset: Collection[str]) -> None:
    for name in (*set, *unset):
        if not _NAME.fullmatch(name):
            what = "is no variable name: use letters, digits and _, and no digit first"
            raise EnvFileError(f"{name!r} {what}")
        if name in set and name in unset:
            raise EnvFileError(f"{name} is both set and unset: keep one of the two")
