"""Verbs of the keep stack: a run's changes stay, are looked at, and become outstanding again."""

from typing import Any, Dict, Optional, Tuple

from playbooks.agent import clock, procfs
from playbooks.agent.entries import Entry
from playbooks.agent.files import look
from playbooks.agent.framing import Header
from playbooks.agent.journal import RELOADED, Journal, load
from playbooks.agent.lock import require
from playbooks.agent.places import place
from playbooks.agent.session import Session, VerbError
from playbooks.agent.stack import KeptRun


def keep(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: the changes of `run` are at `stage` of the stack from now on; see stack.py.

    Those that are outstanding get there with `facts`, all in one write. Raises
    VerbError("unknown-run") where there are none, "outstanding" where a command has to be undone.
    """
    require(session)
    journal, run, stage = load(session.state_dir), request["run"], request["stage"]
    found = _find(journal, run)
    if found is None:
        journal.stack.append(_taken(journal, run, stage, request["facts"]))
    else:
        journal.stack[journal.stack.index(found)] = found._replace(stage=stage)
    journal.save()
    journal.sweep()
    return {}, b""


def _find(journal: Journal, run: str) -> Optional[KeptRun]:
    return next((one for one in journal.stack if one.run == run), None)


def _taken(journal: Journal, run: str, stage: str, facts: Dict[str, Any]) -> KeptRun:
    """What is outstanding, as the kept run that it becomes; the journal has none of it any more.

    Its services are well: what was noted for their sake goes.
    """
    if journal.run != run or not journal.entries:
        raise VerbError("unknown-run", f"no change of {run} is outstanding on this host")
    if journal.commands:
        raise VerbError("outstanding", "a command has to be undone before files are kept")
    noted = journal.restarting
    reloaded = tuple(one[len(RELOADED) :] for one in noted if one.startswith(RELOADED))
    entries = tuple(journal.entries.values())
    made = KeptRun(run, journal.who, stage, clock.now(), journal.specs, facts, entries, reloaded)
    journal.entries, journal.traces, journal.restarting = {}, [], []
    journal.run, journal.who, journal.specs = "", "", None
    return made


def release(session: Session, request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: what `run` keeps is outstanding, as it was before it was kept: put it back next.

    May be repeated. Raises VerbError("outstanding") where changes of another run are.
    """
    require(session)
    journal = load(session.state_dir)
    found = _find(journal, request["run"])
    if found is not None:
        journal.begin(found.run, found.who, found.specs)
        journal.entries = {one.where: one for one in found.entries}
        journal.restarting = [RELOADED + name for name in found.reloaded]
        journal.stack.remove(found)
        journal.save()
    return {}, b""


def show(session: Session, _request: Header, _body: bytes) -> Tuple[Header, bytes]:
    """Verb: what runs keep changed, the oldest first, and whether it still is as they left it."""
    journal = load(session.state_dir)
    return {"stack": [_shown(journal, one) for one in journal.stack]}, b""


def _shown(journal: Journal, kept: KeptRun) -> Dict[str, Any]:
    paths = [_path(journal, entry) for entry in kept.entries]
    facts = {name: getattr(kept, name) for name in ("run", "who", "stage", "kept_at", "facts")}
    return {**facts, "paths": paths, "reloaded": kept.reloaded}


def _path(journal: Journal, entry: Entry) -> Dict[str, Any]:
    """Times before this boot are given as 0; `found` is empty where no file can be read."""
    try:
        with place(entry.root, entry.path) as at:
            found = look(at).state.sha256
    except VerbError:
        found = ""
    here = entry.boot_id == procfs.boot_id()
    return {
        "path": entry.where,
        "kept": entry.latest,
        "found": found,
        "base_copy": journal.base_copy(entry),
        "changed_at": entry.changed_at if here else 0.0,
    }


VERBS = {"keep": keep, "release": release, "stack": show}
