"""A run that ends with the process that started it: for programs that start one."""

import os
import signal
from contextlib import suppress

from campaign.errors import CampaignError, Exit

PARENT = "CAMPAIGN_PARENT"
"""The environment variable by which a program says that its run is to end with it: its pid."""

_PR_SET_PDEATHSIG = 1


def follow_parent() -> None:
    """Where PARENT is set: SIGHUP comes when that process is gone, however it went.

    The variable is taken out, so that nothing which is started from here inherits it.
    Errors: CampaignError (HANGUP) where it is gone already.
    """
    parent = os.environ.pop(PARENT, "")
    if not parent:
        return
    import ctypes

    with suppress(AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGHUP)
    if str(os.getppid()) != parent:
        raise CampaignError(Exit.HANGUP, "who started this run is gone; nothing was changed")
