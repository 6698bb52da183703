"""Pauses between two boots, for as long as somebody asks for one in the ledger."""

from campaign.engine.boot import BootWalk
from campaign.engine.events import Note
from campaign.engine.session import Session
from campaign.ledger import records
from campaign.ledger.reads import Ledger

POLL_S = 0.2


def hold(session: Session, run: str, walk: BootWalk) -> None:
    """Where a pause is asked for: keeps the boot of `walk` up until it is called off.

    The time is the boot's: the system is occupied by it. Errors: Stopped, CampaignError.
    """
    with Ledger.open(session.recorder.path) as ledger:
        asked = ledger.pause(session.batch)
        if asked is None:
            return
        session.recorder.update(records.Request, asked.id, boot=walk.id, began_at=session.clock())
        session.emit(Note(f"paused, everything stays as it is; campaign runs resume {run} goes on"))
        try:
            while ledger.pause(session.batch) is not None:
                session.stop.wait(POLL_S)
        finally:
            _over(session, ledger)
            walk.close()


def _over(session: Session, ledger: Ledger) -> None:
    """Whoever called it off has noted when; a run that is asked to stop does so itself."""
    asked = ledger.pause(session.batch)
    if asked is not None:
        session.recorder.update(records.Request, asked.id, ended_at=session.clock())
