"""How the program ends, and the one exception that a person gets to read."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of `campaign`, all of them."""

    COMPLETED = 0
    UNMET = 1
    USAGE = 2
    STEP_FAILED = 3
    UNREACHABLE = 4
    DIRTY = 5
    REFUSED = 6
    FAULT = 7
    HANGUP = 129
    INTERRUPTED = 130
    TERMINATED = 143


class CampaignError(Exception):
    """A failure that one line tells: what is wrong and where, then what to do about it.

    There is one class; `exit` says what kind of failure it is::

        Exception
        └── CampaignError
              USAGE         a wrong option, name or file: nothing was run
              STEP_FAILED   a step failed, and everything was put back
              UNREACHABLE   a host could not be reached, or refused us
              DIRTY         something could not be put back; `fix` says how to do it by hand
              REFUSED       budget, lock, confirmation, outstanding changes, unusable ledger
              FAULT         a fault of this program

    `what` and `fix` carry no full stop at the end; `fix` is empty where nothing can be advised.
    """

    def __init__(self, exit: Exit, what: str, fix: str = "") -> None:
        super().__init__(exit, what, fix)
        self.exit = exit
        self.what = what
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}; {self.fix}" if self.fix else self.what
