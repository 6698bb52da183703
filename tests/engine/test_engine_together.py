"""Work done at once: what it gives comes to the caller's thread, and no error is lost."""

import threading
from functools import partial

import pytest

from campaign.engine.together import Beside, all_at_once, at_once, by_name

LIMIT_S = 60.0


def test_all_are_under_way_together_and_give_to_the_callers_thread() -> None:
    meeting = threading.Barrier(3)
    taken = {threading.get_ident() for _ in at_once([partial(meeting.wait, LIMIT_S)] * 3)}
    assert taken == {threading.get_ident()}


def test_the_first_error_is_told_at_once_and_raised_once_all_are_through() -> None:
    failed, through = threading.Event(), []

    def fails() -> None:
        raise LookupError("first")

    def goes_on() -> None:
        assert failed.wait(LIMIT_S)
        through.append("went on")
        raise ValueError("second")

    with pytest.raises(LookupError, match="first"):
        all_at_once([goes_on, fails], failed.set)
    assert through == ["went on"]


def test_what_is_given_is_kept_by_name_in_order() -> None:
    turn = threading.Event()

    def last() -> str:
        assert turn.wait(LIMIT_S)
        return "last"

    def first() -> str:
        turn.set()
        return "first"

    assert list(by_name({"b": last, "a": first}).items()) == [("b", "last"), ("a", "first")]
    assert by_name({}) == {}


def test_an_error_beside_is_raised_where_the_result_is_wanted() -> None:
    def fails() -> None:
        raise LookupError("beside")

    with Beside(fails):
        pass
    with Beside(fails) as work, pytest.raises(LookupError, match="beside"):
        work.result()
