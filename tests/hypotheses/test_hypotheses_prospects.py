"""What planned trials can show, before any of them is made."""

import pytest

from hypotheses.observation import Counts
from hypotheses.prospects import needed, prospects, trials_to_halve, weight
from hypotheses.verdict import Expect

BASELINE = Counts(7, 33)


def test_what_it_takes_to_be_separated() -> None:
    assert needed(40, BASELINE, Expect.DROP) == "0/40 or fewer"
    assert needed(5, BASELINE, Expect.DROP) is None
    assert needed(40, Counts(0, 40), Expect.RISE) == "6/40 or more"
    assert needed(5, Counts(20, 0), Expect.RISE) is None


def test_the_chance_to_be_separated_falls_with_what_is_left() -> None:
    cases = [("gone", 0.0), ("half", 0.0875), ("same", 0.175)]
    gone, half, same = prospects(40, BASELINE, Expect.DROP, cases)
    assert (gone.chance, gone.alike) == (1.0, 1.0)
    assert half.chance == pytest.approx((1 - 0.0875) ** 40)
    assert gone.chance > half.chance > same.chance
    assert half.alike > half.chance  # a restart can be lucky as a whole
    assert same.alike > same.chance


def test_a_return_is_seen_from_above() -> None:
    returned, nothing = prospects(
        40, Counts(0, 40), Expect.RISE, [("returned", 0.3), ("nothing", 0.0)]
    )
    assert returned.chance > 0.95
    assert returned.chance > returned.alike > 0.8
    assert nothing.chance == nothing.alike == 0


@pytest.mark.parametrize("expect", [Expect.DROP, Expect.RISE])
def test_too_few_trials_have_no_chance(expect: Expect) -> None:
    (one,) = prospects(1, Counts(2, 2), expect, [("gone", 0.0)])
    assert one.chance == one.alike == 0


def test_trials_of_one_restart_weigh_less() -> None:
    assert weight(1) == 1
    assert weight(40) == pytest.approx(13.56, abs=0.01)
    assert weight(100_000) < 20


def test_half_a_rate_takes_many_trials() -> None:
    assert trials_to_halve(BASELINE) in range(200, 260)
    assert trials_to_halve(Counts()) is None
