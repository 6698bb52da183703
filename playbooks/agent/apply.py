"""Changes files: all are looked at before anything is written, and all stand in the journal.

The order is what makes a crash harmless: bases, then the journal, then temporaries, then renames,
then the journal again. At every point the live file is whole, and its hash tells whose it is.
"""

import contextlib
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

from playbooks.agent import durable, reserve
from playbooks.agent.directories import make, missing, remove_empty
from playbooks.agent.entries import Entry, new_entry
from playbooks.agent.files import (
    ABSENT,
    CLAIM,
    Live,
    State,
    claimed,
    discard,
    look,
    owner_beside,
    refuse_immutable,
    replace,
    sha256,
    short,
    untouched,
    write_temporary,
)
from playbooks.agent.framing import Header
from playbooks.agent.journal import Journal, load
from playbooks.agent.lock import require
from playbooks.agent.places import Place, as_verb_error, place
from playbooks.agent.session import Session, VerbError


class Move(NamedTuple):
    """One path's way from what is live to `content` (None: no file).

    `expected` is the hash that should be live; `mode` None keeps the base's; `back`: exactly the
    base again, its time too.
    """

    entry: Entry
    live: Live
    expected: Optional[str]
    content: Optional[bytes]
    mode: Optional[int]
    back: bool

    @property
    def where(self) -> str:
        return self.entry.where

    def state(self, at: Place, claim: str) -> State:
        """The metadata the file is to have; `claim` marks it as our change."""
        base = self.entry.base
        if not self.back:
            base = base._replace(xattrs={**base.xattrs, CLAIM: claim.encode().hex()})
        if base.sha256 is None:
            uid, gid = owner_beside(at.directory)
            base = ABSENT._replace(uid=uid, gid=gid, xattrs=base.xattrs)
        return base if self.mode is None else base._replace(mode=self.mode)


def apply(session: Session, request: Header, body: bytes) -> Tuple[Header, bytes]:
    """Verb: brings `changes` to their content and `restore` to their bases.

    Raises VerbError, with nothing changed: "conflict" (a path is not what was expected there),
    "escape", "not-a-file", "outstanding", "kept" (by an earlier run), "twice". With some files
    changed, maybe: "denied", "read-only", "disk-full", "io", "conflict"; `changed` names them, and
    putting back restores them.
    """
    require(session)
    journal = load(session.state_dir)
    journal.begin(request["run"], request["who"], request["specs"])
    moves = [*_changes(journal, request["changes"], body), *_restores(journal, request["restore"])]
    _refuse_twice(moves)
    _refuse_conflicts(moves)
    for move in moves:
        with _at(move) as at:
            refuse_immutable(at)
    if moves:
        _carry_out(journal, moves)
    return {"durable_calls": durable.calls()}, b""


def _changes(journal: Journal, changes: List[Dict[str, Any]], body: bytes) -> Iterator[Move]:
    offset = 0
    for change in changes:
        content = None
        if change["size"] is not None:
            content = body[offset : offset + change["size"]]
            offset += change["size"]
        entry, live = _entry(journal, change["root"], change["path"])
        mode = change["mode"]
        same = sha256(content) == entry.base.sha256 and mode in (None, entry.base.mode)
        yield Move(entry, live, change["expect"], content, mode, back=same)


def _restores(journal: Journal, paths: List[Tuple[str, str]]) -> Iterator[Move]:
    for root, path in paths:
        entry, live = _entry(journal, root, path)
        if entry.where in journal.entries:
            found = live.state.sha256
            expected = found if found in entry.ours else entry.latest
            yield Move(entry, live, expected, journal.base_bytes(entry), None, back=True)


def _entry(journal: Journal, root: str, path: str) -> Tuple[Entry, Live]:
    """The path's entry, a new one where it is still at its base, and what is live."""
    with place(root, path) as at:
        live = look(at)
    known = journal.entries.get(at.where)
    if known is None:
        _refuse_kept(journal, at.where)
        _refuse_claimed(at.where, live.state)
    return known or new_entry(at.root, path, live.state), live


def _refuse_kept(journal: Journal, where: str) -> None:
    """What a run keeps changed is no base for another one."""
    for one in journal.stack:
        if one.holds(where):
            run = one.facts["id"]
            what = f"{where} is kept changed by {run}: put that back first (campaign recover {run})"
            raise VerbError("kept", what, path=where, run=run)


