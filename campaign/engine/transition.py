"""The way from one boot's files to the next: what to write and what to restore, host by host."""

from collections.abc import Iterator

from msgspec import Struct, field

from playbooks.edits import FileEdit
from playbooks.hosts.files import Change
from playbooks.plan import Boot
from playbooks.playbook import Env, Patch


class HostChange(Struct):
    """What one `apply` does on one host; `restore` holds (root, path) pairs."""

    changes: list[Change] = field(default_factory=list)
    restore: list[tuple[str, str]] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.changes or self.restore)


def difference(previous: Boot | None, boot: Boot) -> dict[str, HostChange]:
    """What leads from `previous` (None: the base) to `boot`, by host.

    Each path goes straight to what `boot` holds, never over the base; a path that only
    `previous` changed is restored.
    """
    now = {(edit.host, edit.where): edit for edit in (previous.edits if previous else ())}
    hosts: dict[str, HostChange] = {}
    for edit in boot.edits:
        standing = now.pop((edit.host, edit.where), None)
        if standing is None or not _same(standing, edit):
            hosts.setdefault(edit.host, HostChange()).changes.append(_change(standing, edit))
    for edit in now.values():
        hosts.setdefault(edit.host, HostChange()).restore.append((edit.root, edit.path))
    return hosts


def _same(one: FileEdit, other: FileEdit) -> bool:
    return (one.after.sha256, one.after.mode) == (other.after.sha256, other.after.mode)


def _change(standing: FileEdit | None, edit: FileEdit) -> Change:
    expected = standing.after if standing else edit.before
    mode = edit.after.mode if edit.content is not None else None
    return Change(edit.root, edit.path, expected.sha256, edit.content, mode)


def toggles(boot: Boot) -> Iterator[str]:
    """The names of the conditions that a boot sets itself."""
    for change in boot.env:
        yield f"env.{change.service}.{change.name}"
    for edit in boot.edits:
        yield f"file.{edit.host}:{edit.where}"


def removes(boot: Boot) -> tuple[str, ...]:
    """The suspected causes that a boot's changes remove, each once."""
    actions = [step.action for step in boot.changes]
    named = (one for action in actions if isinstance(action, Patch | Env) for one in action.removes)
    return tuple(dict.fromkeys(named))
