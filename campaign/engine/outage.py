"""When a system was down: spans of time, and what they come to."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce

from msgspec import Struct

Span = tuple[float, float]
"""From when until when, in seconds since the epoch."""


class Capacity(Struct, frozen=True):
    """The seconds that replicas were down, summed over them, and how many there are in all."""

    replicas: int
    replica_s: float

    @property
    def lost_s(self) -> float:
        """As seconds of all of them: half of the replicas down for 10 s are 5 s."""
        return self.replica_s / self.replicas


def length(spans: Iterable[Span]) -> float:
    """How long it was down, where `spans` may overlap."""
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(end - max(start, reached), 0.0)
        reached = max(reached, end)
    return total


def common(spans: Sequence[Span]) -> tuple[Span, ...]:
    """The span in which all of them were down, where there is one."""
    start, end = reduce(lambda one, two: (max(one[0], two[0]), min(one[1], two[1])), spans)
    return ((start, end),) if end > start else ()


def of_service(replicas: Sequence[str], down: Mapping[str, Span]) -> tuple[Span, ...]:
    """When none of the `replicas` was up; `down` has those that were down for a while."""
    if not all(name in down for name in replicas):
        return ()
    return common([down[name] for name in replicas])