def _refuse_claimed(where: str, state: State) -> None:
    """What another journal holds the base of is no base for us."""
    owner = claimed(state)
    if owner:
        raise VerbError(
            "claimed",
            f"{where} holds a change of the campaign that keeps its journal in {owner}: "
            "put that back first (campaign recover, in its workspace)",
            path=where,
        )


@contextlib.contextmanager
def _at(move: Move) -> Iterator[Place]:
    with place(move.entry.root, move.entry.path) as at:
        yield at


def _refuse_twice(moves: List[Move]) -> None:
    seen: Set[str] = set()
    for move in moves:
        if move.where in seen:
            raise VerbError("twice", f"{move.where} is given twice in one change", path=move.where)
        seen.add(move.where)


def _refuse_conflicts(moves: List[Move]) -> None:
    conflicts = []
    for move in moves:
        found = move.live.state.sha256
        expected = move.expected if found != move.expected else move.entry.latest
        if found != move.expected or found not in move.entry.ours:
            conflicts.append({"path": move.where, "expected": expected, "found": found})
    if conflicts:
        first, more = conflicts[0], len(conflicts) - 1
        raise VerbError(
            "conflict",
            f"{first['path']} was changed by someone else (expected {short(first['expected'])}, "
            f"found {short(first['found'])}){f', and {more} more' if more else ''}: nothing was "
            "written",
            conflicts=conflicts,
            **first,
        )


def _carry_out(journal: Journal, moves: List[Move]) -> None:
    before = load(journal.state_dir)
    try:
        for move in moves:
            _note(journal, move)
        reserve.hold(journal.state_dir)
        journal.save()
    except VerbError as error:
        before.sweep()
        raise _failed(error, [], len(moves)) from None
    tried: Set[str] = set()
    try:
        for move in moves:
            _prepare(move, journal.state_dir)
        for move in moves:
            _swap(move, tried)
        _close(journal, [move for move in moves if move.back])
    except (VerbError, OSError) as error:
        changed = _clean(journal, before, moves, tried)
        raise _failed(as_verb_error(error), changed, len(moves)) from None


def _note(journal: Journal, move: Move) -> None:
    """The journal learns, ahead, what the path had and what it may have from now on."""
    entry, digest = move.entry, sha256(move.content)
    if entry.where not in journal.entries:
        journal.keep_base(move.live.content)
    journal.entries[entry.where] = entry.intending(digest)
    if move.content is not None:
        journal.directories += [one for one in missing(entry) if one not in journal.directories]


def _prepare(move: Move, claim: str) -> None:
    """All that can fail for want of space or rights, while the live file stays as it is."""
    if move.content is None:
        return
    for root, path in missing(move.entry):
        make(root, path)
    with _at(move) as at:
        write_temporary(
            at, move.entry.temporary, move.content, move.state(at, claim), exact=move.back
        )


def _swap(move: Move, tried: Set[str]) -> None:
    with _at(move) as at:
        if not untouched(at, move.live):
            raise VerbError("conflict", f"{at.where} was changed meanwhile", path=at.where)
        tried.add(move.where)
        if move.content is not None or move.live.content is not None:
            replace(at, None if move.content is None else move.entry.temporary)


def _close(journal: Journal, moves: List[Move]) -> None:
    """The journal lets go of what is at its base again."""
    if moves:
        for move in moves:
            journal.close(move.where)
        remove_empty(journal)
        journal.save()
        journal.sweep()


def _clean(journal: Journal, before: Journal, moves: List[Move], tried: Set[str]) -> List[str]:
    """After a failure: what was not changed is as if it had not been asked for.

    Returns the paths that were changed. Should even this fail, the journal still holds
    everything, and putting back cleans.
    """
    changed = []
    for move in moves:
        where = move.where
        with contextlib.suppress(VerbError, OSError), _at(move) as at:
            if where in tried and not untouched(at, move.live):
                changed.append(where)
                continue
            journal.entries.pop(where)
            if where in before.entries:
                journal.entries[where] = before.entries[where]
            discard(at, move.entry.temporary)
    with contextlib.suppress(VerbError):
        remove_empty(journal)
        journal.save()
        journal.sweep()
    return changed


def _failed(error: VerbError, changed: List[str], count: int) -> VerbError:
    happened = "nothing was changed"
    if changed:
        happened = f"{len(changed)} of {count} files had been changed; putting back restores them"
    detail = {**error.detail, "changed": changed}
    return VerbError(error.kind, f"{error.message}; {happened}", **detail)


VERBS = {"apply": apply}
