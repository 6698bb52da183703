"""recover: puts back what an interrupted run left, from the hosts' own journals."""

import time
from dataclasses import dataclass

from campaign.engine.booking import Books
from campaign.engine.putback import Restored, put_back
from campaign.engine.session import Hosts
from campaign.errors import CampaignError
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.operations.plan import open_hosts
from campaign.workspace import Workspace
from playbooks.problems import LoadError
from playbooks.system import Cost


@dataclass(frozen=True)
class Recovered:
    """What was put back, and the runs that were closed by it."""

    restored: Restored
    runs: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True)
class _Reach:
    """The hosts to recover, the rates, and what to say where campaign.yaml cannot be read."""

    hosts: Hosts
    cost: Cost
    note: str = ""


def recover(workspace: Workspace) -> Recovered:
    """Puts every host back and closes the runs that nobody is running any more.

    Works from the hosts' journals: an empty ledger or a broken campaign.yaml does not stop it.
    A second call finds nothing to do. Errors: CampaignError.
    """
    reach = _reach(workspace)
    started = time.time()
    with reach.hosts as hosts:
        for name in hosts.names():
            hosts[name]
        restored = put_back(hosts)
    if not workspace.ledger.exists():
        return Recovered(restored, (), reach.note)
    with Recorder.open(workspace.ledger, create=False) as recorder:
        runs = _close(Books(recorder, reach.cost), restored, started)
    return Recovered(restored, runs, reach.note)


def _reach(workspace: Workspace) -> _Reach:
    try:
        system = workspace.load_system()
        return _Reach(open_hosts(workspace, system, "recover"), system.cost)
    except LoadError as error:
        note = f"campaign.yaml is not valid ({error.problems[0]}); recovering this machine only"
    except CampaignError as error:
        note = f"{error}; recovering this machine only"
    return _Reach(Hosts(workspace, {"local": None}, "recover"), Cost(), note)


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
        books.way_back(newest.batch, newest.id, boots[newest.id], restored, started, now)
    state = "dirty" if restored.dirty else "clean"
    for run in left:
        books.close_run(run.id, run.status, state, now, run.error or "")
    return tuple(run.id for run in left)
