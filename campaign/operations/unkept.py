"""What the ledger is told of kept runs: that they stay, or that they were put back after all."""

from collections.abc import Collection, Sequence

from campaign.engine.booking import Books
from campaign.engine.kept import Kept
from campaign.engine.putback import Restored
from campaign.ledger import records
from campaign.ledger.keeping import KEEP_RUN
from campaign.ledger.reads import Ledger
from campaign.ledger.records import Run, Step
from campaign.ledger.stack import Staying
from playbooks.agent import clock


def close_kept(books: Books, kept: Kept, restored: Restored, away: bool, started: float) -> None:
    """A kept run was put back, and pays for that; `away`: not on all of its hosts.

    Nothing where the ledger does not know it. Errors: CampaignError.
    """
    with Ledger.open(books.recorder.path) as ledger:
        run = next(iter(ledger.batch_runs(kept.run)), None)
    if run is not None:
        charge(books, run, restored, started)
        _close(books, run, "dirty" if restored.dirty or away else "clean")


def close_gone(books: Books, stack: Collection[Kept], answered: Collection[str]) -> tuple[Run, ...]:
    """The runs that were to stay and are on none of their hosts, all of which have `answered`.

    Somebody has put them back, or an agent alone what was outstanding. Errors: CampaignError.
    """
    with Ledger.open(books.recorder.path) as ledger:
        gone = [ledger.run(one.run) for one in ledger.staying() if _answered(one, answered)]
    there = {one.run for one in stack}
    found = tuple(run for run in gone if run.batch not in there)
    for run in found:
        _close(books, run, "clean")
    return found


def _answered(staying: Staying, answered: Collection[str]) -> bool:
    return all(host in answered for host, _ in staying.paths)


def _close(books: Books, run: Run, state: str) -> None:
    """Whether it is whole again; when it ended stays as it was."""
    now = clock.now()
    with books.recorder.transaction():
        books.close_run(run.id, run.status, state, run.ended_at or now, run.error or "", back=now)
        if state == "clean":
            books.recorder.update(records.KeptRun, run.id, put_back_at=now)


def charge(books: Books, run: Run, restored: Restored, started: float) -> None:
    """Charges a put-back to `run`, where it did anything."""
    if not (restored.paths or restored.cycles):
        return
    with Ledger.open(books.recorder.path) as ledger:
        position = len(ledger.boots(run.id))
    with books.recorder.transaction():
        boot = books.way_back(run.batch, position, started)
        books.charge_way_back(boot, run.id, restored, started, clock.now())


def note_staying(books: Books, run: Run, stack: Sequence[Kept]) -> bool:
    """Has the ledger know that a run whose process is gone is kept by the hosts, if it is."""
    kept = next((one for one in stack if one.run == run.batch), None)
    if kept is None:
        return False
    with Ledger.open(books.recorder.path) as ledger:
        boots, steps = ledger.boots(run.id), ledger.steps(run.id)
        known = ledger.kept(run.id) is not None
    step = Step(
        books.recorder.new_id(), run.id, boots[-1].id, len(steps) + 1, "keep what it changed",
        KEEP_RUN, kept.kept_at, kept.kept_at, "completed",
    )  # fmt: skip
    with books.recorder.transaction():
        if not known:
            books.recorder.add_all([records.KeptRun(run.id, kept.kept_at), step])
        at = run.ended_at or clock.now()
        books.close_run(run.id, run.status, "clean", at, run.error or "", kept=True)
    return True
