"""A host's files and its journal, typed: read, apply, put back."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from msgspec import Struct

from playbooks.agent.journal import RELOADED
from playbooks.edits import FileState
from playbooks.hosts.connection import Connection
from playbooks.hosts.lapse import Lapse, lapse_of

NO_VARIABLES: Mapping[str, str] = {}


class Change(Struct, frozen=True):
    """One file's change: `path` relative to `root`, to `content` (None: no file).

    `expect` is the hash of what is there now (None: no file); the change is refused where it is
    not. `mode` None keeps the base's mode, 0644 for a new file. Content and mode of the base:
    the file is exactly its base again, modification time included.
    """

    root: str
    path: str
    expect: str | None
    content: bytes | None
    mode: int | None = None


class JournalEntry(Struct, frozen=True):
    """A path (absolute) that may differ from its base.

    `intended` holds every hash it was meant to have; `base_copy` is where the base's bytes lie on
    the host (None: there was no file). `changed_at` is on the host's boot clock: a process that
    can have seen the change started no earlier. It is 0 for a change before this boot.
    """

    path: str
    base: FileState
    intended: tuple[str | None, ...]
    changed_at: float
    base_copy: str | None


class Trace(Struct, frozen=True):
    """A path that held something else than its base from `changed_at` to `restored_at`.

    Both on the host's boot clock. A process that started in between may have seen the change.
    """

    path: str
    changed_at: float
    restored_at: float


class NotedCommand(Struct, frozen=True):
    """A command whose effect is outstanding: `check` exits 0 while it is in place."""

    id: str
    do: tuple[str, ...]
    undo: tuple[str, ...]
    check: tuple[str, ...] | None
    cwd: str


class Journal(Struct, frozen=True):
    """What is outstanding on a host, of which run, by whom.

    `specs` is what `apply` was given, or None; `restarting` names the services that a restart
    must leave running, `reloaded` those that read changed files while they ran; `lapses` are what
    agents did by themselves, of runs that lost their lease. `durable_calls`: see
    playbooks.agent.durable.
    """

    run: str
    who: str
    specs: Any
    entries: tuple[JournalEntry, ...]
    commands: tuple[NotedCommand, ...]
    traces: tuple[Trace, ...]
    restarting: tuple[str, ...]
    reloaded: tuple[str, ...]
    lapses: tuple[Lapse, ...]
    durable_calls: int

    @property
    def outstanding(self) -> bool:
        """Whether anything has yet to be put back, restarted or settled."""
        return bool(
            self.entries or self.commands or self.traces or self.restarting or self.reloaded
        )


class Conflict(Struct, frozen=True):
    """What could not be put back: a path or a command's id, and exactly what to do about it."""

    path: str
    expected: str | None
    found: str | None
    base_copy: str | None
    instructions: str


class PutBack(Struct, frozen=True):
    """What putting back did: files changed back, files found at their base, commands undone."""

    restored: tuple[str, ...]
    intact: tuple[str, ...]
    undone: tuple[str, ...]
    conflicts: tuple[Conflict, ...]


class Tail(Struct, frozen=True):
    """A piece of a file, where to read on, and how many bytes the file has."""

    data: bytes
    next_offset: int
    size: int


