"""recover: puts back what an interrupted run left, from the hosts' own journals."""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from campaign.engine.booking import Books
from campaign.engine.putback import Restored, put_back
from campaign.engine.session import Hosts
from campaign.engine.together import by_name
from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.ledger.records import Edit
from campaign.operations.plan import open_hosts
from campaign.workspace import Workspace
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host as Agent
from playbooks.language.problems import LoadError
from playbooks.system import Cost, Host


@dataclass(frozen=True)
class Unreached:
    """A host that did not answer, why, and the paths that the ledger has outstanding there."""

    host: str
    error: CampaignError
    paths: tuple[str, ...] = ()

    def __str__(self) -> str:
        left = f"; outstanding there: {', '.join(self.paths)}" if self.paths else ""
        return f"{self.error}{left}; run 'campaign recover' when it answers"


@dataclass(frozen=True)
class Recovered:
    """What was put back, the runs that were closed by it, and what was kept as it is now.

    `unreached` are hosts that did not answer; `awaiting` are the runs that stay dirty, since they
    may have changed those, or since not all could be put back. `unrecorded` says why the ledger
    could not be told; no run is closed then.
    """

    restored: Restored
    runs: tuple[str, ...] = ()
    note: str = ""
    accepted: tuple[str, ...] = ()
    unreached: tuple[Unreached, ...] = ()
    awaiting: tuple[str, ...] = ()
    unrecorded: str = ""

    @property
    def remaining(self) -> tuple[str, ...]:
        """What is left for a person to do, as instructions: nothing where all is clean."""
        unreached = self.unreached if self.awaiting else ()
        return (*self.restored.remaining, *map(str, unreached))

    @property
    def exit(self) -> Exit:
        if self.remaining:
            return Exit.DIRTY
        if self.unreached:
            return self.unreached[0].error.exit
        return Exit.REFUSED if self.unrecorded else Exit.COMPLETED


@dataclass(frozen=True)
class _Reach:
    """The hosts to recover, the rates, and what to say where campaign.yaml cannot be read."""

    hosts: Hosts
    cost: Cost
    note: str = ""


def recover(workspace: Workspace, accepted: Sequence[str] = ()) -> Recovered:
    """Puts every host that answers back and closes the runs that nobody is running any more.

    `accepted` are paths, and ids of commands, that stay as they are now. Works from the hosts'
    journals: an unusable ledger or a broken campaign.yaml does not stop it. A second call finds
    nothing to do. Errors: CampaignError (USAGE where nothing is outstanding at an accepted path,
    REFUSED where another operator holds a host).
    """
    reach = _reach(workspace)
    started = time.time()
    with reach.hosts as hosts:
        absent = _dial(hosts)
        kept = _accept(workspace, hosts, absent, accepted)
        restored = put_back(hosts, absent=absent)
    unreached = tuple(Unreached(name, error) for name, error in absent.items())
    done = Recovered(restored, note=reach.note, accepted=kept, unreached=unreached)
    if not workspace.ledger.exists():
        return done
    try:
        with Recorder.open(workspace.ledger, create=False) as recorder:
            return _close(Books(recorder, reach.cost), done, reach.hosts.names(), started)
    except CampaignError as error:
        return replace(done, unrecorded=str(error))


def _dial(hosts: Hosts) -> dict[str, CampaignError]:
    """Dials all; those that do not answer, with why. Errors: CampaignError for a held host."""
    found = by_name({name: partial(_unanswered, hosts, name) for name in hosts.names()})
    return {name: error for name, error in found.items() if error is not None}


def _unanswered(hosts: Hosts, name: str) -> CampaignError | None:
    try:
        hosts[name]
    except CampaignError as error:
        if isinstance(error.__cause__, HostError) and error.__cause__.kind == "locked":
            raise
        return error
    return None


def _accept(
    workspace: Workspace, hosts: Hosts, absent: Collection[str], accepted: Sequence[str]
) -> tuple[str, ...]:
    """Lets go of each of `accepted`, on whichever host it is outstanding; all of them, or none."""
    left = dict(_outstanding(hosts, absent)) if accepted else {}
    chosen = tuple(dict.fromkeys(_as_outstanding(name, left, absent) for name in accepted))
    for name in chosen:
        _keep_original(workspace, hosts[left[name]], name)
        hosts[left[name]].forget(name)
    return chosen


