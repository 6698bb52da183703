"""What a host shows before anything is done there, typed."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from playbooks.hosts.connection import Connection


class Holder(Struct, frozen=True):
    """Who holds a host's lock: the operator, the agent's pid, since when (epoch), for which run.

    `waits_until` (epoch; None: no) and `lapsed`: the operator is gone, and the agent puts the host
    back then, or does so now.
    """

    who: str
    pid: int
    since: float
    run: str
    waits_until: float | None
    lapsed: bool


class Survey(Struct, frozen=True):
    """Whom the agent runs as, who holds the host (None: nobody), and the disk of its journal.

    `obstacle` says why no journal can be kept in `state_dir`, or nothing; `free_files` is None
    where the file system counts none.
    """

    uid: int
    user: str
    holder: Holder | None
    state_dir: str
    free_bytes: int
    free_files: int | None
    obstacle: str


class Runnable(Struct, frozen=True):
    """A command as it will be started: in `cwd`, its program looked up in `path` (None: usual)."""

    argv: tuple[str, ...]
    cwd: str
    path: str | None = None


class Lack(Struct, frozen=True):
    """Why a command cannot start; `path` is the file that is not there, where it is one."""

    why: str
    path: str


class SurveyVerbs:
    """Verbs that look and take nothing. Every one raises HostError and HostLost."""

    connection: Connection

    def survey(self) -> Survey:
        """Who and what is there."""
        header, _ = self.connection.call("survey")
        facts = {name: header[name] for name in Survey.__struct_fields__}
        return Survey(**{**facts, "holder": _holder(header["holder"])})

    def obstacle(self, root: str, path: str) -> str:
        """Why `path` below `root` could not be replaced, as far as can be seen; or nothing.

        HostError kinds: "escape", "not-a-file", "no-root", "denied".
        """
        return str(self.connection.call("obstacle", root=root, path=path)[0]["obstacle"])

    def changed(self, paths: Sequence[str]) -> Mapping[str, float]:
        """When each of these files was last written (epoch); without those that are not there."""
        found = self.connection.call("changed", paths=list(paths))[0]["changed"]
        return {path: at for path, at in zip(paths, found, strict=True) if at is not None}

    def lacking(self, commands: Sequence[Runnable]) -> tuple[Lack | None, ...]:
        """What each command lacks: its folder, its program, or the script an interpreter gets."""
        asked = [[one.argv, one.cwd, one.path] for one in commands]
        found = self.connection.call("lacking", commands=asked)[0]["lacking"]
        return tuple(None if one is None else Lack(*one) for one in found)


def _holder(facts: Mapping[str, Any] | None) -> Holder | None:
    if facts is None:
        return None
    return Holder(**{name: facts[name] for name in Holder.__struct_fields__})
