"""recover: puts back what an interrupted run left, from the hosts' own journals."""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from campaign.engine.booking import Books
from campaign.engine.putback import Restored, put_back
from campaign.engine.session import Hosts
from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.operations.plan import open_hosts
from campaign.workspace import Workspace
from playbooks.hosts.host import Host as Agent
from playbooks.language.problems import LoadError
from playbooks.system import Cost, Host


@dataclass(frozen=True)
class Recovered:
    """What was put back, the runs that were closed by it, and what was kept as it is now.

    `unrecorded` says why the ledger could not be told; no run is closed then.
    """

    restored: Restored
    runs: tuple[str, ...] = ()
    note: str = ""
    accepted: tuple[str, ...] = ()
    unrecorded: str = ""


@dataclass(frozen=True)
class _Reach:
    """The hosts to recover, the rates, and what to say where campaign.yaml cannot be read."""

    hosts: Hosts
    cost: Cost
    note: str = ""


def recover(workspace: Workspace, accepted: Sequence[str] = ()) -> Recovered:
    """Puts every host back and closes the runs that nobody is running any more.

    `accepted` are paths, and ids of commands, that stay as they are now. Works from the hosts'
    journals: an unusable ledger or a broken campaign.yaml does not stop it. A second call finds
    nothing to do. Errors: CampaignError (USAGE where nothing is outstanding at an accepted path).
    """
    reach = _reach(workspace)
    started = time.time()
    with reach.hosts as hosts:
        for name in hosts.names():
            hosts[name]
        kept = _accept(workspace, hosts, accepted)
        restored = put_back(hosts)
    done = Recovered(restored, note=reach.note, accepted=kept)
    if not workspace.ledger.exists():
        return done
    try:
        with Recorder.open(workspace.ledger, create=False) as recorder:
            return replace(done, runs=_close(Books(recorder, reach.cost), restored, started))
    except CampaignError as error:
        return replace(done, unrecorded=str(error))


def _accept(workspace: Workspace, hosts: Hosts, accepted: Sequence[str]) -> tuple[str, ...]:
    """Lets go of each of `accepted`, on whichever host it is outstanding; all of them, or none."""
    left = dict(_outstanding(hosts))
    chosen = tuple(dict.fromkeys(_as_outstanding(name, left) for name in accepted))
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


def _as_outstanding(name: str, left: Collection[str]) -> str:
    """The one of `left` that `name` is, as it stands or as a path from here."""
    for one in (name, str(Path(name).absolute()), str(Path(name).resolve())):
        if one in left:
            return one
    there = f"outstanding are: {', '.join(left)}" if left else "nothing is, anywhere"
    raise CampaignError(Exit.USAGE, f"nothing is outstanding at {name}", there)


def _outstanding(hosts: Hosts) -> Iterator[tuple[str, str]]:
    """Each path and command id that is outstanding, with its host."""
    for host in hosts.names():
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


def _close(books: Books, restored: Restored, started: float) -> tuple[str, ...]:
    """Closes what is interrupted or dirty; the newest of them pays for the way back."""
    with Ledger.open(books.recorder.path) as ledger:
        left = [
            run
            for run in ledger.runs()
            if run.state == "dirty" or (run.status == "interrupted" and run.ended_at is None)
        ]
        boots = {run.id: len(ledger.boots(run.id)) for run in left}
    now = time.time()
    if left and (restored.paths or restored.cycles):
        newest = left[0]
        with books.recorder.transaction():
            boot = books.way_back(newest.batch, boots[newest.id], started)
            books.charge_way_back(boot, newest.id, restored, started, now)
    state = "dirty" if restored.dirty else "clean"
    for run in left:
        books.close_run(run.id, run.status, state, now, run.error or "")
    return tuple(run.id for run in left)
