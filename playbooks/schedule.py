"""The order in which a run goes through its arms, so that drift meets all of them alike."""

import random
from collections.abc import Iterator, Sequence
from enum import StrEnum


class Schedule(StrEnum):
    """How the arms A and B follow each other in a block: A B, A B B A, or as a seed draws them."""

    ALTERNATE = "alternate"
    ABBA = "abba"
    RANDOMISED = "randomised"


def order(
    arms: Sequence[str], schedule: Schedule, blocks: int, seed: int | None
) -> Iterator[tuple[str, ...]]:
    """The arms of each of `blocks` blocks, in order.

    A block has each arm once; of an ABBA schedule twice, the second half in reverse. The same
    seed draws the same order; `seed` None draws that of 0.
    """
    draw = random.Random(seed or 0)
    for _ in range(blocks):
        match schedule:
            case Schedule.ALTERNATE:
                yield tuple(arms)
            case Schedule.ABBA:
                yield (*arms, *reversed(arms))
            case Schedule.RANDOMISED:
                yield tuple(draw.sample(arms, len(arms)))
