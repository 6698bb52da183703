"""What changed while nobody changed it."""

import pytest
from msgspec.structs import replace

from hypotheses import model
from hypotheses.assumptions import Settings
from hypotheses.drift import by_position, in_order_of_start, with_epochs
from hypotheses.model import Restart, posterior
from hypotheses.observation import Result, Trial

NONE = frozenset[str]()
CAUSES = ("a", "b", "c")
A = frozenset({"a"})


def trials(text: str) -> list[Trial]:
    """One trial a letter: F failed, c censored, anything else passed."""
    results = {"F": Result.FAIL, "c": Result.CENSORED}
    return [Trial(one, results.get(one, Result.PASS)) for one in text]


def epochs(*restarts: Restart) -> list[int]:
    return [one.epoch for one in with_epochs(CAUSES, None, restarts)]


def test_failures_that_all_come_first_are_drift() -> None:
    halves = by_position(trials("F" * 10 + "." * 30))
    assert (str(halves.first), str(halves.second)) == ("10/20", "0/20")
    assert halves.drifted
    assert str(halves) == (
        "first half 10/20, 50.0% (29.9-70.1%); second half 0/20, at most 16.1% (Fisher p = .00044)"
    )


def test_failures_spread_evenly_are_not() -> None:
    halves = by_position(trials("F..." * 10))
    assert halves.p == 1
    assert not halves.drifted


@pytest.mark.parametrize(
    ("text", "first", "second"),
    [
        ("", "0/0", "0/0"),
        ("F", "0/0", "1/1"),
        ("F.F", "1/1", "1/2"),
        ("cF.c", "1/1", "0/1"),
    ],
)
def test_small_and_censored_restarts_are_halved_too(text, first, second) -> None:
    halves = by_position(trials(text))
    assert (str(halves.first), str(halves.second)) == (first, second)
    assert not halves.drifted


def timed(*lasted: tuple[str, float]) -> list[Trial]:
    return [replace(one, seconds=seconds) for text, seconds in lasted for one in trials(text)]


def test_trials_that_ran_beside_each_other_are_taken_as_they_began() -> None:
    """Two at a time from second 0 on; the failing ones take one second, the others three."""
    ran = timed(("F", 1), (".", 3), (".", 3), ("F", 1))
    assert in_order_of_start(ran, [1, 3, 4, 4]) == (ran[0], ran[1], ran[2], ran[3])
    ended_first = [ran[3], ran[0], ran[1], ran[2]]
    assert in_order_of_start(ended_first, [4, 1, 3, 4]) == (ran[0], ran[1], ran[2], ran[3])


def test_trials_that_all_ran_at_once_have_no_order() -> None:
    ran = timed(("F" * 10, 1), ("." * 30, 5))
    assert by_position(ran).drifted, "as they came, short ones first"
    assert in_order_of_start(ran, [1.0] * 10 + [5.0] * 30) == ()
    assert not by_position(()).drifted


def test_trials_of_unknown_length_are_taken_as_they_came() -> None:
    ran = [*timed(("F", 5)), *trials(".")]
    assert in_order_of_start(ran, [5, 6]) == tuple(ran)
    assert in_order_of_start(timed(("F", 5)), [5]) == tuple(timed(("F", 5)))


def test_controls_that_agree_stay_in_one_epoch() -> None:
    assert epochs(Restart(NONE, 7, 40), Restart(A, 9, 40), Restart(NONE, 8, 40)) == [0, 0, 0]


def test_a_surprising_control_opens_an_epoch() -> None:
    assert epochs(Restart(NONE, 6, 40), Restart(NONE, 7, 40), Restart(NONE, 30, 40)) == [0, 0, 1]


def test_the_epoch_begins_where_the_rate_moved() -> None:
    """After the last quiet control: the restarts in between go where they fit."""
    before = [Restart(NONE, 14, 40), Restart(NONE, 12, 40), Restart(A, 15, 40)]
    after = [Restart(frozenset({"b"}), 38, 40), Restart(NONE, 39, 40)]
    assert epochs(*before, *after) == [0, 0, 0, 1, 1]


def test_a_moved_baseline_is_not_taken_for_a_removal() -> None:
    """The failure faded by itself while a was off; the control after it tells."""
    some = [Restart(NONE, 20, 40), Restart(NONE, 18, 40), Restart(A, 0, 60), Restart(NONE, 0, 60)]
    dated = with_epochs(CAUSES, None, some)
    assert [one.epoch for one in dated] == [0, 0, 1, 1]
    assert posterior(CAUSES, None, dated).alone("a") < 0.5
    assert posterior(CAUSES, None, some).alone("a") > 0.5


def test_many_restarts_are_dated_soon_by_how_many_are_alike(monkeypatch) -> None:
    """What is looked at for each control does not grow with how many restarts came before."""
    looked: list[int] = []
    real = model.log_likelihoods

    def counting(grid, slip, fails, trials):
        looked.append(len(trials))
        return real(grid, slip, fails, trials)

    monkeypatch.setattr(model, "log_likelihoods", counting)
    before = [Restart(A if at % 5 else NONE, at % 3, 10) for at in range(500)]
    after = [Restart(NONE, 9, 10)] * 3
    assert epochs(*before, *after)[-4:] == [0, 1, 1, 1]
    assert max(looked) <= 4


def test_the_first_control_and_empty_ones_open_nothing() -> None:
    assert epochs(Restart(A, 0, 40), Restart(NONE, 30, 40)) == [0, 0]
    assert epochs(Restart(NONE, 7, 40), Restart(NONE, 0, 0), Restart(NONE, 8, 40)) == [0, 0, 0]
    assert epochs() == []


def test_the_threshold_can_be_set_and_old_epochs_are_not_kept() -> None:
    some = [Restart(NONE, 7, 40, epoch=3), Restart(NONE, 30, 40, epoch=3)]
    never = with_epochs(CAUSES, None, some, Settings(drift=0))
    assert [one.epoch for one in never] == [0, 0]
