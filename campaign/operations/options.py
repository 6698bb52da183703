"""A restart that could be next, and what it would teach."""

from dataclasses import dataclass

from campaign.operations.budget import Price


@dataclass(frozen=True)
class Option:
    """A restart that could be next; `name` is what `campaign run` takes.

    `teaches` is the question it answers, `about` the suspect that a look into a mechanism is for;
    all its `trials` are driven. `bits` are expected, `worth`
    is bits a second with a decision counted in, and `decides` the chance of one. `chance` is the
    probability that the answer is yes, and `if_yes` and `if_no` what the counts make of that.
    `one_way`: a step of it cannot be taken back.
    """

    name: str
    purpose: str
    teaches: str
    toggles: tuple[str, ...]
    trials: int
    price: Price
    about: str = ""
    bits: float = 0.0
    worth: float = 0.0
    decides: float = 0.0
    chance: float = 0.0
    if_yes: float = 0.0
    if_no: float = 0.0
    one_way: bool = False
