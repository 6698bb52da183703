"""Puts everything back. Needs nothing but the journal, and may be repeated at any point.

The live hash decides: the base's - done; one we intended - the base is restored; any other - it
is someone else's, stays as it is, and the operator is told exactly what to do.
"""

import os
import re
import shlex
import signal
import subprocess
from typing import Collection, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from playbooks.agent import reserve
from playbooks.agent.directories import make, missing, remove_empty
from playbooks.agent.entries import Command, Entry
from playbooks.agent.files import (
    ABSENT,
    Live,
    discard,
    drop_bytecode,
    look,
    repair,
    replace,
    short,
    sync,
    untouched,
    write_temporary,
)
from playbooks.agent.framing import Header
from playbooks.agent.journal import Journal, load
from playbooks.agent.lock import require
from playbooks.agent.places import as_verb_error, place
from playbooks.agent.session import Session, VerbError

COMMAND_LIMIT_S = 60.0
_TAIL = 2000


class Conflict(NamedTuple):
    """What could not be put back, and what to do. `path` is a file's, or a command's id."""

    path: str
    expected: Optional[str]
    found: Optional[str]
    base_copy: Optional[str]
    instructions: str


class Outcome:
    """`restored` paths were changed back, `intact` ones had their base already."""

    def __init__(self) -> None:
        self.restored: List[str] = []
        self.intact: List[str] = []
        self.undone: List[str] = []
        self.conflicts: List[Conflict] = []

    def as_json(self) -> Header:
        conflicts = [conflict._asdict() for conflict in self.conflicts]
        return {
            "restored": self.restored,
            "intact": self.intact,
            "undone": self.undone,
            "conflicts": conflicts,
        }