def _keep_original(workspace: Workspace, host: Agent, path: str) -> None:
    """Copies the original of a file that stays changed: the journal lets go of it."""
    entries = (one for one in host.journal().entries if one.path == path)
    copy = next((one.base_copy for one in entries), None)
    if copy is not None:
        root, _, name = copy.rpartition("/")
        kept = workspace.kept / path.lstrip("/")
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(host.read(root, name)[1] or b"")


def _as_outstanding(name: str, left: Collection[str], absent: Collection[str]) -> str:
    """The one of `left` that `name` is, as it stands or as a path from here."""
    for one in (name, str(Path(name).absolute()), str(Path(name).resolve())):
        if one in left:
            return one
    there = f"outstanding are: {', '.join(left)}" if left else "nothing is, anywhere"
    if absent:
        there += f"; no answer from {', '.join(absent)}"
    raise CampaignError(Exit.USAGE, f"nothing is outstanding at {name}", there)


def _outstanding(hosts: Hosts, absent: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each path and command id that is outstanding, with its host."""
    for host in hosts.names():
        if host not in absent:
            journal = hosts[host].journal()
            yield from ((entry.path, host) for entry in journal.entries)
            yield from ((command.id, host) for command in journal.commands)


def _reach(workspace: Workspace) -> _Reach:
    try:
        system = workspace.load_system()
        return _Reach(open_hosts(workspace, system, "recover"), system.cost)
    except LoadError as error:
        note = f"campaign.yaml is not valid ({error.problems[0]}); recovering this machine only"
    except CampaignError as error:
        note = f"{error}; recovering this machine only"
    return _Reach(Hosts(workspace, {"local": Host("local")}, "recover"), Cost(), note)


def _close(books: Books, done: Recovered, named: Collection[str], started: float) -> Recovered:
    """Closes what is interrupted or dirty; the newest of them pays for the way back.

    A run may have changed a host that did not answer: it stays dirty until that one does.
    """
    with Ledger.open(books.recorder.path) as ledger:
        left = [run for run in ledger.unsettled() if run.status != "running"]
        boots = {run.id: len(ledger.boots(run.id)) for run in left}
        edits = [edit for run in left for edit in ledger.edits(run.id) if edit.put_back_at is None]
    now, restored = time.time(), done.restored
    if left and (restored.paths or restored.cycles):
        newest = left[0]
        with books.recorder.transaction():
            boot = books.way_back(newest.batch, boots[newest.id], started)
            books.charge_way_back(boot, newest.id, restored, started, now)
    unreached = (*_informed(done.unreached, edits), *_unnamed(edits, named, restored.paths))
    state = "dirty" if restored.dirty or unreached else "clean"
    for run in left:
        books.close_run(run.id, run.status, state, now, run.error or "")
    runs = tuple(run.id for run in left)
    if state == "dirty":
        return replace(done, awaiting=runs, unreached=unreached)
    return replace(done, runs=runs)


def _informed(unreached: Sequence[Unreached], edits: Sequence[Edit]) -> Iterator[Unreached]:
    """What did not answer, with what the ledger knows to be outstanding there."""
    for one in unreached:
        paths = dict.fromkeys(edit.path for edit in edits if edit.host == one.host)
        yield replace(one, paths=tuple(paths))


def _unnamed(
    edits: Sequence[Edit], named: Collection[str], restored: Collection[str]
) -> Iterator[Unreached]:
    """The hosts with changes outstanding that campaign.yaml, as it is now, does not name."""
    away: dict[str, dict[str, None]] = {}
    for edit in edits:
        if edit.host not in named and edit.path not in restored:
            away.setdefault(edit.host, {})[edit.path] = None
    for host, paths in away.items():
        what = f"host {host}: campaign.yaml does not say how to reach it"
        yield Unreached(host, CampaignError(Exit.UNREACHABLE, what), tuple(paths))
