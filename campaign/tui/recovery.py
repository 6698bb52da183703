"""Putting back what runs have left, and how that ended."""

from msgspec import Struct

from campaign.cli.recovered import recovered_text
from campaign.errors import CampaignError, Exit
from campaign.operations.recover import recover
from campaign.workspace import Workspace


class Recovery(Struct, frozen=True):
    """How it ended: the exit code, what a person is told, and what is left to do."""

    exit: Exit
    text: str
    remaining: tuple[str, ...] = ()


def recovery(workspace: Workspace, run: str = "") -> Recovery:
    """Recovers, with what `run` keeps where one is named.

    Raises nothing: whoever waits for the end has to learn of it.
    """
    try:
        done = recover(workspace, run=run)
    except CampaignError as error:
        return Recovery(error.exit, str(error))
    except Exception as error:  # noqa: BLE001 - in a thread of its own nobody else would tell
        why = f"a fault of campaign itself: {type(error).__name__}: {error}"
        return Recovery(Exit.FAULT, why)
    return Recovery(done.exit, recovered_text(done), done.remaining)
