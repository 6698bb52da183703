"""The whole of a comparison: both logs read, joined, and the odd keys with their lines."""

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from msgspec import Struct

from hypotheses.comparison import Comparison, KeyCounts, State
from playbooks.join.blocks import Source
from playbooks.join.excerpts import Excerpt, Places, excerpts
from playbooks.join.pairing import Paired, pair
from playbooks.join.rows import first_part, joined_name, rows, split_name
from playbooks.join.shelf import HELD, PARTS, Shelf
from playbooks.playbook import RowSpec

KEPT = 200
"""As many keys of each state are kept with their lines; all are counted."""


MATCHED = "matched"


class Side(Struct, frozen=True):
    """A log, and how its rows are read."""

    source: Source
    spec: RowSpec


class Odd(Struct, frozen=True):
    """A key that did not simply match, with its line on each side; None where it has none.

    `differs` names the values that differ, where there are several to a key.
    """

    key: str
    state: State
    differs: tuple[str, ...]
    left: Excerpt | None
    right: Excerpt | None


class Joined(Struct, frozen=True):
    """The comparison; the odd keys that are kept, at most KEPT of each state, mismatches first.

    `keys_of` gives for a trial's key the keys of the comparison that it stands for. `cut_off` are
    lines of JSON without their end: what they said of their key is lost.
    """

    comparison: Comparison
    odd: tuple[Odd, ...]
    keys_of: Mapping[str, tuple[str, ...]]
    cut_off: int = 0


def join(
    left: Side,
    right: Side,
    known_bad: Side | None = None,
    *,
    in_order: bool = False,
    trials: Collection[str] = (),
    only_trials: bool = False,
    held: int = HELD,
) -> Joined:
    """Sets the rows of `left` against those of `right`; see `pairing.pair`.

    `known_bad` finds the keys that a detector run corrupted. `trials` are the keys of trials: one
    stands for the key that it is, or for all whose first part it is; with `only_trials` others
    are not looked at. Beyond `held` bytes of rows a side goes to disk, so that memory does not
    grow with the logs. Errors: OSError, and what the sources raise on reading.
    """
    bad = frozenset(_keys(known_bad)) if known_bad else frozenset[str]()
    asked = _Asked(left.spec, frozenset(trials), bad)
    with TemporaryDirectory(prefix="campaign-compare-") as folder:
        shelves = tuple(Shelf(Path(folder), name, held) for name in ("left", "right"))
        both = Places(), Places()
        for side, shelf, places in zip((left, right), shelves, both, strict=True):
            for found in rows(side.source, side.spec, places):
                shelf.add(asked.of_trials(found) if only_trials else found)
        tally = _Tally(asked)
        for ours, theirs in _parts(*shelves):
            tally.add(pair(ours, theirs, in_order=in_order))
    odd = _odd(tally.kept(), (left, right), both)
    return Joined(tally.comparison(bad), odd, tally.keys_of, sum(one.cut_off for one in both))


def _keys(side: Side) -> Iterator[str]:
    for found in rows(side.source, side.spec):
        yield from found["key"].unique()


def _parts(left: Shelf, right: Shelf) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    if not left.is_parted and not right.is_parted:
        yield left.whole(), right.whole()
        return
    left.part_all()
    right.part_all()
    for number in range(PARTS):
        yield left.part(number), right.part(number)


class _Asked:
    """The keys that somebody asks about by name."""

    def __init__(self, spec: RowSpec, trials: frozenset[str], bad: frozenset[str]) -> None:
        self._head = first_part(spec)
        self._compound = len(spec.key) > 1
        heads = {joined_name([one, ""])[:-1]: one for one in trials} if self._compound else {}
        self._heads = heads
        self._trials = pl.Series(sorted(trials | heads.keys()), dtype=pl.String).implode()
        self._all = pl.Series(sorted(trials | heads.keys() | bad), dtype=pl.String).implode()
        self._any = bool(trials or bad)

    def of_trials(self, found: pl.DataFrame) -> pl.DataFrame:
        """The rows whose keys are a trial's."""
        return found.filter(self._within(self._trials))

    def named(self, found: pl.DataFrame) -> pl.DataFrame:
        """The rows whose keys are asked about."""
        return found.filter(self._within(self._all)) if self._any else found.clear()

    def first(self, found: pl.DataFrame) -> pl.DataFrame:
        """These rows in the order in which they are kept: those asked about first, then by line."""
        lines = pl.min_horizontal("line", "line_right")
        order = [~self._within(self._all), lines] if self._any else [lines]
        return found.sort(order, maintain_order=True)

    def trial_keys(self, keys: Collection[str]) -> Iterator[tuple[str, str]]:
        """Each key with the trial's key that stands for it, where keys have several parts."""
        if self._compound:
            named = pl.DataFrame({"key": list(keys)}, schema={"key": pl.String})
            for key, head in named.with_columns(self._head.alias("head")).iter_rows():
                if head in self._heads:
                    yield self._heads[head], key

    def _within(self, wanted: pl.Series) -> pl.Expr:
        within = pl.col("key").is_in(wanted)
        return within | self._head.is_in(wanted) if self._compound else within


