"""counts: totals in one line."""

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.parsers import ExitInfo, ParseError
from playbooks.system import ParseSpec

SPEC = ParseSpec(
    "counts", frozenset({"leak"}), frozenset({"done", "maxrounds"}), frozenset({"cut"})
)
SEED = 'counts={"leak": 3, "maxrounds": 32, "done": 5}\nCORRUPTION sessions: 3/40 = 8%\n'


def refused(read, output, exit=ExitInfo(0), match=""):  # noqa: B008 - frozen
    with pytest.raises(ParseError, match=re.escape(match)) as caught:
        read(SPEC, output, exit)
    assert "\n" not in str(caught.value)


def test_seed_lines(read) -> None:
    trials, warnings = read(SPEC, "driving 40 sessions\n" + SEED)
    assert Counter(trial.outcome for trial in trials) == {"leak": 3, "maxrounds": 32, "done": 5}
    assert Counter(str(trial.result) for trial in trials) == {"fail": 3, "pass": 37}
    assert warnings == ()


@pytest.mark.parametrize(
    "line",
    [
        'INFO counts = {"leak":1}',
        'counts={ "leak" : 1 , "done": 0 } in 3 s',
        'counts={"leak": 1}',
        '\x1b[32mcounts={"leak": \x1b[1m1}\x1b[0m',
        'counts={"leak": 1, "unheard of": 0}',
    ],
)
def test_ways_to_write_it(read, line) -> None:
    trials, _ = read(SPEC, line)
    assert [trial.outcome for trial in trials] == ["leak"]


@pytest.mark.parametrize("k_n", ["4/40", "3/41", "0/40"])
def test_sessions_that_do_not_add_up(read, k_n) -> None:
    refused(read, SEED.replace("3/40", k_n), match=f"line 2: sessions: {k_n}, where counts=")


def test_the_printed_percentage_is_not_trusted(read) -> None:
    trials, _ = read(SPEC, SEED.replace("8%", "99%"))
    assert len(trials) == 40


def test_sessions_before_the_counts_are_progress(read) -> None:
    trials, _ = read(SPEC, "sessions: 1/40\n" + SEED)
    assert len(trials) == 40


def test_unknown_outcome_is_named_with_those_known(read) -> None:
    refused(
        read,
        'counts={"leak": 3, "crash": 1}',
        match='line 1: outcome "crash" is in none of fail, pass, censored '
        "(known: leak, done, maxrounds, cut)",
    )


def test_censored_outcomes(read) -> None:
    trials, _ = read(SPEC, 'counts={"leak": 1, "cut": 2}\nsessions: 1/3')
    assert Counter(str(trial.result) for trial in trials) == {"fail": 1, "censored": 2}


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('counts={"leak": 3, "do', "is the line cut off"),
        ("counts={'leak': 3}", "print it with json.dumps"),
        ('counts={"leak": -1}', "has -1 for"),
        ('counts={"leak": 1.5}', "has 1.5 for"),
        ('counts={"leak": true}', "has true for"),
        ('counts={"leak": "3"}', "expected a whole number"),
        ('counts={"leak": 1, "leak": 2}', "names an outcome twice"),
        ('counts={"leak": 99999999999}', "more than 1000000 trials"),
        ('counts={"leak": 1' + "0" * 5000 + "}", "line 1"),
        ('counts={"leak": 0, "done": 0}', "adds up to 0 trials"),
        ("counts={}", "adds up to 0 trials"),
        ('counts={"leak": ' + "[" * 100_000, "line 1"),
    ],
)
def test_broken_totals(read, line, match) -> None:
    refused(read, line, match=match)


@pytest.mark.parametrize("output", ["", "\n\n", "SUCCESS\n", 'token_counts={"leak": 1}\n'])
def test_no_totals_is_never_a_clean_run(read, output) -> None:
    refused(read, output, match="expected a line like counts=")


def test_two_runs_in_one_output(read) -> None:
    refused(
        read,
        'counts={"leak": 3, "done": 37}\ncounts={"leak": 1, "done": 39}\n',
        match="line 2: counts= does not add to the one of line 1: are there two runs",
    )
    refused(read, SEED + SEED, match="two runs")


def test_progress_that_grows_counts_once_and_is_said(read) -> None:
    output = 'counts={"done": 1}\rcounts={"done": 2}\rcounts={"done": 2, "leak": 1}\n'
    trials, warnings = read(SPEC, output + "sessions: 1/3\n")
    assert len(trials) == 3
    assert warnings[1] == "3 counts= lines, each adding to the one before: the last is used"


def test_a_timeout_keeps_what_was_counted(read) -> None:
    output = b'counts={"done": 1}\ncounts={"done": 2}\ncounts={"done": 3'
    trials, _ = read(SPEC, output, ExitInfo(signal=9, timed_out=True))
    assert len(trials) == 2


def test_a_line_cut_off_by_the_stop_is_not_read(read) -> None:
    trials, warnings = read(SPEC, SEED[:-5], ExitInfo(signal=15, stopped=True))
    assert len(trials) == 40
    assert warnings == ()


def test_a_failing_exit_is_the_reproducers_own(read) -> None:
    refused(
        read,
        SEED + "ConnectionError: refused\n",
        ExitInfo(1),
        match='exit 1 after 0 trials: nothing answered the reproducer; its last line: "Connection',
    )
    refused(
        read, SEED + "no such key\n", ExitInfo(1), match="the reproducer itself failed; its last"
    )
    refused(read, SEED, ExitInfo(signal=11), match="killed by SIGSEGV")
    refused(read, SEED, ExitInfo(), match="no exit status")


NAMES = st.sampled_from(["leak", "done", "maxrounds", "cut"])


@settings(deadline=None)
@given(st.dictionaries(NAMES, st.integers(0, 50)).filter(lambda d: sum(d.values())))
def test_as_many_trials_as_the_totals_say(read, totals) -> None:
    items = ", ".join(f'"{name}": {count}' for name, count in totals.items())
    trials, _ = read(SPEC, f"counts={{{items}}}\n")
    assert Counter(trial.outcome for trial in trials) == Counter(totals)
