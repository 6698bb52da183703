"""runs show --session: one session of a run, read back from its transcript."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.kept_files import TRANSCRIPTS
from campaign.ledger.reads import Ledger
from campaign.workspace import Workspace

if TYPE_CHECKING:
    from playbooks.sessions.transcripts import Transcript


class SessionShown(Struct, frozen=True):
    """A session, and the arm of the run that it was driven in."""

    run: str
    arm: str
    transcript: "Transcript"


def session(workspace: Workspace, fragment: str, number: int) -> tuple[SessionShown, ...]:
    """Session `number` of the run that `fragment` names: one of each of its reproductions.

    Of a run under way, too. Errors: CampaignError (USAGE: no such run, or no such session).
    """
    from playbooks.sessions.transcripts import find

    with Ledger.open(workspace.ledger) as ledger:
        run = ledger.run(fragment)
        files = tuple(_files(workspace, ledger.observations(run.id)))
    if not files:
        what = f"run {run.id} has no transcripts: they are kept of http_sessions, until pruned"
        raise CampaignError(Exit.USAGE, what)
    found = ((one.arm, find(path, number)) for one, path in files)
    shown = tuple(SessionShown(run.id, arm, one) for arm, one in found if one is not None)
    if not shown:
        raise CampaignError(Exit.USAGE, f"run {run.id} has no session {number}")
    return shown


def _files(
    workspace: Workspace, observations: tuple[records.Observation, ...]
) -> Iterator[tuple[records.Observation, Path]]:
    """The transcripts of each observation that has any, ended or under way."""
    for one in observations:
        path = (workspace.artifacts / one.artifact).with_name(f"{one.step}-{TRANSCRIPTS}")
        if path.is_file():
            yield one, path
