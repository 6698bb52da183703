"""What all formats share: the choice of the format, dead reproducers, plans and timeouts."""

import re
import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.observation import Result, Trial
from playbooks.parsers import OPTIONS, ExitInfo, ParseError, make, unfinished
from playbooks.system import ParseSpec

FAIL, PASS = frozenset({"leak"}), frozenset({"done"})
JSONL = ParseSpec("jsonl", FAIL, PASS)
SPECS = [
    ParseSpec("counts", FAIL, PASS),
    JSONL,
    ParseSpec("exit"),
    ParseSpec("regex", FAIL, PASS, options={"match": "(?P<outcome>leak|done)"}),
    ParseSpec("regex", options={"match": r"(?P<fail>\d)/(?P<total>\d)"}),
]


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        (ParseSpec("xml"), 'no format "xml"; known: counts, regex, jsonl, json, exit, pytest'),
        (
            ParseSpec("jsonl", options={"keys": "x"}),
            'jsonl: no option "keys"; options of it: attempts',
        ),
        (ParseSpec("counts", options={"match": "x"}), "options of it: none"),
        (ParseSpec("jsonl", FAIL, FAIL), 'outcome "leak" is under both fail and pass'),
    ],
)
def test_refused_specifications(spec, match) -> None:
    if "options of it: attempts" in match:
        match = f"{match}, id, key, outcome, seconds"
    with pytest.raises(ParseError, match=re.escape(match)):
        make(spec)


def test_options_of_each_format_are_known() -> None:
    assert OPTIONS["regex"] == {"match"}
    assert OPTIONS["jsonl"] == {"outcome", "id", "key", "seconds", "attempts"}


def run(program: str) -> tuple[bytes, ExitInfo]:
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    if done.returncode < 0:
        return done.stdout, ExitInfo(signal=-done.returncode)
    return done.stdout, ExitInfo(done.returncode)


def test_a_dead_reproducer_that_prints_success(read) -> None:
    program = """
import json, traceback
print(json.dumps({"outcome": "done"}), flush=True)
try:
    raise OSError("the server is gone")
except OSError:
    traceback.print_exc()
print("SUCCESS")
"""
    trials, warnings = read(JSONL, *run(program))
    assert len(trials) == 1
    assert warnings == ("line 2: a stack trace (exit 0): are the trials real?",)


def test_a_reproducer_that_dies_of_its_own_fault(read) -> None:
    program = 'print("{\\"outcome\\": \\"done\\"}", flush=True); raise OSError("gone")'
    with pytest.raises(ParseError, match=r"exit 1 after 1 trial: .* its last line: \"OSError: gon"):
        read(JSONL, *run(program))


def test_a_stack_trace_on_stderr() -> None:
    trace = b"Traceback (most recent call last):\n  x\nOSError: gone"
    parser = make(JSONL)
    parser.feed_stderr(b"starting\n" + trace[:10])
    assert len(parser.feed(b'{"outcome": "done"}\n')) == 1
    parser.feed_stderr(trace[10:])
    warnings = parser.finish(ExitInfo(0)).warnings
    assert warnings == ("line 2 of stderr: a stack trace (exit 0): are the trials real?",)


def test_the_last_line_of_a_dead_reproducer_is_that_of_stderr() -> None:
    parser = make(JSONL)
    parser.feed(b"connecting\n")
    parser.feed_stderr(b"OSError: gone")
    with pytest.raises(ParseError, match='its last line: "OSError: gone"'):
        parser.finish(ExitInfo(1))


def test_a_reproducer_that_is_killed(read) -> None:
    program = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    with pytest.raises(ParseError, match="killed by SIGKILL after 0 trials"):
        read(JSONL, *run(program))


