"""jsonl: one JSON object a line."""

import json
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.observation import Result, Trial
from playbooks.parsers import ExitInfo, ParseError, make
from playbooks.parsers.lines import LINE_LIMIT
from playbooks.system import ParseSpec

STOPPED = ExitInfo(signal=15, stopped=True)
TIMED_OUT = ExitInfo(signal=9, timed_out=True)


def spec(**options: str) -> ParseSpec:
    return ParseSpec("jsonl", frozenset({"leak"}), frozenset({"done"}), options=options)


SPEC = spec(outcome="outcome", id="session", key="rooms", seconds="seconds")
OUTPUT = """warming up
{"session": 1, "outcome": "leak", "rooms": [7, "8"], "seconds": 1.5}
{"session": 2, "outcome": "done", "rooms": 9, "seconds": 2}
counts={"leak": 1, "done": 1}
CORRUPTION sessions: 1/2 = 50%
"""


def refused(read, output, match, one=SPEC, exit=ExitInfo(0)):  # noqa: B008 - frozen
    with pytest.raises(ParseError, match=re.escape(match)) as caught:
        read(one, output, exit)
    assert "\n" not in str(caught.value)


def test_trials_with_ids_keys_and_seconds(read) -> None:
    trials, warnings = read(SPEC, OUTPUT)
    assert trials == [
        Trial("leak", Result.FAIL, "1", ("7", "8"), 1.5),
        Trial("done", Result.PASS, "2", ("9",), 2.0),
    ]
    assert warnings == ()


def test_trials_come_as_their_lines_end() -> None:
    parser = make(SPEC)
    first, rest = OUTPUT.encode().split(b"\n{", 1)
    assert parser.feed(first + b"\n{") == []
    assert len(parser.feed(rest)) == 2
    assert parser.finish(ExitInfo(0)).trials == ()


@settings(deadline=None)
@given(cuts=st.lists(st.integers(0, len(OUTPUT)), max_size=8))
def test_chunk_boundaries_do_not_matter(read, cuts) -> None:
    edges = [0, *sorted(cuts), len(OUTPUT)]
    chunks = [OUTPUT[a:b].encode() for a, b in pairwise(edges)]
    assert read(SPEC, chunks) == read(SPEC, OUTPUT)


def test_fields_within_fields_and_dotted_names(read) -> None:
    one = spec(outcome="result.outcome", key="result.a.b")
    output = '{"result": {"outcome": "leak", "a": {"b": 1}}}\n{"result.outcome": "done"}\n'
    trials, warnings = read(one, output)
    assert [(trial.outcome, trial.keys) for trial in trials] == [("leak", ("1",)), ("done", ())]
    assert warnings == ('field "result.a.b" is missing in 1 of 2 trials',)


def test_null_fields_say_nothing(read) -> None:
    trials, _ = read(SPEC, '{"outcome": "done", "session": null, "rooms": null, "seconds": null}')
    assert trials == [Trial("done", Result.PASS)]


def test_outcomes_that_are_no_texts(read) -> None:
    one = ParseSpec("jsonl", frozenset({"false"}), frozenset({"true"}), options={"outcome": "ok"})
    trials, _ = read(one, '{"ok": true}\n{"ok": false}\n')
    assert [trial.result for trial in trials] == [Result.PASS, Result.FAIL]


def test_objects_without_an_outcome_are_left_out_and_counted(read) -> None:
    trials, warnings = read(spec(), '{"level": "info"}\n{"outcome": "done"}\n{"level": "x"}\n')
    assert len(trials) == 1
    assert warnings == ('2 JSON objects without a field "outcome" left out',)


