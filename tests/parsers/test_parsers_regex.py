"""regex: a trial a line, or a total."""

import re

import pytest

from hypotheses.observation import Result, Trial
from playbooks.parsers import ExitInfo, ParseError, make
from playbooks.system import ParseSpec

LINE = r"session (?P<id>\d+): (?P<outcome>\w+)( rooms=(?P<key>\S+))?( in (?P<seconds>\S+) s)?$"


def spec(match: str) -> ParseSpec:
    return ParseSpec("regex", frozenset({"leak"}), frozenset({"done"}), options={"match": match})


TOTAL = spec(r"(?P<fail>\S+) failed of (?P<total>\S+)")


def test_each_matching_line_is_a_trial(read) -> None:
    output = "start\nsession 1: leak rooms=7,8 in 1.5 s\nnoise\nsession 2: done\n"
    trials, warnings = read(spec(LINE), output)
    assert trials == [
        Trial("leak", Result.FAIL, "1", ("7", "8"), 1.5),
        Trial("done", Result.PASS, "2"),
    ]
    assert warnings == ()


def test_trials_come_as_their_lines_end() -> None:
    parser = make(spec(LINE))
    assert parser.feed(b"session 1: le") == []
    assert [trial.ident for trial in parser.feed(b"ak\nsession 2: done")] == ["1"]
    assert [trial.ident for trial in parser.finish(ExitInfo(0)).trials] == ["2"]


def test_a_match_may_depend_on_the_indentation(read) -> None:
    trials, _ = read(spec(r"^  (?P<outcome>\w+)$"), "leak\n  done\n")
    assert [trial.outcome for trial in trials] == ["done"]


@pytest.mark.parametrize(
    ("output", "match"),
    [
        ("session 1: boom", 'line 1: outcome "boom" is in none of'),
        ("session 1: leak in x s", 'line 1: seconds are "x": expected a number'),
        ("session 1: leak in -1 s", "seconds are"),
        ("session 1: leak in inf s", "seconds are"),
        ("x\nsession 1: leak\nsession 1: done", 'line 3: trial "1" was on line 2 already'),
        ("session 1: leak\rsession 1: leak\r", "was on line 1 already"),
        ("nothing of it", "no trials in 1 line of output: expected lines that match"),
        ("", "no trials, since there was no output"),
    ],
)
def test_refused_output(read, output, match) -> None:
    with pytest.raises(ParseError, match=re.escape(match)):
        read(spec(LINE), output)


def test_a_line_cut_off_by_the_stop_is_no_trial(read) -> None:
    whole = "session 1: done\nsession 2: do"
    trials, _ = read(spec(LINE), whole, ExitInfo(signal=15, stopped=True))
    assert len(trials) == 1


def test_a_total(read) -> None:
    trials, warnings = read(TOTAL, "3 failed of 40\n")
    assert [trial.result for trial in trials].count(Result.FAIL) == 3
    assert len(trials) == 40
    assert warnings == ()


def test_of_several_totals_the_last_is_used_and_that_is_said(read) -> None:
    trials, warnings = read(TOTAL, "1 failed of 10\n3 failed of 20\n")
    assert len(trials) == 20
    assert warnings == ("2 lines match: the last is used, 3/20",)


@pytest.mark.parametrize(
    ("output", "match"),
    [
        ("41 failed of 40", "line 1: 41 of 40 trials failed, which does not add up"),
        ("three failed of 40", '"three" where a whole number was expected'),
        ("-3 failed of 40", "whole number"),
        ("3 failed of 9999999", "more than 1000000 trials"),
        ("0 failed of 0", "with a total above 0"),
    ],
)
def test_refused_totals(read, output, match) -> None:
    with pytest.raises(ParseError, match=re.escape(match)):
        read(TOTAL, output)


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ("(?P<outcome>", 'match: "(?P<outcome>" cannot be used: missing ): '),
        ("(?P<fail>x)", "has neither a group (?P<outcome>...) nor both"),
        ("(?P<outcome>x{1001})", "cannot be used: invalid repetition size: {1001}"),
        ("(?P<outcome>x)(?=y)", "(?=: look-arounds and back references could take for ever"),
        (r"(?P<outcome>x)\Z", r"the end of the text is \z, that of the line $"),
    ],
)
def test_refused_expressions(match, message) -> None:
    with pytest.raises(ParseError, match=re.escape(message)):
        make(spec(match))


def test_match_is_needed() -> None:
    with pytest.raises(ParseError, match="`match` is missing"):
        make(ParseSpec("regex"))


def test_no_expression_can_hang_a_run(read) -> None:
    match = r"^((a+)+)+(?P<outcome>leak|done)$"
    trials, _ = read(spec(match), "a" * 100_000 + "b\naaleak\n")
    assert [trial.outcome for trial in trials] == ["leak"]


def test_other_groups_are_attributes(read) -> None:
    one = spec(r"^(?P<outcome>\w+) (?P<length>\w+)( (?P<model>\w+))?$")
    trials, _ = read(one, "leak long\ndone short m1\n")
    assert [trial.attributes for trial in trials] == [
        (("length", "long"), ("model", "")),
        (("length", "short"), ("model", "m1")),
    ]
