"""One side's rows against the other's, all of a key in memory at once."""

import polars as pl
from msgspec import Struct

from hypotheses.comparison import State


class Paired(Struct, frozen=True):
    """The keys that matched, and the others.

    `others` has a row a key: `key`, `state`, and of each side `value` and `line`, the right's with
    `_right` behind; of a mismatch of keys that repeat these are the first that differ.
    """

    matched: pl.Series
    others: pl.DataFrame


def pair(left: pl.DataFrame, right: pl.DataFrame, *, in_order: bool) -> Paired:
    """Sets the rows of both sides against each other, by their keys.

    A key that a side has more than once is a duplicate: which of its rows belongs to which is not
    known. With `in_order` the nth of it on the left belongs to the nth on the right, where both
    sides have it as often; where they have not, lines are missing, and it is a duplicate, too.
    """
    left, right = (side.with_columns(pl.col("key").hash().alias("hash")) for side in (left, right))
    odd = pl.concat([_repeated(left), _repeated(right)]).unique()
    once = _once(left, right, odd)
    collided = once.filter(pl.col("key") != pl.col("key_right"))
    if collided.height:  # two keys with one hash: by the keys themselves, then
        odd = pl.concat([odd, collided["hash"]]).unique()
        once = _once(left, right, odd)
    matched = once.filter(pl.col("value") == pl.col("value_right"))["key"]
    parts = [
        _stated(once.filter(pl.col("value") != pl.col("value_right")), State.MISMATCHED),
        *_one_sided(left, right, odd, once.height),
    ]
    if not odd.is_empty():
        again = _by_key(_only(left, odd), _only(right, odd), in_order)
        matched = pl.concat([matched, again.matched])
        parts.append(again.others)
    return Paired(matched, pl.concat(parts))


_OTHERS = ("key", "state", "value", "value_right", "line", "line_right")


def _repeated(side: pl.DataFrame) -> pl.Series:
    if side["hash"].n_unique() == side.height:
        return pl.Series("hash", [], dtype=pl.UInt64)
    return side.filter(pl.col("hash").is_duplicated())["hash"].unique()


def _only(side: pl.DataFrame, odd: pl.Series) -> pl.DataFrame:
    return side.filter(pl.col("hash").is_in(odd.implode()))


def _without(side: pl.DataFrame, odd: pl.Series) -> pl.DataFrame:
    return side if odd.is_empty() else side.filter(~pl.col("hash").is_in(odd.implode()))


def _once(left: pl.DataFrame, right: pl.DataFrame, odd: pl.Series) -> pl.DataFrame:
    return _without(left, odd).join(_without(right, odd), on="hash", how="inner")


def _one_sided(
    left: pl.DataFrame, right: pl.DataFrame, odd: pl.Series, both: int
) -> list[pl.DataFrame]:
    """The keys that the other side does not have, as `both` of each side's are on both."""
    sides = _without(left, odd), _without(right, odd)
    found = []
    if sides[0].height > both:
        alone = sides[0].join(sides[1], on="hash", how="anti")
        found.append(_stated(alone, State.LEFT_ONLY))
    if sides[1].height > both:
        alone = sides[1].join(sides[0], on="hash", how="anti")
        alone = alone.rename({"value": "value_right", "line": "line_right"})
        found.append(_stated(alone, State.RIGHT_ONLY))
    return found


def _stated(rows: pl.DataFrame, state: State) -> pl.DataFrame:
    """The columns of `others`; a side that has no line has none of value and line."""
    missing = {"value": pl.String, "line": pl.UInt32}
    lacking = [
        pl.lit(None, dtype=kind).alias(name)
        for base, kind in missing.items()
        for name in (base, f"{base}_right")
        if name not in rows.columns
    ]
    return rows.with_columns(pl.lit(state.value).alias("state"), *lacking).select(_OTHERS)


def _by_key(left: pl.DataFrame, right: pl.DataFrame, in_order: bool) -> Paired:
    """As `pair`, of any rows: those of a key as lists beside each other."""
    ours, theirs = (
        one.group_by("key", maintain_order=True).agg(pl.col("value", "line"))
        for one in (left, right)
    )
    rows = ours.join(theirs, on="key", how="full", coalesce=True)
    rows = rows.with_columns(_state(in_order).alias("state"))
    differ = pl.col("state") == State.MISMATCHED.value
    columns = ("value", "value_right", "line", "line_right")
    pairs = rows.filter(differ).explode(*columns).filter(~_SAME)
    first = pairs.unique("key", keep="first", maintain_order=True)
    others = rows.filter(pl.col("state").is_not_null() & ~differ)
    others = others.with_columns(pl.col(*columns).list.last())
    matched = rows.filter(pl.col("state").is_null())["key"]
    return Paired(matched, pl.concat([first.select(_OTHERS), others.select(_OTHERS)]))


_SAME = pl.col("value") == pl.col("value_right")


def _state(in_order: bool) -> pl.Expr:
    """What is wrong with a key by the lists of both sides; null where it matches."""
    ours, theirs = (pl.col(name).list.len().fill_null(0) for name in ("line", "line_right"))
    fit = pl.lit(True) if in_order else pl.max_horizontal(ours, theirs) == 1
    return (
        pl.when(fit & (ours == theirs) & _SAME)
        .then(None)
        .when(fit & (ours == theirs))
        .then(pl.lit(State.MISMATCHED.value))
        .when(fit & (theirs == 0))
        .then(pl.lit(State.LEFT_ONLY.value))
        .when(fit & (ours == 0))
        .then(pl.lit(State.RIGHT_ONLY.value))
        .otherwise(pl.lit(State.DUPLICATE.value))
    )
