"""A restart that could be next, and what it would teach."""

from collections.abc import Sequence

from msgspec import Struct

from campaign.engine.budget import Price

NAMED = 4
"""Where more causes than this are removed together, some are only counted."""


class Option(Struct, frozen=True):
    """A restart that could be next; `name` is what `campaign run` takes.

    `teaches` is the question it answers, `about` the suspect that a look into a mechanism is for;
    all its `trials` are driven. Of a run with several `arms` that remove something, `toggles` and
    the figures are those of the most telling one, each with its trials. `bits` are expected,
    `worth` is bits a second with a decision counted in, and `decides` the chance of one. `chance`
    is the probability that the answer is yes, `if_yes` what that is once all trials passed, and
    `if_no` once as many failed as the baseline's rate brings. `one_way`: a step of it cannot be
    taken back.
    """

    name: str
    purpose: str
    teaches: str
    toggles: tuple[str, ...]
    trials: int
    price: Price
    about: str = ""
    arms: int = 1
    bits: float = 0.0
    worth: float = 0.0
    decides: float = 0.0
    chance: float = 0.0
    if_yes: float = 0.0
    if_no: float = 0.0
    one_way: bool = False


def listed(causes: Sequence[str]) -> str:
    """Causes as they are read: `a`, `a and b`, `a, b, c and 4 more`."""
    if len(causes) > NAMED:
        return f"{', '.join(causes[: NAMED - 1])} and {len(causes) - NAMED + 1} more"
    *before, last = causes
    return f"{', '.join(before)} and {last}" if before else last
