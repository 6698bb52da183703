"""Splits by an attribute: offered where they are separated, corrected for how many were tried."""

import random

from hypotheses.observation import Counts, Result, Trial
from hypotheses.splits import splits


def trials(name: str, *rows: tuple[str, int, int]) -> list[Trial]:
    """Trials with one attribute: a row is its value, failures, trials."""
    return [
        Trial("x", Result.FAIL if n < fail else Result.PASS, attributes=((name, value),))
        for value, fail, total in rows
        for n in range(total)
    ]


def test_pooled_6_of_30_hides_length() -> None:
    (split,) = splits(trials("length", ("short", 0, 19), ("long", 6, 11)))
    assert (split.name, split.first, split.second) == ("length long", Counts(6, 5), Counts(0, 19))
    assert split.looks == 1
    assert str(split) == (
        "length long: 6/11, 54.5% (28.0-78.7%); all others: 0/19, at most 16.8%; "
        "separated (Fisher p = .00078, corrected for 1 split looked at)"
    )


def test_more_values_are_each_held_against_the_others_at_a_price() -> None:
    rows = [("a", 0, 10), ("b", 0, 10), ("c", 6, 10)]
    (split,) = splits(trials("model", *rows))
    assert (split.name, split.looks) == ("model c", 3)
    many = [(f"v{n}", 0, 3) for n in range(9)] + [("worst", 2, 3)]
    assert splits(trials("model", *many)) == ()


def test_many_numbers_are_split_at_their_median() -> None:
    (split,) = splits(trials("tokens", *((str(n), int(n > 20), 1) for n in range(1, 41))))
    assert (split.name, split.first) == ("tokens over 20", Counts(20, 0))


def test_names_of_trials_and_single_values_split_nothing() -> None:
    assert splits(trials("id", *((f"s{n}", n % 2, 1) for n in range(40)))) == ()
    assert splits(trials("model", ("one", 5, 40))) == ()
    assert splits([]) == ()


def test_censored_trials_count_neither_way() -> None:
    cut = [Trial("t", Result.CENSORED, attributes=(("length", "long"),))] * 50
    assert splits([*trials("length", ("short", 0, 19), ("long", 0, 11)), *cut]) == ()


def test_noise_is_offered_in_no_more_than_one_campaign_of_twenty() -> None:
    """100 campaigns of 60 trials at 20%, with three attributes of four values that mean nothing."""
    draw = random.Random(1)
    offered = 0
    for _ in range(100):
        campaign = [
            Trial(
                "x",
                Result.FAIL if draw.random() < 0.2 else Result.PASS,
                attributes=tuple((f"a{n}", draw.choice("wxyz")) for n in range(3)),
            )
            for _ in range(60)
        ]
        offered += bool(splits(campaign))
    assert offered <= 5
