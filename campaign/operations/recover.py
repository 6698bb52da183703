"""recover: puts back what an interrupted run left, from the hosts' own journals."""

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from campaign.engine.booking import Books
from campaign.engine.hosts import Hosts
from campaign.engine.kept import Kept as KeptRun
from campaign.engine.kept import kept_as_told, kept_on
from campaign.engine.lapses import HostLapse
from campaign.engine.putback import Restored, put_back
from campaign.engine.together import by_name
from campaign.engine.watch import Watch
from campaign.errors import CampaignError, Exit
from campaign.ledger.connect import is_there
from campaign.ledger.keeping import KEEP, keep_name
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.ledger.records import Edit, Run, Step
from campaign.operations.accept import accept
from campaign.operations.kept import Kept, booked, unbooked
from campaign.operations.plan import open_hosts
from campaign.operations.release import find_kept, refuse_unkept, release, settle_undecided
from campaign.operations.unkept import charge, close_gone, close_kept, note_staying
from campaign.workspace import Workspace
from playbooks.agent import clock
from playbooks.hosts.connection import HostError
from playbooks.language.problems import LoadError
from playbooks.system import Cost, Host


class Unreached(Struct, frozen=True):
    """A host that did not answer, why, and the paths that the ledger has outstanding there."""

    host: str
    error: CampaignError
    paths: tuple[str, ...] = ()

    def __str__(self) -> str:
        left = f"; outstanding there: {', '.join(self.paths)}" if self.paths else ""
        return f"{self.error}{left}; run 'campaign recover' when it answers"


class Recovered(Struct, frozen=True):
    """What was put back, the runs that were closed by it, and what was kept as it is now.

    `unreached` are hosts that did not answer; `awaiting` are the runs that stay dirty, since they
    may have changed those, or since not all could be put back. `unrecorded` says why the ledger
    could not be told; no run is closed then. `stack` is what runs still keep on purpose, and
    `released` the run that was named and keeps nothing any more.
    """

    restored: Restored
    runs: tuple[str, ...] = ()
    note: str = ""
    accepted: tuple[Kept, ...] = ()
    unreached: tuple[Unreached, ...] = ()
    awaiting: tuple[str, ...] = ()
    unrecorded: str = ""
    stack: tuple[KeptRun, ...] = ()
    released: str = ""

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


class _Reach(Struct, frozen=True):
    """The hosts to recover, the rates, and what to say where campaign.yaml cannot be read."""

    hosts: Hosts
    cost: Cost
    note: str = ""


def recover(
    workspace: Workspace,
    accepted: Sequence[str] = (),
    run: str = "",
    watch: Watch | None = None,
) -> Recovered:
    """Puts every host that answers back and closes the runs that nobody is running any more.

    What runs keep on purpose stays, but for that of `run`, its id or its beginning. `accepted` are
    paths, HOST:PATH, and ids of commands, that stay as they are now. Works from the hosts'
    journals: an unusable ledger or a broken campaign.yaml does not stop it. A second call finds
    nothing to do. `watch` is told what is under way.
    Errors: CampaignError (USAGE where nothing is outstanding at an accepted path, or `run` is none
    that keeps anything or was left, REFUSED where another operator holds a host).
    """
    reach = _reach(workspace)
    started = clock.now()
    with reach.hosts as hosts:
        absent = _dial(hosts)
        found = _put_back(workspace, hosts, absent, accepted, run, watch)
    done = _recovered(found, absent, reach.note)
    if not is_there(workspace.ledger):
        return done
    try:
        with Recorder.open(workspace.ledger, create=False) as recorder:
            _note_kept(recorder, unbooked(workspace))
            booked(workspace)
            books = Books(recorder, reach.cost)
            named = reach.hosts.names()
            answered = {*named} - {*absent, *found.silent}
            done = _close(books, done, found.restored, named, answered, started)
            if found.wanted is not None and found.own is not None:
                away = any(name in absent for name in found.wanted.facts.hosts)
                close_kept(books, found.wanted, found.own, away, started)
            return done
    except CampaignError as error:
        return replace(done, unrecorded=str(error))


class _PutBack(Struct, frozen=True):
    """What was done on the hosts. `own`: the way back of the kept run that was `wanted`, if it

    could be gone; `stack` is what is kept after all, but for what `silent` hosts do not tell.
    """

    restored: Restored
    accepted: tuple[Kept, ...]
    stack: tuple[KeptRun, ...]
    silent: frozenset[str]
    wanted: KeptRun | None = None
    own: Restored | None = None


def _recovered(found: _PutBack, absent: Mapping[str, CampaignError], note: str) -> Recovered:
    """What the hosts have made of it; the ledger has still to be told."""
    return Recovered(
        found.restored if found.own is None else _both(found.restored, found.own),
        note=note,
        accepted=found.accepted,
        unreached=tuple(Unreached(name, error) for name, error in absent.items()),
        stack=found.stack,
        released=found.wanted.id if found.wanted and found.own and not found.own.dirty else "",
    )


def _put_back(
    workspace: Workspace,
    hosts: Hosts,
    absent: Collection[str],
    accepted: Sequence[str],
    run: str,
    watch: Watch | None,
) -> _PutBack:
    """Puts back what is outstanding; then what was interrupted in being kept, and `run`."""
    stack, silent = kept_as_told(hosts, absent)
    wanted = _wanted(workspace, stack, run) if run else None
    if wanted is not None:
        refuse_unkept(accepted, wanted, hosts)
    kept = () if wanted else accept(workspace, hosts, absent, accepted)
    restored = put_back(hosts, watch, absent)
    undecided = settle_undecided(hosts, {*absent, *silent}, stack)
    if undecided.runs:
        restored = _both(restored, put_back(hosts, watch, absent))
    restored = replace(restored, remaining=(*restored.remaining, *undecided.remaining))
    own = None
    if wanted is not None and wanted not in undecided.runs and not restored.dirty:
        failed = release(wanted, hosts)
        kept = accept(workspace, hosts, absent, accepted)
        own = put_back(hosts, watch, absent)
        own = replace(own, remaining=(*own.remaining, *failed))
    after, silent = kept_as_told(hosts, absent)
    return _PutBack(restored, kept, after, frozenset(silent), wanted, own)


