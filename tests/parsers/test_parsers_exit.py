"""exit: the contract of `git bisect run`, with two deliberate differences."""

import re

import pytest

from hypotheses.observation import Result
from playbooks.parsers import ExitInfo, NoResult, ParseError
from playbooks.system import ParseSpec

SPEC = ParseSpec("exit")


@pytest.mark.parametrize(
    ("code", "outcome", "result"),
    [
        (0, "clean", Result.PASS),
        (1, "exit 1", Result.FAIL),
        (123, "exit 123", Result.FAIL),
        (124, "timeout", Result.CENSORED),
    ],
)
def test_codes_that_are_results(read, code, outcome, result) -> None:
    ((trial,), warnings) = read(SPEC, "whatever it prints\n", ExitInfo(code))
    assert (trial.outcome, trial.result) == (outcome, result)
    assert warnings == ()


def test_an_empty_output_is_fine_here(read) -> None:
    assert len(read(SPEC, b"", ExitInfo(0))[0]) == 1


def test_no_result(read) -> None:
    with pytest.raises(NoResult, match="exit 125: the reproducer says that it has no result"):
        read(SPEC, b"", ExitInfo(125))


@pytest.mark.parametrize(
    ("exit", "match"),
    [
        (ExitInfo(126), "exit 126: the command cannot be executed"),
        (ExitInfo(127), "exit 127: the command was not found"),
        (ExitInfo(137), "exit 137: the reproducer's command was killed by SIGKILL"),
        (ExitInfo(255), "exit 255: that is no code of the contract"),
        (ExitInfo(signal=11), "killed by SIGSEGV: the reproducer itself failed"),
        (ExitInfo(), "no exit status"),
    ],
)
def test_errors(read, exit, match) -> None:
    with pytest.raises(ParseError, match=re.escape(match)) as caught:
        read(SPEC, b"", exit)
    assert not isinstance(caught.value, NoResult)


@pytest.mark.parametrize("exit", [ExitInfo(1, stopped=True), ExitInfo(signal=9, timed_out=True)])
def test_no_trial_where_it_was_ended(read, exit) -> None:
    trials, warnings = read(SPEC, b"", exit)
    assert trials == []
    assert warnings == (f"{exit} before any trial was complete",)


def test_a_stack_trace_behind_a_failing_exit_is_said(read) -> None:
    output = 'Traceback (most recent call last):\n  File "r.py"\nImportError: x\n'
    trials, warnings = read(SPEC, output, ExitInfo(1))
    assert [trial.result for trial in trials] == [Result.FAIL]
    assert warnings == ("line 1: a stack trace (exit 1): are the trials real?",)