@pytest.mark.parametrize(
    "line",
    [
        "Traceback (most recent call last):",
        "panic: runtime error",
        "thread 'main' panicked at src/main.rs:2",
        'Exception in thread "main" java.lang.Error',
        "Segmentation fault (core dumped)",
    ],
)
def test_stack_traces_of_several_languages(read, line) -> None:
    _, warnings = read(JSONL, f'{{"outcome": "done"}}\n{line}\n')
    assert warnings == ("line 2: a stack trace (exit 0): are the trials real?",)


def test_a_stack_trace_within_a_record_is_not_the_reproducers(read) -> None:
    _, warnings = read(JSONL, '{"outcome": "leak", "text": "Traceback (most recent call last):"}')
    assert warnings == ()


@pytest.mark.parametrize(
    ("planned", "guess"), [(3, "is the output cut off?"), (1, "are there two runs in it?")]
)
def test_other_than_planned(read, planned, guess) -> None:
    output = '{"outcome": "done"}\n' * 2
    _, warnings = read(JSONL, output, planned=planned)
    assert warnings == (f"2 trials where {planned} were planned: {guess}",)
    assert read(JSONL, output, planned=2)[1] == ()
    assert read(JSONL, output, ExitInfo(stopped=True), planned)[1] == ()


def test_trials_before_an_error_are_handed_out_and_then_it_is_raised() -> None:
    parser = make(JSONL)
    assert len(parser.feed(b'{"outcome": "leak"}\n{"outcome": "?"}\n{"outcome": "done"}\n')) == 1
    for _ in range(2):
        with pytest.raises(ParseError, match="line 2"):
            parser.feed(b'{"outcome": "done"}\n')
    with pytest.raises(ParseError, match="line 2"):
        parser.finish(ExitInfo(0))


def test_an_error_with_nothing_before_it_is_raised_at_once() -> None:
    parser = make(JSONL)
    with pytest.raises(ParseError, match="line 1"):
        parser.feed(b'{"outcome": "?"}\n')


@pytest.mark.parametrize(
    ("planned", "done", "count"), [(40, 38, 2), (40, 40, 0), (40, 41, 0), (None, 7, 1)]
)
def test_unfinished(planned, done, count) -> None:
    assert unfinished(planned, done, "fail") == (Trial("timeout", Result.FAIL),) * count
    assert unfinished(planned, done, "censored") == (Trial("timeout", Result.CENSORED),) * count


PIECES = st.sampled_from(
    [
        b"\n",
        b"\r",
        b'{"outcome": "leak"}\n',
        b'{"outcome": "done"}\r\n',
        b'counts={"leak": 1, "done": 1}\n',
        b'counts={"leak": 2, "done": 9}\n',
        b"sessions: 1/2\n",
        b"3/4",
        b"done\n",
        b"\x1b[31mleak",
        b'{"',
        b"\xff",
        b"Traceback (most recent call last):\n",
    ]
) | st.binary(max_size=4)


def result_of(spec: ParseSpec, chunks: list[bytes], exit: ExitInfo) -> tuple[list[Trial], object]:
    """The trials, and the warnings or the error that they ended with."""
    parser, trials = make(spec), list[Trial]()
    try:
        for chunk in chunks:
            trials += parser.feed(chunk)
        parsed = parser.finish(exit)
    except ParseError as error:
        return trials, str(error).splitlines()
    return [*trials, *parsed.trials], parsed.warnings


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.format)
@settings(deadline=None)
@given(
    data=st.lists(PIECES).map(b"".join),
    cuts=st.lists(st.integers(0, 150), max_size=5),
    exit=st.sampled_from([ExitInfo(0), ExitInfo(stopped=True), ExitInfo(signal=9, timed_out=True)]),
)
def test_any_bytes_in_any_chunks_give_the_same_result(spec, data, cuts, exit) -> None:
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    chunks = [data[a:b] for a, b in pairwise(edges)]
    trials, said = result_of(spec, [data], exit)
    assert result_of(spec, chunks, exit) == (trials, said)
    assert not isinstance(said, list) or len(said) == 1
