"""What the host's journal is made of: paths, commands, and traces of what was there before."""

import os
from typing import Any, Dict, NamedTuple, Optional, Set, Tuple

from playbooks.agent import clock, procfs
from playbooks.agent.files import State, sha256
from playbooks.agent.places import components

_TICK_S = 1.0 / procfs.TICKS_PER_SECOND


class Entry(NamedTuple):
    """A path that may differ from its base. `intended`: every hash we meant it to have.

    `changed_at`: on the boot clock of boot `boot_id`; a process that can have seen the change
    has no earlier start. `temporary` is the name of what we write beside the file.
    """

    root: str
    path: str
    base: State
    intended: Tuple[Optional[str], ...]
    temporary: str
    changed_at: float
    boot_id: str

    @property
    def where(self) -> str:
        return os.path.join(self.root, self.path)

    @property
    def ours(self) -> Set[Optional[str]]:
        """The hashes that are either the base's or our own doing."""
        return {self.base.sha256, *self.intended}

    @property
    def latest(self) -> Optional[str]:
        """The hash we meant it to have last."""
        return self.intended[-1] if self.intended else self.base.sha256

    def intending(self, digest: Optional[str]) -> "Entry":
        """This entry, with one more hash that the path may have."""
        if digest == self.base.sha256:
            return self
        earlier = [one for one in self.intended if one != digest]
        return self._replace(intended=(*earlier, digest))


class Command(NamedTuple):
    """A command whose effect is outstanding. `check` exits 0 while the effect is in place.

    `secrets` names the variables that it was given beside the agent's own: their values are
    nowhere but in the memory of an agent.
    """

    id: str
    do: Tuple[str, ...]
    undo: Tuple[str, ...]
    check: Optional[Tuple[str, ...]]
    cwd: str
    secrets: Tuple[str, ...] = ()


class Trace(NamedTuple):
    """A path held something else than its base from `changed_at` to `restored_at`."""

    where: str
    changed_at: float
    restored_at: float
    boot_id: str


def entry_json(entry: Entry) -> Dict[str, Any]:
    """An entry as JSON."""
    return {**entry._asdict(), "base": entry.base._asdict()}


def entry_of(fields: Dict[str, Any]) -> Entry:
    """An entry from its JSON."""
    base, intended = State(**fields["base"]), tuple(fields["intended"])
    return Entry(**{**fields, "base": base, "intended": intended})


def command(fields: Dict[str, Any]) -> Command:
    """A command from its JSON."""
    check = fields["check"]
    return Command(
        id=fields["id"],
        do=tuple(fields["do"]),
        undo=tuple(fields["undo"]),
        check=None if check is None else tuple(check),
        cwd=fields["cwd"],
        secrets=tuple(fields.get("secrets", ())),
    )


def new_entry(root: str, path: str, base: State) -> Entry:
    """The entry of a path that is about to leave its base. `root` has no links."""
    clean = "/".join(components(path))
    name = ".campaign-" + str(sha256(os.path.join(root, clean).encode("utf-8", "surrogateescape")))
    changed_at = clock.boot_clock() - _TICK_S
    return Entry(root, clean, base, (), name[:26] + ".tmp", changed_at, procfs.boot_id())
