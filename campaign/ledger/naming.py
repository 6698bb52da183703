"""Which run is meant by what a person types, and which boot of a run is which."""

from collections.abc import Iterable, Sequence

from campaign.errors import CampaignError, Exit
from campaign.ledger import records

_NAMED_AT_MOST = 5


def readable(word: str, runs: Iterable[tuple[str, str]]) -> str:
    """The id of the run to look at, of `runs`: the id and the playbook of each, the oldest first.

    It has `word` as its id, is the newest of the playbook of that name, is the only one whose id
    begins so, or the only one whose id has it anywhere. Raises CampaignError, USAGE.
    """
    known = dict(runs)
    newest = [one for one, playbook in known.items() if playbook == word][-1:]
    return word if word in known else (newest or [_the_one(word, [*known], anywhere=True)])[0]


def changeable(word: str, ids: Sequence[str], *, over: bool = False) -> str:
    """The id of the run that something is to be done to: it is `word`, or alone begins so.

    `ids` are in order of their start. Raises CampaignError: USAGE; REFUSED for several that are
    all `over`, where one under way is wanted.
    """
    if word in ids:
        return word
    if over and word and sum(one.startswith(word) for one in ids) > 1:
        what = f"no run whose id begins with {word!r} is under way"
        raise CampaignError(Exit.REFUSED, what, "campaign status shows those that are")
    return _the_one(word, ids, anywhere=False)


def boot_name(boots: Iterable[records.Boot], id: str) -> str:
    """Which of a run's `boots` it is: "treatment 2" is the second one of that arm.

    Empty for the only one that was measured, and for the way back.
    """
    measured = [one for one in boots if one.run is not None]
    arm = next((one.arm for one in measured if one.id == id), None)
    if arm is None or len(measured) < 2:
        return ""
    alike = [one.id for one in measured if one.arm == arm]
    number = str(alike.index(id) + 1) if len(alike) > 1 else ""
    return " ".join(word for word in (arm, number) if word)


def _the_one(word: str, ids: Sequence[str], anywhere: bool) -> str:
    begun = [one for one in ids if one.startswith(word)]
    found = begun or [one for one in ids if anywhere and word in one]
    if not word or not found:
        raise CampaignError(Exit.USAGE, f"no run matches {word!r}", _suggestion(word, ids))
    if len(found) > 1:
        raise CampaignError(
            Exit.USAGE, f"{word!r} matches {len(found)} runs: {_named(found)}", "say which"
        )
    return found[0]


def _suggestion(word: str, ids: Sequence[str]) -> str:
    """The runs whose ids have `word` in them, or are nearly it."""
    from difflib import get_close_matches

    inside = [one for one in ids if word and word in one][-3:]
    close = inside or get_close_matches(word, ids, n=3)
    return f"did you mean {' or '.join(close)}?" if close else "`campaign runs list` shows them"


def _named(ids: Sequence[str]) -> str:
    """The newest of `ids`, which are in order of their start."""
    newest = list(reversed(ids))
    more = ["..."] if len(newest) > _NAMED_AT_MOST else []
    return ", ".join(newest[:_NAMED_AT_MOST] + more)
