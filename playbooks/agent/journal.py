"""The host's journal: what this host had before us, and all it takes to bring that back.

One file, STATE/journal.json, replaced as a whole and durably before anything is changed; the
bytes of the bases lie beside it in STATE/bases, named by their hash. Nothing outstanding: no file.
It also names the services that are being restarted, so that none stays down when the operator
dies between stop and start.

A path that is back at its base leaves a trace, for a service may still run what stood there in
between; traces and service specifications go when the operator says that the services were seen
to (`settle`).

What runs keep changed on purpose lies in it, too, apart from all that: see stack.py.
"""

import contextlib
import json
import os
from typing import Any, Dict, Iterable, List, Optional, Tuple

from playbooks.agent import clock, durable, lapse, procfs, reserve, stack
from playbooks.agent.entries import Command, Entry, Trace, command, entry_json, entry_of
from playbooks.agent.files import discard, sha256, unclaim
from playbooks.agent.framing import Header
from playbooks.agent.lapse import Lapse
from playbooks.agent.lock import require
from playbooks.agent.places import from_os_error, place
from playbooks.agent.session import Session, VerbError
from playbooks.agent.stack import KeptRun

VERSION = 2
_WITHOUT_STACK = 1
"""What a journal that keeps nothing is written as: earlier versions put that back, too."""
RELOADED = "reload "
"""Before the name of a service among those to restart: it was reloaded, and runs on."""


class Journal:
    """What is outstanding on this host. `directories`: (root, path) of those we made.

    `lapses` are what agents did by themselves, for an operator to learn of; nothing of that is
    outstanding. Nor is the `stack` of what runs keep changed, the oldest first.
    """

    def __init__(self, state_dir: str) -> None:
        self.state_dir = state_dir
        self.run = ""
        self.who = ""
        self.specs: Any = None
        self.entries: Dict[str, Entry] = {}
        self.commands: List[Command] = []
        self.traces: List[Trace] = []
        self.restarting: List[str] = []
        self.directories: List[Tuple[str, str]] = []
        self.lapses: List[Lapse] = []
        self.stack: List[KeptRun] = []

    @property
    def outstanding(self) -> bool:
        return bool(self.entries or self.commands or self.traces or self.restarting)

    def base_copy(self, entry: Entry) -> Optional[str]:
        """Where the base's bytes lie; None for a path that did not exist."""
        if entry.base.sha256 is None:
            return None
        return os.path.join(self.state_dir, "bases", entry.base.sha256)

    def base_bytes(self, entry: Entry) -> Optional[bytes]:
        """The base's bytes. Raises VerbError("base-damaged") where they are not what they were."""
        path = self.base_copy(entry)
        if path is None:
            return None
        try:
            with open(path, "rb") as file:
                content = file.read()
        except OSError as error:
            raise VerbError("base-damaged", f"cannot read {path}: {error.strerror}") from None
        if sha256(content) != entry.base.sha256:
            raise VerbError("base-damaged", f"{path} is damaged: its hash is not its name")
        return content

    def keep_base(self, content: Optional[bytes]) -> None:
        """Puts the bytes of a base aside, durably."""
        digest = sha256(content)
        if content is None or digest is None:
            return
        path = os.path.join(self.state_dir, "bases", digest)
        if os.path.exists(path):
            return
        try:
            durable.make_private_dir(os.path.dirname(path))
            durable.write_atomic(path, content)
        except OSError as error:
            raise from_os_error(error, path, "write") from None

    def begin(self, run: str, who: str, specs: Any) -> None:
        """Names the run that what follows belongs to.

        Raises VerbError("outstanding") where another run's changes have not been put back.
        """
        if self.outstanding and self.run != run:
            raise VerbError(
                "outstanding",
                f"changes of {self.run or 'an earlier run'} by {self.who} are outstanding on this "
                "host: put them back first (campaign recover)",
                run=self.run,
                who=self.who,
            )
        self.run, self.who = run, who
        self.specs = self.specs if specs is None else specs

    def close(self, where: str) -> None:
        """The path is at its base again: its entry becomes a trace, if any service may care.

        What was changed before this boot was there from its beginning on.
        """
        entry, boot = self.entries.pop(where), procfs.boot_id()
        if self.specs and entry.intended:
            changed_at = entry.changed_at if entry.boot_id == boot else 0.0
            self.traces.append(Trace(where, changed_at, clock.boot_clock(), boot))

    def save(self) -> None:
        """Makes the journal as it is now durable. Raises VerbError ("disk-full", ...)."""
        path = _path(self.state_dir)
        try:
            if not (self.outstanding or self.lapses or self.stack):
                durable.remove(path)
            else:
                durable.make_private_dir(self.state_dir)
                durable.write_atomic(path, json.dumps(self._as_json()).encode("ascii"))
        except OSError as error:
            raise from_os_error(error, path, "write") from None

    def sweep(self) -> None:
        """Removes bases that nothing needs any more, and the reserve with the last of them."""
        if not self.outstanding:
            reserve.release(self.state_dir)
        if self.stack and not self.outstanding:
            with contextlib.suppress(VerbError):  # another run has to see whether there is room
                reserve.hold(self.state_dir)
        folder = os.path.join(self.state_dir, "bases")
        kept = (entry for one in self.stack for entry in one.entries)
        needed = {entry.base.sha256 for entry in (*self.entries.values(), *kept)}
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):
                if name not in needed:
                    durable.unlink(os.path.join(folder, name))

    def _as_json(self) -> Dict[str, Any]:
        stacked = {"stack": [one.as_json() for one in self.stack]} if self.stack else {}
        return {
            "version": VERSION if self.stack else _WITHOUT_STACK,
            "run": self.run,
            "who": self.who,
            "specs": self.specs,
            "entries": [entry_json(entry) for entry in self.entries.values()],
            "commands": [command._asdict() for command in self.commands],
            "traces": [trace._asdict() for trace in self.traces],
            "restarting": self.restarting,
            "directories": self.directories,
            "lapses": [one.as_json() for one in self.lapses],
            **stacked,
        }