@pytest.mark.parametrize(
    ("output", "match"),
    [
        ('{"outcome": "crash"}', 'line 1: outcome "crash" is in none of fail, pass, censored'),
        ('{"outcome": null}', 'outcome "null" is in none of'),
        ('{"outcome": {"a": 1}}', '{"a": 1} where a text or a number was expected'),
        ('{"outcome": "done", "rooms": [[1]]}', "[1] where a text"),
        ('{"outcome": "done", "session": [1]}', "[1] where a text"),
        ('{"outcome": "done", "seconds": true}', "seconds are true"),
        ('{"outcome": "done", "seconds": NaN}', "seconds are NaN"),
        ('{"outcome": "done"\nx', "line 1: starts with { and is not a whole JSON object"),
        ("{'outcome': 'done'}", "print each trial as one JSON object"),
        ('{"outcome": "done"} {"outcome": "done"}', "not a whole JSON object"),
        ('{"a":' * 100_000, "not a whole JSON object"),
        ('{"a": "' + "x" * LINE_LIMIT + '"}', f"longer than {LINE_LIMIT} bytes"),
        ('{"level": "info"}', '(1 JSON object without a field "outcome" left out): expected'),
        ("SUCCESS\n", "no trials in 1 line of output"),
        ("", "no trials, since there was no output"),
    ],
)
def test_refused_output(read, output, match) -> None:
    refused(read, output, match)


def test_a_trial_twice_is_two_runs_in_one_output(read) -> None:
    line = '{"outcome": "done", "session": 1}\n'
    refused(read, "x\n" + line + line, 'line 3: trial "1" was on line 2 already')


def test_a_last_line_without_newline_counts_when_the_program_ended_by_itself(read) -> None:
    trials, _ = read(spec(), '{"outcome": "done"}')
    assert len(trials) == 1


@pytest.mark.parametrize("exit", [STOPPED, TIMED_OUT])
def test_a_cut_off_last_line_after_a_stop_is_no_trial(read, exit) -> None:
    trials, _ = read(spec(), '{"outcome": "done"}\n{"outcome": "le', exit)
    assert len(trials) == 1
    refused(read, '{"outcome": "le\n{"outcome": "done"}\n', "not a whole", exit=exit)


def test_nothing_before_a_stop_is_said(read) -> None:
    trials, warnings = read(spec(), "", TIMED_OUT)
    assert trials == []
    assert warnings == ("timed out before any trial was complete",)


def test_totals_must_agree_with_the_lines(read) -> None:
    broken = OUTPUT.replace('"done": 1}', '"done": 2}').replace("1/2", "1/3")
    refused(read, broken, 'counts={"done": 2, "leak": 1}, where the lines give {"done": 1')
    refused(read, OUTPUT.replace("1/2", "2/2"), "line 5: sessions: 2/2, where counts=")


def test_totals_of_a_stopped_run_are_not_compared(read) -> None:
    trials, _ = read(SPEC, OUTPUT.replace('"done": 1}', '"done": 2}'), STOPPED)
    assert len(trials) == 2


def test_zero_totals_agree_with_absent_outcomes(read) -> None:
    trials, _ = read(spec(), '{"outcome": "done"}\ncounts={"leak": 0, "done": 1, "other": 0}\n')
    assert len(trials) == 1


def test_lone_surrogates_do_not_reach_the_ledger(read) -> None:
    trials, _ = read(SPEC, r'{"outcome": "done", "session": "\ud800", "rooms": ["\udfff"]}')
    assert (trials[0].ident, trials[0].keys) == ("?", ("?",))


TEXTS = st.text("a0\ud800\0\n\u2028é", max_size=5) | st.sampled_from(["leak", "done"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner),
    max_leaves=5,
)
RECORDS = st.dictionaries(st.sampled_from(["outcome", "session", "rooms", "seconds"]), VALUES)


@settings(deadline=None)
@given(st.lists(RECORDS, max_size=4))
def test_any_objects_are_counted_or_refused_in_one_line(read, records) -> None:
    output = "".join(json.dumps(record) + "\n" for record in records)
    try:
        trials, _ = read(SPEC, output)
        said = ""
    except ParseError as error:
        trials, said = [], str(error)
    assert bool(trials) != bool(said)
    assert len(said.splitlines()) <= 1
    said.encode()