class _Tally:
    """The keys found so far, counted, and by name where they are asked about or kept."""

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked
        self._counts: dict[str, int] = {}
        self._named: dict[str, set[str]] = {}
        self._kept: dict[State, pl.DataFrame] = {}
        self.keys_of: dict[str, tuple[str, ...]] = {}

    def add(self, found: Paired) -> None:
        matched = found.matched.to_frame()
        self._take(MATCHED, matched.height, self._asked.named(matched)["key"])
        for state in State:
            rows = found.others.filter(pl.col("state") == state.value)
            if rows.height:
                self._take(state, rows.height, self._asked.named(rows)["key"])
                several = [self._kept[state], rows] if state in self._kept else [rows]
                self._kept[state] = self._asked.first(pl.concat(several)).head(KEPT)

    def _take(self, state: str, count: int, named: pl.Series) -> None:
        self._counts[state] = self._counts.get(state, 0) + count
        self._named.setdefault(state, set()).update(named)
        for trial, key in self._asked.trial_keys(named):
            self.keys_of[trial] = (*self.keys_of.get(trial, ()), key)

    def kept(self) -> pl.DataFrame:
        return pl.concat([self._kept[one] for one in State if one in self._kept] or [_NO_OTHERS])

    def comparison(self, bad: frozenset[str]) -> Comparison:
        for state, kept in self._kept.items():
            self._named[state].update(kept["key"])
        matched, mismatched, duplicate, left_only, right_only = (
            frozenset(self._named.get(state, ())) for state in (MATCHED, *State)
        )
        return Comparison(
            matched=matched,
            mismatched=mismatched,
            left_only=left_only,
            right_only=right_only,
            duplicate=duplicate,
            known_bad=bad,
            unnamed=KeyCounts(
                self._counts.get(MATCHED, 0) - len(matched),
                self._counts.get(State.MISMATCHED, 0) - len(mismatched),
                self._counts.get(State.LEFT_ONLY, 0) - len(left_only),
                self._counts.get(State.RIGHT_ONLY, 0) - len(right_only),
                self._counts.get(State.DUPLICATE, 0) - len(duplicate),
            ),
        )


_NO_OTHERS = pl.DataFrame(
    schema={
        "key": pl.String,
        "state": pl.String,
        "value": pl.String,
        "value_right": pl.String,
        "line": pl.UInt32,
        "line_right": pl.UInt32,
    }
)


def _odd(
    kept: pl.DataFrame, sides: tuple[Side, Side], places: tuple[Places, Places]
) -> tuple[Odd, ...]:
    ours, theirs = (
        excerpts(side.source, place, kept[column].drop_nulls(), side.spec.field)
        for side, place, column in zip(sides, places, ("line", "line_right"), strict=True)
    )
    return tuple(
        Odd(
            key,
            State(state),
            _differs(sides[0].spec, value, other) if state == State.MISMATCHED else (),
            ours.get(line),
            theirs.get(line_right),
        )
        for key, state, value, other, line, line_right in kept.iter_rows()
    )


def _differs(spec: RowSpec, value: str, other: str) -> tuple[str, ...]:
    """The names of the values that differ; none where there is but one."""
    count = len(spec.value)
    if count == 1:
        return ()
    pairs = zip(spec.value, split_name(value, count), split_name(other, count), strict=True)
    return tuple(name for name, ours, theirs in pairs if ours != theirs)