def _both(first: Restored, later: Restored) -> Restored:
    """What was done first, and then; what is left after that is left of both."""
    return Restored(
        (*first.paths, *later.paths),
        (*first.cycles, *later.cycles),
        later.remaining,
        (*first.lapses, *later.lapses),
        (*first.undone, *later.undone),
        (*first.at_base, *later.at_base),
    )


def _wanted(workspace: Workspace, stack: Sequence[KeptRun], run: str) -> KeptRun | None:
    """The kept run that is meant; None for one that was left otherwise, which is put back anyway.

    Errors: CampaignError (USAGE).
    """
    found = find_kept(stack, run)
    if found is not None:
        return found
    if is_there(workspace.ledger):
        with suppress(CampaignError), Ledger.open(workspace.ledger) as ledger:
            left = {one.id for one in _left(ledger)} | {one.run for one in ledger.staying()}
            if any(one.startswith(run) for one in left):
                return None
    there = ", ".join(one.id for one in stack)
    what = f"no run whose id begins with {run!r} keeps anything on the hosts that answer"
    raise CampaignError(Exit.USAGE, what, f"kept are: {there}" if there else "nothing is kept")


def note_lapses(hosts: Hosts, books: Books) -> tuple[HostLapse, ...]:
    """Has the ledger know what the hosts did by themselves, once the lease of a run was over.

    The hosts' locks are held. Nothing is done where something is outstanding: that is for
    `recover`. Errors: CampaignError.
    """
    greetings = [hosts[name].greeting for name in hosts.names()]
    if not any(one.lapsed_agents for one in greetings) or any(one.outstanding for one in greetings):
        return ()
    started, restored = clock.now(), put_back(hosts)
    done, named = Recovered(restored, stack=kept_on(hosts)), hosts.names()
    _close(books, done, restored, named, named, started)
    return restored.lapses


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


def _reach(workspace: Workspace) -> _Reach:
    try:
        system = workspace.load_system(secrets=False)
        hosts = open_hosts(workspace, system, "recover", takes_over=True)
        return _Reach(hosts, system.cost)
    except LoadError as error:
        note = f"campaign.yaml is not valid ({error.problems[0]}); recovering this machine only"
    except CampaignError as error:
        note = f"{error}; recovering this machine only"
    here = {"local": Host("local")}
    return _Reach(Hosts(workspace, here, "recover", takes_over=True), Cost(), note)


def _close(
    books: Books,
    done: Recovered,
    restored: Restored,
    named: Collection[str],
    answered: Collection[str],
    started: float,
) -> Recovered:
    """Closes what is interrupted or dirty; the newest of them pays for the way back.

    `named` are the hosts of campaign.yaml, `answered` those that said what is kept there.

    A run may have changed a host that did not answer: it stays dirty until that one does.
    """
    with Ledger.open(books.recorder.path) as ledger:
        left = _left(ledger)
        edits = [edit for run in left for edit in ledger.edits(run.id) if edit.put_back_at is None]
    gone = () if done.restored.dirty else close_gone(books, done.stack, answered)
    for payer in (*left, *gone)[:1]:
        charge(books, payer, restored, started)
    unreached = (*_informed(done.unreached, edits), *_unnamed(edits, named, restored.paths))
    state = "dirty" if restored.dirty or unreached else "clean"
    for run in left:
        books.note_back(run.id, restored.at_base, clock.now())
        if state == "dirty" or not note_staying(books, run, done.stack):
            at = run.ended_at or clock.now()
            books.close_run(run.id, run.status, state, at, run.error or "", back=clock.now())
    runs = tuple(run.id for run in left)
    if state == "dirty":
        return replace(done, awaiting=runs, unreached=unreached)
    return replace(done, runs=runs)


def _left(ledger: Ledger) -> Sequence[Run]:
    """The runs that are interrupted or dirty, the newest first."""
    return [run for run in ledger.unsettled() if run.status != "running"]


def _note_kept(recorder: Recorder, accepted: Sequence[Kept]) -> None:
    """A step in each run that had changed what now stays as it was found."""
    details = {
        (one.batch, keep_name(one.host, one.name)): _told(one, recorder.path.parent)
        for one in accepted
    }
    now = clock.now()
    with Ledger.open(recorder.path) as ledger, recorder.transaction():
        for run in _left(ledger):
            taken = len(ledger.steps(run.id))
            edits = [edit for edit in ledger.edits(run.id) if edit.put_back_at is None]
            boots = {keep_name(edit.host, edit.path): edit.boot for edit in edits}
            kept = [name for name in boots if (run.batch, name) in details]
            for position, name in enumerate(kept, taken + 1):
                step = Step(
                    recorder.new_id(), run.id, boots[name], position, name, KEEP, now, now,
                    "completed", detail=details[run.batch, name],
                )  # fmt: skip
                recorder.add(step)


def _told(kept: Kept, folder: Path) -> str:
    if kept.original is None:
        return "kept as found; there was no file before"
    return f"kept as found; its original: {os.path.relpath(kept.original, folder)}"


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
