"""What systemd has read of a unit's files, as far as it bears on the unit's environment."""

import re
from collections.abc import Mapping
from typing import Any, Self

from msgspec import Struct, field

_ARGV = re.compile(r"argv\[\]=(.*?) ; ignore_errors=", re.DOTALL)


HIDDEN = "the journal is not ours to read"
HIDDEN_FIX = "add the user to the group systemd-journal, or say sudo: true for this host"


class UnitFacts(Struct, frozen=True):
    """`env_files` and `dropins` are in the order in which they apply.

    `exec` is what ExecStart= runs, each command's words joined by blanks, and `cwd` is where.
    `need_reload`: files of the unit were changed, and systemd has not read them again. `links`:
    where those of its paths lead that are links, or are reached through some. `output` is where
    StandardOutput= has its log go, in systemd's word, and `namespace` names a journal of its own.
    `log_hidden`: the journal, where it is looked for, is not ours to read.
    """

    fragment: str
    dropins: tuple[str, ...]
    need_reload: bool
    env_files: tuple[str, ...]
    exec: tuple[str, ...]
    cwd: str
    links: Mapping[str, str] = field(default_factory=dict)
    output: str = ""
    namespace: str = ""
    log_hidden: bool = False

    @property
    def logs_to_file(self) -> bool:
        """Whether the journal has none of its log."""
        return self.output in ("append", "file", "truncate")

    def real(self, path: str) -> str:
        """The file itself that is meant by one of the unit's paths."""
        return self.links.get(path, path)

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Self:
        """From the agent's answer, which has most of it as systemd shows it."""
        return cls(
            fragment=facts["fragment"],
            dropins=tuple(facts["dropins"]),
            need_reload=facts["need_reload"],
            env_files=tuple(facts["env_files"]),
            exec=tuple(match[1] for one in facts["exec"] if (match := _ARGV.search(one))),
            cwd=facts["cwd"].removeprefix("!") or "/",
            links=facts["links"],
            output=facts["output"],
            namespace=facts["namespace"],
            log_hidden=facts["log_hidden"],
        )
