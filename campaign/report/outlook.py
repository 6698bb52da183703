"""What could be run next and what is believed now, as whoever asks for the report knows it.

The report itself knows the ledger only: playbooks, and what they would cost, are told to it.
"""

from collections.abc import Mapping

from msgspec import Struct, field


class Proposal(Struct, frozen=True):
    """A restart that could be next; `name` is what `campaign run` takes.

    `bits` are expected of it, 0 for a control; seconds and money are with the way back.
    """

    name: str
    removes: tuple[str, ...]
    trials: int
    seconds: float
    money: float
    guessed: bool
    bits: float


class Outlook(Struct, frozen=True):
    """What is believed after `restarts`, and the best proposals, the best one first.

    `parts` is each hypothesis's probability to be part of the cause, `none` that none of them is;
    `epochs` are the runs with which the baseline's rate moved. `notes` say what stands out, or
    why there is nothing to propose.
    """

    restarts: int = 0
    parts: Mapping[str, float] = field(default_factory=dict)
    none: float | None = None
    epochs: tuple[str, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = ()
