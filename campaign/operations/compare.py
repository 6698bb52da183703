"""runs compare: two runs side by side."""

from collections.abc import Mapping

from msgspec import Struct

from campaign.ledger.conditions import stored
from campaign.operations.runs import Listed, page, shown
from campaign.workspace import Workspace
from hypotheses.observation import Counts
from hypotheses.rates import Interval, fisher, newcombe


class Difference(Struct, frozen=True):
    """The first run's rate minus the second's, with its interval and Fisher's exact p.

    `interval` is by Newcombe, -1 to 1 in shares; None of both where a side has no trials.
    """

    rate: float
    interval: Interval
    p: float


class Compared(Struct, frozen=True):
    """Two runs, the conditions that differ (name: first, second), and the difference of rates.

    `difference` is None where a side has no trials that count.
    """

    first: Listed
    second: Listed
    conditions: Mapping[str, tuple[str, str]]
    difference: Difference | None


def compare(workspace: Workspace, first: str, second: str) -> Compared:
    """Compares the runs that two fragments of ids name. Errors: CampaignError (USAGE)."""
    one, other = shown(workspace, first), shown(workspace, second)
    ours, theirs = (
        _conditions(tuple(seen.conditions for seen in each.observations)) for each in (one, other)
    )
    differing = {
        name: (ours.get(name, "-"), theirs.get(name, "-"))
        for name in sorted(ours.keys() | theirs.keys())
        if ours.get(name) != theirs.get(name)
    }
    counts = one.listed.counts, other.listed.counts
    return Compared(one.listed, other.listed, differing, _difference(*counts))


def compare_places(workspace: Workspace, first: int, second: int) -> Compared:
    """As `compare`, of the runs at two places in the ledger."""
    found = page(workspace, (first, second))
    return compare(workspace, found[first].run.id, found[second].run.id)


def _conditions(texts: tuple[str, ...]) -> dict[str, str]:
    """The conditions of all observations of a run; where they differ, each value."""
    found: dict[str, dict[str, None]] = {}
    for text in texts:
        for name, value in stored(text).items():
            found.setdefault(name, {})[value] = None
    return {name: ", ".join(values) for name, values in found.items()}


def _difference(first: Counts, second: Counts) -> Difference | None:
    if not first.n or not second.n:
        return None
    four = first.fail, first.n, second.fail, second.n
    return Difference(first.fail / first.n - second.fail / second.n, newcombe(*four), fisher(*four))
