"""The filter line of History: what may be typed there, and the command that lists the same."""

from collections.abc import Sequence

from campaign.cli.runs import STATUSES
from campaign.ledger.filtering import RunFilter
from hypotheses.verdict import Word

HINT = "words to search for; or  playbook:NAME  hypothesis:SLUG  status:WORD  verdict:WORD"
_CHOICES = {"status": STATUSES, "verdict": tuple(Word)}
_FIELDS = ("playbook", "hypothesis", "status", "verdict")


def parse(text: str) -> RunFilter:
    """The filter that `text` means. Raises ValueError with what is wrong in one line."""
    given: dict[str, str] = {}
    words: list[str] = []
    for word in text.split():
        name, colon, value = word.partition(":")
        if not colon or name not in _FIELDS:
            words.append(word)
            continue
        choices = _CHOICES.get(name, ())
        if choices and value not in choices:
            raise ValueError(f"{name}: is one of {', '.join(choices)}")
        given[name] = value
    return RunFilter(**given, text=" ".join(words))


def arguments(wanted: RunFilter) -> Sequence[str]:
    """What follows `campaign` in the command that lists the same runs."""
    given = [(name, getattr(wanted, name)) for name in (*_FIELDS, "text")]
    return ["runs", "list", *(part for name, value in given if value
                              for part in (f"--{name}", value))]  # fmt: skip
