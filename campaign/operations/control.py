"""runs pause, resume, abort: what can be asked of a run under way, whoever started it."""

import os
import signal
import time
from contextlib import suppress

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.owner import Owner, is_alive
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.workspace import Workspace


def pause(workspace: Workspace, fragment: str) -> records.Run:
    """Asks a run to stay as it is once the boot under way has been measured.

    Errors: CampaignError (USAGE for no such run; REFUSED where it does not run, puts back
    already, or was asked before).
    """
    with Ledger.open(workspace.ledger) as ledger:
        run = _under_way(ledger, fragment)
        _refuse_putting_back(ledger, run)
        if ledger.pause(run.batch) is not None:
            raise CampaignError(
                Exit.REFUSED,
                f"{run.id} was asked to pause before",
                f"campaign runs resume {run.id} calls it off",
            )
    _record(workspace, run, "pause")
    return run


def resume(workspace: Workspace, fragment: str) -> records.Run:
    """Calls a pause off: the run goes on. Errors: as `pause`, REFUSED where none is asked for."""
    with Ledger.open(workspace.ledger) as ledger:
        run = _under_way(ledger, fragment)
        asked = ledger.pause(run.batch)
    if asked is None:
        raise CampaignError(
            Exit.REFUSED, f"{run.id} is not paused", f"campaign runs pause {run.id} asks for it"
        )
    with Recorder.open(workspace.ledger, create=False) as recorder:
        recorder.update(records.Request, asked.id, ended_at=time.time())
    return run


def abort(workspace: Workspace, fragment: str) -> records.Run:
    """Asks the process of a run to stop and to put everything back; once, and no more.

    Errors: as `pause`; also REFUSED where the process is another user's.
    """
    with Ledger.open(workspace.ledger) as ledger:
        run = _under_way(ledger, fragment)
        _refuse_putting_back(ledger, run)
        if any(one.kind == "abort" for one in ledger.requests(run.batch)):
            raise CampaignError(
                Exit.REFUSED, f"{run.id} was asked to stop before; it ends what it is doing first"
            )
    _interrupt(run)
    with suppress(CampaignError):  # it stops all the same
        _record(workspace, run, "abort")
    return run


def _under_way(ledger: Ledger, fragment: str) -> records.Run:
    run = ledger.run_to_change(fragment, under_way=True)
    if run.status == "interrupted" and run.ended_at is None:
        raise CampaignError(
            Exit.REFUSED,
            f"{run.id}: its process is gone",
            "campaign recover puts back what it left",
        )
    if run.status != "running":
        raise CampaignError(Exit.REFUSED, f"{run.id} is over: {run.status}")
    return run


def _refuse_putting_back(ledger: Ledger, run: records.Run) -> None:
    """Refuses with what remains to be done."""
    if not putting_back(ledger.batch_boots(run.batch)):
        return
    doing = [step.name for step in ledger.steps(run.id) if step.ended_at is None]
    under_way = f": {', '.join(doing)}" if doing else ""
    raise CampaignError(
        Exit.REFUSED, f"{run.id} is putting back already{under_way}", "it ends by itself"
    )


def putting_back(boots: tuple[records.Boot, ...]) -> bool:
    """Whether the boots of a batch have come to the way back to the base."""
    return any(boot.run is None for boot in boots)


def _record(workspace: Workspace, run: records.Run, kind: str) -> None:
    with Recorder.open(workspace.ledger, create=False) as recorder:
        recorder.add(records.Request(recorder.new_id(), run.batch, kind, time.time()))


def _interrupt(run: records.Run) -> None:
    """Sends SIGINT to the run's own process: not to one that was given its pid since."""
    owner = Owner(run.owner_pid, run.owner_start, run.owner_boot)
    try:
        process = os.pidfd_open(owner.pid)
    except ProcessLookupError:
        raise CampaignError(Exit.REFUSED, f"{run.id}: its process is gone") from None
    try:
        if is_alive(owner):
            signal.pidfd_send_signal(process, signal.SIGINT)
    except PermissionError as error:
        raise CampaignError(
            Exit.REFUSED, f"{run.id}: process {owner.pid} is another user's", "ask them to stop it"
        ) from error
    finally:
        os.close(process)