class FileVerbs:
    """The verbs of files and journal. Every one raises HostError and HostLost.

    Those that change something need the host's lock (HostError kind "unlocked").
    """

    connection: Connection
    who: str

    def read(
        self, root: str, path: str, *, pid: int | None = None
    ) -> tuple[FileState, bytes | None]:
        """State and content (None: no file) of `path` below `root`; as process `pid` sees it.

        HostError kinds: "escape" (a link, `..`, absolute), "not-a-file", "no-root", "denied",
        "too-large" (over 1 GiB), "no-process".
        """
        header, body = self.connection.call("read", root=root, path=path, pid=pid)
        state = FileState(**header["state"], names=header["names"])
        return state, None if state.sha256 is None else body

    def tail(self, root: str, path: str, offset: int, max_bytes: int) -> Tail:
        """Up to `max_bytes` (at most 4 MiB) from `offset`; a negative one counts from the end.

        HostError kinds: those of `read`, "no-file".
        """
        header, body = self.connection.call(
            "tail", root=root, path=path, offset=offset, max_bytes=max_bytes
        )
        return Tail(body, header["next_offset"], header["size"])

    def apply(
        self,
        changes: Sequence[Change],
        restore: Sequence[tuple[str, str]] = (),
        *,
        run: str,
        specs: Any = None,
    ) -> None:
        """Makes `changes`, and brings the (root, path) of `restore` to their bases.

        All are checked before anything is written. `specs` (JSON) is kept with the journal:
        whatever it takes to restart the services without the ledger.

        HostError kinds: "conflict" (detail: path, expected, found, conflicts), "escape",
        "not-a-file", "twice", "outstanding" (another run's changes), "denied", "read-only",
        "disk-full", "io". Detail `changed` names the files that a failure midway left changed;
        put_back restores them.
        """
        described = [
            {
                "root": change.root,
                "path": change.path,
                "expect": change.expect,
                "size": None if change.content is None else len(change.content),
                "mode": change.mode,
            }
            for change in changes
        ]
        body = b"".join(change.content or b"" for change in changes)
        self.connection.call(
            "apply",
            body,
            changes=described,
            restore=list(restore),
            run=run,
            who=self.who,
            specs=specs,
        )

    def journal(self) -> Journal:
        """What is outstanding. HostError kinds: "journal-damaged", "journal-newer"."""
        header, _ = self.connection.call("journal")
        noted = header["restarting"]
        return Journal(
            run=header["run"],
            who=header["who"],
            specs=header["specs"],
            entries=tuple(_entry(fields) for fields in header["entries"]),
            commands=tuple(_command(fields) for fields in header["commands"]),
            traces=tuple(Trace(**fields) for fields in header["traces"]),
            restarting=tuple(one for one in noted if not one.startswith(RELOADED)),
            reloaded=tuple(one.removeprefix(RELOADED) for one in noted if one.startswith(RELOADED)),
            lapses=tuple(map(lapse_of, header["lapses"])),
            durable_calls=header["durable_calls"],
        )

    def put_back(self, paths: Sequence[str] | None = None) -> PutBack:
        """Restores every base and undoes every command; only the files `paths`, where given.

        May be repeated at any time. What conflicts stays as it is, and in the journal.
        """
        wanted = None if paths is None else list(paths)
        header, _ = self.connection.call("put_back", paths=wanted)
        return _outcome(header)

    def undo_commands(self, ids: Collection[str]) -> PutBack:
        """Undoes the noted commands of `ids`, the last one first, and touches no file."""
        header, _ = self.connection.call("undo_commands", ids=list(ids))
        return _outcome(header)

    def settle(self) -> None:
        """Says that every service runs, on the bases: traces, noted restarts and specs may go,

        and lapses, of which we know.
        """
        self.connection.call("settle")

    def forget(self, path: str) -> None:
        """Keeps what is at `path` now, or the effect of the command with that id.

        HostError kind "unknown-path" where nothing of that name is outstanding.
        """
        self.connection.call("forget", path=path)

    def note_restart(
        self, services: Sequence[str], *, run: str, specs: Any, reload: bool = False
    ) -> None:
        """Notes the services that are about to be stopped, until `settle`: they are to run again.

        With `reload` they are to read their files again, too. HostError "outstanding".
        """
        noted = [*services, *(RELOADED + one for one in services if reload)]
        self.connection.call("note_restart", services=noted, run=run, who=self.who, specs=specs)

    def note_command(
        self,
        id: str,
        do: Sequence[str],
        undo: Sequence[str],
        check: Sequence[str] | None,
        cwd: str,
        *,
        run: str,
        env: Mapping[str, str] = NO_VARIABLES,
    ) -> None:
        """Notes a command before it is run; put_back undoes noted ones, the last one first.

        `check` exits 0 while the effect is in place: nothing is undone where it does not, and an
        undo (at most 60 s) after which it still does is a conflict. Both are given `env`, of which
        the names alone are written down. HostError "outstanding".
        """
        noted = {
            "id": id,
            "do": list(do),
            "undo": list(undo),
            "check": None if check is None else list(check),
            "cwd": cwd,
        }
        self.connection.call("note_command", command=noted, run=run, who=self.who, env=dict(env))

    def entrust(self, env: Mapping[str, str]) -> None:
        """Gives what the undo of commands that are noted already may need of `env`."""
        self.connection.call("entrust", env=dict(env))

    def close_command(self, id: str) -> None:
        """Lets go of a noted command: its effect is gone, or meant to stay."""
        self.connection.call("close_command", command_id=id)


def _outcome(header: Mapping[str, Any]) -> PutBack:
    return PutBack(
        restored=tuple(header["restored"]),
        intact=tuple(header["intact"]),
        undone=tuple(header["undone"]),
        conflicts=tuple(Conflict(**fields) for fields in header["conflicts"]),
    )


def _entry(fields: Mapping[str, Any]) -> JournalEntry:
    return JournalEntry(
        path=fields["path"],
        base=FileState(**fields["base"]),
        intended=tuple(fields["intended"]),
        changed_at=fields["changed_at"],
        base_copy=fields["base_copy"],
    )


def _command(fields: Mapping[str, Any]) -> NotedCommand:
    check = fields["check"]
    return NotedCommand(
        id=fields["id"],
        do=tuple(fields["do"]),
        undo=tuple(fields["undo"]),
        check=None if check is None else tuple(check),
        cwd=fields["cwd"],
    )
