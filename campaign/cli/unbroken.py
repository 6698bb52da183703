"""What is not to be left half done: Ctrl-C, TERM and HUP are refused once."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from campaign.cli.text import tell
from campaign.engine.stop import Abandoned, Stop, handled
from campaign.engine.watch import Watch
from campaign.errors import CampaignError, Exit


@contextmanager
def unbroken(doing: str, left: Exit, fix: str) -> Iterator[Watch]:
    """Goes on at the first request to stop, and says what is under way; gives up at the second.

    `doing` is under way until the watch that this gives is told something else; it is shown on a
    terminal. Errors: CampaignError (`left`, with `fix`) where it was given up.
    """
    stop = Stop()
    stop.say(doing)
    stop.refuse = lambda: tell(f"not stopped while {stop.doing}; once more leaves it half done")
    try:
        with handled(stop), stop.putting_back():
            yield Watch(lambda what: _say(stop, what))
    except Abandoned:
        raise CampaignError(left, f"abandoned while {stop.doing}", fix) from None


def _say(stop: Stop, what: str) -> None:
    stop.say(what)
    if sys.stderr is not None and sys.stderr.isatty():
        tell(f"{what} ...")
