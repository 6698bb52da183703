"""File edits: every change of a host is the state of one file before and after."""

import hashlib
import posixpath
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from playbooks import diff
from playbooks.env import methods
from playbooks.playbook import Diff, Env, Patch, Replace, Upload
from playbooks.system import Service


class FileState(Struct, frozen=True):
    """What a path holds. `sha256` None: there is no file, and the rest says nothing.

    `names` counts the names (hard links) of the file as it was read.
    """

    sha256: str | None
    mode: int = 0o644
    uid: int = 0
    gid: int = 0
    mtime_ns: int = 0
    xattrs: Mapping[str, str] = field(default_factory=dict)
    names: int = 1


class FileEdit(Struct, frozen=True):
    """One file's way from its base to what a boot needs.

    `path` is relative to `root`, neither with a link on the way; `content` None deletes the file;
    `base` holds the bytes before (None: absent); `steps` names the steps that made the edit.
    """

    host: str
    root: str
    path: str
    before: FileState
    after: FileState
    content: bytes | None
    base: bytes | None = None
    steps: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        """The absolute path on its host."""
        return f"{self.root.rstrip('/')}/{self.path}"

    @property
    def other_names(self) -> int:
        """How many names the file has beside this one: they keep the base, and are cut off."""
        return self.before.names - 1


_NEW_MODE = {"env_file": 0o600, "dropin": 0o644, "script": 0o755}


class EditError(Exception):
    """A change that does not fit what the host has; one clear line."""


Reader = Callable[[str, str, str], tuple[FileState, bytes | None]]
"""(host, root, path) -> what is there now, its bytes or None where there is no file."""


class _Draft(Struct):
    host: str
    root: str
    path: str
    before: FileState
    base: bytes | None
    content: bytes | None
    mode: int
    steps: list[str] = field(default_factory=list)

    def edit(self) -> FileEdit:
        digest = None if self.content is None else hashlib.sha256(self.content).hexdigest()
        after = replace(self.before, sha256=digest, mode=self.mode, names=1)
        return FileEdit(
            self.host, self.root, self.path, self.before, after, self.content, self.base,
            tuple(self.steps),
        )  # fmt: skip

    @property
    def changed(self) -> bool:
        if self.content is None:
            return self.base is not None
        return self.content != self.base or self.mode != self.before.mode


class Overlay:
    """The edits of one boot, step upon step, over what the hosts have.

    Nothing is written: `read` is asked once for each path, and later steps see earlier ones.
    """

    def __init__(self, read: Reader) -> None:
        self._read = read
        self._drafts: dict[tuple[str, str], _Draft] = {}

    def patch(self, step: str, patch: Patch) -> None:
        """Lays a patch step over the boot, on each of its hosts. Errors: EditError."""
        for host, root in patch.places:
            self._patch(step, host, root, patch.change)

    def _patch(self, step: str, host: str, root: str, change: Diff | Upload | Replace) -> None:
        if isinstance(change, Diff):
            self._diff(step, host, root, change)
        elif isinstance(change, Upload):
            draft = self._draft(host, root, change.to, step)
            draft.content = _bytes_of(change.file)
            draft.mode = change.mode or draft.mode
        else:
            self._replace(step, host, root, change)

    def env(self, step: str, services: Sequence[Service], env: Env) -> None:
        """Edits the environment of each of `services`, by its method. Errors: EditError."""
        for service in services:
            if service.env is None:
                raise EditError(f"step {step!r}: service {service.name!r} has no env: method")
            root, path = service.env.place
            draft = self._draft(service.host, root, path, step, new_mode=_NEW_MODE[service.env.via])
            try:
                content = methods.edit(service.env, draft.content, env.set, env.unset)
            except methods.EnvFileError as error:
                raise EditError(f"step {step!r}, {service.env.path}: {error}") from error
            if draft.content is not None or content:
                draft.content = content

    def content(self, host: str, root: str, path: str) -> bytes | None:
        """What the path holds in this boot; None: no file."""
        draft = self._drafts.get((host, _where(root, path)))
        return draft.content if draft else self._read(host, root, path)[1]

    def edits(self) -> tuple[FileEdit, ...]:
        """Every path that ends up other than it was, in the order of first touch."""
        return tuple(draft.edit() for draft in self._drafts.values() if draft.changed)

    def _diff(self, step: str, host: str, root: str, change: Diff) -> None:
        try:
            files = diff.parse(_bytes_of(change.file), strip=change.strip, name=change.file.name)
            for one in files:
                draft = self._draft(host, root, one.new or one.old or "", step)
                draft.content = diff.apply(one, draft.content)
                draft.mode = one.mode or draft.mode
        except diff.DiffError as error:
            raise EditError(f"step {step!r}: {error}") from error

    def _replace(self, step: str, host: str, root: str, change: Replace) -> None:
        draft = self._draft(host, root, change.path, step)
        where = _where(root, change.path)
        if draft.content is None:
            raise EditError(f"step {step!r}: {where} is not there; replace needs the file")
        old, new = change.old.encode(), change.new.encode()
        found = draft.content.count(old)
        if found != change.count:
            raise EditError(
                f"step {step!r}: {where} holds the text {found} times, {change.count} expected; "
                "nothing was replaced"
            )
        draft.content = draft.content.replace(old, new)

    def _draft(self, host: str, root: str, path: str, step: str, new_mode: int = 0o644) -> _Draft:
        key = (host, _where(root, path))
        if key not in self._drafts:
            state, base = self._read(host, root, path)
            mode = new_mode if base is None else state.mode
            self._drafts[key] = _Draft(host, root, path, state, base, base, mode)
        draft = self._drafts[key]
        draft.steps.append(step)
        return draft


def _where(root: str, path: str) -> str:
    return posixpath.normpath(f"{root}/{path}")


def _bytes_of(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise EditError(f"cannot read {file}: {error.strerror}") from error
