"""Keys of a comparison that did not simply match, with their lines on both sides."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from campaign.ledger import records
from hypotheses.comparison import KeyCounts, State


def kept_key(
    key: records.ComparisonKey, context: records.ComparisonContext | None
) -> Iterator[str]:
    """A key that a run kept; of one without context (an earlier ledger's) the lines alone."""
    if context is None:
        yield heading(key.state, key.key)
        yield from (f"    {line}" for line in (key.left_line, key.right_line) if line)
        return
    yield heading(key.state, key.key, context.differs.splitlines())
    if context.left_number is not None:
        before, after = context.left_before.splitlines(), context.left_after.splitlines()
        yield from excerpt("left", context.left_number, before, key.left_line, after)
    if context.right_number is not None:
        before, after = context.right_before.splitlines(), context.right_after.splitlines()
        yield from excerpt("right", context.right_number, before, key.right_line, after)


def heading(state: str, key: str, differs: Sequence[str] = ()) -> str:
    """What is wrong with a key, in one line."""
    verb = "differs" if len(differs) == 1 else "differ"
    return f"  {state} {key}" + (f" ({', '.join(differs)} {verb})" if differs else "")


def excerpt(
    side: str, number: int, before: Sequence[str], line: str, after: Sequence[str]
) -> Iterator[str]:
    """A line of one side, marked, among those around it."""
    yield f"    {side}, line {number}:"
    yield from (f"      | {one}" for one in before)
    yield f"      > {line}"
    yield from (f"      | {one}" for one in after)


def more(counts: KeyCounts | records.Comparison, told: Iterable[str]) -> Iterator[str]:
    """How many keys were not told, by what was wrong with them; `told` has the states of those
    that were.
    """
    seen = Counter(told)
    for state, number in (
        (State.MISMATCHED, counts.mismatched),
        (State.DUPLICATE, counts.duplicate),
        (State.LEFT_ONLY, counts.left_only),
        (State.RIGHT_ONLY, counts.right_only),
    ):
        if number > seen[state]:
            yield f"  and {number - seen[state]} more {state}"
