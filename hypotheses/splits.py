"""Whether pooled counts hide what a trial's attribute tells apart: short 0/19, long 6/11."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import isfinite

from msgspec import Struct

from hypotheses.observation import Counts, Result, Trial
from hypotheses.rates import fisher, p_text, rate_text, separated

MOST_VALUES = 12
"""An attribute of more values than this identifies trials rather than telling kinds apart."""


class Split(Struct, frozen=True):
    """Trials told apart by one attribute, whose counts are separated.

    `first` are those that `name` describes ("length long", "input_len over 512"), `second` all
    others. `p` is Fisher's, times the number of splits that were looked at (Bonferroni 1936).
    """

    name: str
    first: Counts
    second: Counts
    p: float
    looks: int

    def __str__(self) -> str:
        looks = "1 split" if self.looks == 1 else f"{self.looks} splits"
        return (
            f"{self.name}: {rate_text(self.first)}; all others: {rate_text(self.second)}; "
            f"separated (Fisher {p_text(self.p)}, corrected for {looks} looked at)"
        )


def splits(trials: Iterable[Trial]) -> tuple[Split, ...]:
    """As `splits_of`, for trials. Censored ones count neither way."""
    return splits_of(_tables(trials))


def splits_of(tables: Mapping[str, Mapping[str, Counts]]) -> tuple[Split, ...]:
    """The splits that are separated, the clearest first; `tables` has counts by value by attribute.

    Two values are one split, more of them each against all others; many numbers are split once,
    at their median, which no outcome has a part in. p has to stay under .05 when it is corrected
    for all splits looked at.
    """
    looked = [look for name, table in tables.items() for look in _looks(name, table)]
    found = []
    for name, first, second in looked:
        four = (first.fail, first.n, second.fail, second.n)
        p = min(1.0, fisher(*four) * len(looked))
        if p < 0.05 and separated(*four):
            found.append(Split(name, first, second, p, len(looked)))
    return tuple(sorted(found, key=lambda split: split.p))


_Look = tuple[str, Counts, Counts]


def _tables(trials: Iterable[Trial]) -> dict[str, dict[str, Counts]]:
    tallies: dict[str, dict[str, Counter[Result]]] = {}
    for trial in trials:
        for name, value in trial.attributes:
            tallies.setdefault(name, {}).setdefault(value, Counter())[trial.result] += 1
    return {
        name: {value: Counts(one[Result.FAIL], one[Result.PASS]) for value, one in table.items()}
        for name, table in tallies.items()
    }


def _looks(name: str, table: Mapping[str, Counts]) -> Iterator[_Look]:
    table = {value: counts for value, counts in table.items() if counts.n}
    whole = sum(table.values(), Counts())
    if len(table) == 2:
        worse = max(table, key=lambda value: _share(table[value]))
        yield f"{name} {worse}", table[worse], _without(whole, table[worse])
    elif len(table) > 2 and (numbers := _numbers(table)):
        middle = _median(table, numbers)
        above = sum((table[value] for value in table if numbers[value] > middle), Counts())
        yield f"{name} over {middle:g}", above, _without(whole, above)
    elif 2 < len(table) <= MOST_VALUES:
        for value, counts in table.items():
            yield f"{name} {value}", counts, _without(whole, counts)


def _numbers(table: Mapping[str, Counts]) -> dict[str, float]:
    """The values as numbers; empty where one is none."""
    try:
        numbers = {value: float(value) for value in table}
    except ValueError:
        return {}
    return numbers if all(map(isfinite, numbers.values())) else {}


def _median(table: Mapping[str, Counts], numbers: Mapping[str, float]) -> float:
    """The middle trial's number, the lower of two."""
    each = sorted(numbers[value] for value, one in table.items() for _ in range(one.n))
    return each[(len(each) - 1) // 2]


def _without(whole: Counts, part: Counts) -> Counts:
    return Counts(whole.fail - part.fail, whole.passed - part.passed)


def _share(counts: Counts) -> float:
    return counts.fail / counts.n if counts.n else 0.0
