"""Lines of a log by their numbers, with what stands around them."""

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass

from playbooks.join.blocks import Source, numbered_blocks, texts

AROUND = 2
"""Lines that are kept before and behind one."""
SHOWN = 500
"""Characters of a line that are kept."""


@dataclass(frozen=True)
class Excerpt:
    """A line with its number, from 1, and those around it."""

    number: int
    line: str
    before: tuple[str, ...]
    after: tuple[str, ...]


def excerpts(source: Source, numbers: Iterable[int], field: str | None) -> dict[int, Excerpt]:
    """The lines of these numbers, by number; `field` is as for `blocks.texts`."""
    wanted = frozenset(numbers)
    lines = _lines(source, wanted, field) if wanted else {}
    return {
        number: Excerpt(
            number,
            lines[number],
            tuple(lines[one] for one in range(number - AROUND, number) if one in lines),
            tuple(lines[one] for one in range(number + 1, number + AROUND + 1) if one in lines),
        )
        for number in wanted
    }


def _lines(source: Source, wanted: frozenset[int], field: str | None) -> dict[int, str]:
    numbers = sorted({one + by for one in wanted for by in range(-AROUND, AROUND + 1)})
    found: dict[int, str] = {}
    with source() as file:
        for first, end, raw in numbered_blocks(file):
            within = numbers[bisect_left(numbers, first) : bisect_left(numbers, end)]
            lines = raw.split(b"\n") if within else []
            for number in within:
                found[number] = (texts(lines[number - first], field)[0] or "")[:SHOWN]
            if end > numbers[-1]:
                break
    return found