def load(state_dir: str) -> Journal:
    """The journal as it stands. Raises VerbError: "journal-damaged", "journal-newer"."""
    journal, path = Journal(state_dir), _path(state_dir)
    try:
        with open(path, "rb") as file:
            text = file.read()
    except FileNotFoundError:
        return journal
    except OSError as error:
        raise from_os_error(error, path, "read") from None
    try:
        _fill(journal, json.loads(text))
    except (ValueError, KeyError, TypeError) as error:
        raise VerbError(
            "journal-damaged",
            f"{path} cannot be read ({error!r}); the originals are in {state_dir}/bases",
            path=path,
        ) from None
    return journal


def _path(state_dir: str) -> str:
    return os.path.join(state_dir, "journal.json")


def _fill(journal: Journal, data: Dict[str, Any]) -> None:
    if data["version"] > VERSION:
        raise VerbError(
            "journal-newer", "the journal of this host was written by a newer campaign: use that"
        )
    journal.run, journal.who, journal.specs = data["run"], data["who"], data["specs"]
    journal.entries = {one.where: one for one in map(entry_of, data["entries"])}
    journal.commands = [command(fields) for fields in data["commands"]]
    journal.traces = _of_this_boot(Trace(**fields) for fields in data["traces"])
    journal.restarting = list(data["restarting"])
    journal.directories = [(root, path) for root, path in data["directories"]]
    journal.lapses = [lapse.from_json(fields) for fields in data.get("lapses", ())]
    journal.stack = [stack.from_json(fields) for fields in data.get("stack", ())]