def put_back(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: restores every base and undoes every command; `paths` limits it to those files.

    What cannot be put back is a conflict in the answer and stays in the journal. Raises VerbError
    where the journal itself cannot be read or written; what was restored then stays restored.
    """
    require(session)
    journal, outcome = load(session.state_dir), Outcome()
    paths = request["paths"]
    if paths is None:
        reserve.release(session.state_dir)
        for command in journal.commands[::-1]:
            _take_back(journal, command, outcome, session.secrets)
    for where, entry in list(journal.entries.items())[::-1]:
        if paths is None or where in paths:
            _put_back_file(journal, entry, outcome)
    remove_empty(journal)
    journal.save()
    journal.sweep()
    return outcome.as_json(), b""


def undo_commands(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: undoes the noted commands of `ids`, the last one first; files stay as they are."""
    require(session)
    journal, outcome = load(session.state_dir), Outcome()
    for command in journal.commands[::-1]:
        if command.id in request["ids"]:
            _take_back(journal, command, outcome, session.secrets)
    return outcome.as_json(), b""


def _put_back_file(journal: Journal, entry: Entry, outcome: Outcome) -> None:
    try:
        live = _look_again(entry)
        found = live.state.sha256
        if found not in entry.ours:
            outcome.conflicts.append(_someone_elses(journal, entry, found))
            return
        _restore(journal, entry, live)
    except (VerbError, OSError) as error:
        outcome.conflicts.append(_impossible(journal, entry, as_verb_error(error)))
        return
    (outcome.intact if found == entry.base.sha256 else outcome.restored).append(entry.where)
    journal.close(entry.where)


def _look_again(entry: Entry) -> Live:
    """What is live, with whatever we had left half-written beside it removed."""
    try:
        with place(entry.root, entry.path) as at:
            discard(at, entry.temporary)
            return look(at)
    except VerbError as error:
        if error.kind == "no-root":
            return Live(ABSENT, None, None)
        raise


def _restore(journal: Journal, entry: Entry, live: Live) -> None:
    """Brings the path to its base, whichever of ours it holds."""
    if entry.base.sha256 is None and live.content is None:
        return
    if live.state == entry.base:
        with place(entry.root, entry.path) as at:
            drop_bytecode(at)
            sync(at)
        return
    if live.state.sha256 == entry.base.sha256:
        with place(entry.root, entry.path) as at:
            repair(at, entry.base)
            drop_bytecode(at)
        return
    content = journal.base_bytes(entry)
    if content is not None:
        for root, path in missing(entry):
            make(root, path)
    with place(entry.root, entry.path) as at:
        if content is not None:
            write_temporary(at, entry.temporary, content, entry.base, exact=True)
        if not untouched(at, live):
            raise VerbError("conflict", f"{at.where} was changed meanwhile")
        replace(at, None if content is None else entry.temporary)


def _someone_elses(journal: Journal, entry: Entry, found: Optional[str]) -> Conflict:
    where, base_copy = entry.where, journal.base_copy(entry)
    present = f"found {short(found)}, ours would be {short(entry.latest)}"
    if base_copy is None:
        what = (
            f"{where} did not exist before, and was changed by someone else since ({present}). "
            f"To remove it: rm {shlex.quote(where)}"
        )
    else:
        what = (
            f"{where} was changed by someone else ({present}); its original is kept. "
            f"Compare: diff {shlex.quote(base_copy)} {shlex.quote(where)}. "
            f"To bring the original back: cp {shlex.quote(base_copy)} {shlex.quote(where)}"
        )
    what += (
        ", then campaign recover. To keep the file as it is now: "
        f"campaign recover --accept {shlex.quote(where)}"
    )
    return Conflict(where, entry.base.sha256, found, base_copy, what)


def _impossible(journal: Journal, entry: Entry, error: VerbError) -> Conflict:
    where = entry.where
    what = (
        f"{where} cannot be put back: {error.message}. Remove the obstacle, then campaign recover; "
        f"or keep what is there: campaign recover --accept {shlex.quote(where)}"
    )
    return Conflict(where, entry.base.sha256, None, journal.base_copy(entry), what)


def _take_back(
    journal: Journal, command: Command, outcome: Outcome, secrets: Mapping[str, str]
) -> None:
    """Undoes a command, unless its check says that there is nothing to undo."""
    failed = _undo(command, secrets)
    if failed:
        outcome.conflicts.append(_not_undone(command, failed))
        return
    journal.commands.remove(command)
    journal.save()
    outcome.undone.append(command.id)


def _undo(command: Command, secrets: Mapping[str, str]) -> str:
    """How the undo failed, in words; nothing where the effect is gone.

    An undo that names a secret which is not known would do something else: it is not run.
    """
    env = {name: secrets[name] for name in command.secrets if name in secrets}
    lacking = [name for name in command.secrets if name not in secrets]
    check, cwd = command.check, command.cwd
    if check is not None and not _named(check, lacking) and not _run(check, cwd, env).ok:
        return ""
    needed = _named((*command.undo, *(check or ())), lacking)
    if needed:
        return f"was not run without {_secrets(needed)}"
    ended = _run(command.undo, cwd, env)
    stands = not ended.ok if check is None else _run(check, cwd, env).ok
    if not stands:
        return ""
    return f"{ended.how}, without {_secrets(lacking)}" if lacking else ended.how


def _named(argv: Sequence[str], names: Iterable[str]) -> List[str]:
    """Which of these variables the words of a command name."""
    return [name for name in names if re.search(rf"\b{name}\b", " ".join(argv))]


def _secrets(names: Sequence[str]) -> str:
    several = len(names) > 1
    word = "secrets" if several else "secret"
    return (
        f"the {word} {', '.join(names)}, which {'are' if several else 'is'} not set: set what "
        "secrets: in campaign.yaml reads, then campaign recover"
    )


class _Ended(NamedTuple):
    ok: bool
    how: str


def _not_undone(command: Command, how: str) -> Conflict:
    undo = " ".join(shlex.quote(word) for word in command.undo)
    do = " ".join(shlex.quote(word) for word in command.do)
    what = (
        f"the effect of `{do}` is still there: `{undo}` {how}. Undo it by hand in "
        f"{shlex.quote(command.cwd)}, then campaign recover; or keep it: "
        f"campaign recover --accept {shlex.quote(command.id)}"
    )
    return Conflict(command.id, None, None, None, what)


def _run(argv: Sequence[str], cwd: str, env: Mapping[str, str]) -> _Ended:
    """Runs a command for at most COMMAND_LIMIT_S; then its whole process group is ended.

    Its output goes to memory rather than a pipe, so that a daemon it starts may keep it open.
    What it says of the values of `env` is taken out.
    """
    output = os.memfd_create("output")
    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**os.environ, **env},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            code = process.wait(COMMAND_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return _Ended(False, f"did not end within {COMMAND_LIMIT_S:.0f} s")
        said = _last_line(output, env.values())
    except OSError as error:
        return _Ended(False, f"could not be started: {error.strerror}")
    finally:
        os.close(output)
    return _Ended(code == 0, f"exited {code}" + (f" ({said})" if said else ""))


def _last_line(output: int, secrets: Collection[str]) -> str:
    tail = _TAIL + max(map(len, secrets), default=0)
    start = max(os.fstat(output).st_size - tail, 0)
    text = os.pread(output, tail, start).decode("utf-8", "replace")
    for value in secrets:
        text = text.replace(value, "[redacted]")
    lines = text.strip().splitlines()
    return lines[-1][-_TAIL:] if lines else ""


VERBS = {"put_back": put_back, "undo_commands": undo_commands}