def _of_this_boot(traces: Iterable[Trace]) -> List[Trace]:
    """A reboot ended every process that could have seen what a trace tells of."""
    boot = procfs.boot_id()
    return [trace for trace in traces if trace.boot_id == boot]


def summary(journal: Journal) -> Header:
    """What a newcomer is told."""
    return {
        "entries": len(journal.entries),
        "commands": len(journal.commands),
        "traces": len(journal.traces),
        "restarting": len(journal.restarting),
        "run": journal.run,
        "who": journal.who,
        "kept": len(journal.stack),
        "undecided": sum(one.stage != stack.KEPT for one in journal.stack),
    }


def show(session: Session, _request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: all that is outstanding. Times before this boot are given as 0."""
    journal, boot = load(session.state_dir), procfs.boot_id()
    entries = [
        {
            "path": entry.where,
            "base": entry.base._asdict(),
            "intended": entry.intended,
            "changed_at": entry.changed_at if entry.boot_id == boot else 0.0,
            "base_copy": journal.base_copy(entry),
        }
        for entry in journal.entries.values()
    ]
    traces = [
        {"path": one.where, "changed_at": one.changed_at, "restored_at": one.restored_at}
        for one in journal.traces
    ]
    header = {
        "run": journal.run,
        "who": journal.who,
        "specs": journal.specs,
        "entries": entries,
        "commands": [one._asdict() for one in journal.commands],
        "traces": traces,
        "restarting": journal.restarting,
        "lapses": [one.as_json() for one in journal.lapses],
        "durable_calls": durable.calls(),
    }
    return header, b""


def note_restart(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: notes, before they are stopped, the services that a restart must leave running."""
    require(session)
    journal = load(session.state_dir)
    journal.begin(request["run"], request["who"], request["specs"])
    names = set(journal.restarting)
    journal.restarting += [name for name in request["services"] if name not in names]
    journal.save()
    return {}, b""


def note_command(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: notes a command, before it is run, with what takes it back; `env` is what it is given

    beside the agent's own environment.
    """
    require(session)
    journal, noted = load(session.state_dir), command(request["command"])
    noted = noted._replace(secrets=tuple(sorted(request["env"])))
    session.secrets.update(request["env"])
    journal.begin(request["run"], request["who"], None)
    journal.commands = [one for one in journal.commands if one.id != noted.id] + [noted]
    journal.save()
    return {}, b""


def entrust(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: values of variables, for the undo of commands that another agent noted."""
    require(session)
    session.secrets.update(request["env"])
    return {}, b""


def close_command(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: the effect of a command is gone, or meant to stay."""
    require(session)
    journal = load(session.state_dir)
    journal.commands = [one for one in journal.commands if one.id != request["command_id"]]
    journal.save()
    return {}, b""


def forget(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: what is at this path now, or the effect of the command with this id, stays.

    Raises VerbError("unknown-path") where nothing of that name is outstanding.
    """
    require(session)
    journal, name = load(session.state_dir), request["path"]
    others = [one for one in journal.commands if one.id != name]
    entry = journal.entries.get(name)
    if entry is None and len(others) == len(journal.commands):
        raise VerbError("unknown-path", f"nothing is outstanding at {name}")
    journal.commands = others
    if entry is not None:
        journal.close(name)
        with contextlib.suppress(VerbError, OSError), place(entry.root, entry.path) as at:
            discard(at, entry.temporary)
            unclaim(at)
    journal.save()
    journal.sweep()
    return {}, b""


def settle(session: Session, _request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: every service runs, on the bases: traces and noted restarts are no longer needed.

    Nor are lapses: the operator has learnt of them.
    """
    require(session)
    journal = load(session.state_dir)
    journal.traces, journal.restarting, journal.lapses = [], [], []
    journal.save()
    return {}, b""


VERBS = {
    "journal": show,
    "note_restart": note_restart,
    "note_command": note_command,
    "entrust": entrust,
    "close_command": close_command,
    "forget": forget,
    "settle": settle,
}
