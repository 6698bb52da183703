"""Test runners: pytest as it runs here, JUnit's dialects, go test, nextest, bazel."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from hypotheses.observation import count
from playbooks.parsers import ExitInfo, ParseError, make
from playbooks.system import ParseSpec

FAILED = ExitInfo(1)
MODULE = """
import pytest

@pytest.fixture
def broken():
    raise OSError("no server")

@pytest.fixture
def late():
    yield
    raise OSError("gone")

@pytest.mark.parametrize("n", range(3))
def test_leak(n):
    print("hello")
    assert n != 1

@pytest.mark.xfail(reason="known")
def test_known():
    assert False

@pytest.mark.xfail
def test_fixed():
    pass

@pytest.mark.skip(reason="no")
def test_skipped():
    pass

def test_setup(broken):
    pass

def test_teardown(late):
    pass

def test_subtests(subtests):
    for i in range(3):
        with subtests.test(msg="m", i=i):
            assert i != 2
"""


def said(read, spec: ParseSpec, text: str | bytes, exit: ExitInfo = ExitInfo(0)):  # noqa: B008
    """The outcomes in their order, and the warnings."""
    trials, warnings = read(spec, text, exit)
    return [trial.outcome for trial in trials], warnings


def refused(read, spec: ParseSpec, text: str, match: str, exit: ExitInfo = ExitInfo(0)):  # noqa: B008
    with pytest.raises(ParseError, match=re.escape(match)):
        read(spec, text, exit)


@cache
def run_pytest(folder: Path, *options: str) -> tuple[bytes, ExitInfo]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    ended = subprocess.run(command, cwd=folder, env=env, capture_output=True, check=False)
    return ended.stdout, ExitInfo(ended.returncode)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("suite")
    (folder / "test_sample.py").write_text(MODULE)
    return folder


PYTEST = ParseSpec("pytest")
OUTCOMES = ["passed"] * 3 + ["failed"] * 2 + ["xfailed", "xpassed"]


@pytest.mark.parametrize("options", [("-v",), ("-q",), ("-v", "-s", "-rA", "--color=yes")])
def test_pytest_as_it_prints_today(read, folder, options) -> None:
    outcomes, warnings = said(read, PYTEST, *run_pytest(folder, *options))
    assert sorted(outcomes) == sorted(OUTCOMES)
    assert {"1 test left out: skipped", "2 tests left out: error"} <= {*warnings}


def test_pytest_gives_names_with_v_and_chooses_by_them(read, folder) -> None:
    spec = ParseSpec("pytest", options={"match": r"test_leak\["})
    trials, warnings = read(spec, *run_pytest(folder, "-v"))
    assert [trial.ident for trial in trials] == [f"test_sample.py::test_leak[{n}]" for n in "012"]
    assert "7 tests left out: `match` does not find them" in warnings
    with pytest.raises(ParseError, match="without a name, so that `match` cannot choose"):
        read(spec, *run_pytest(folder, "-q"))


def test_pytest_that_cannot_collect_is_an_error(read, folder, tmp_path) -> None:
    (tmp_path / "test_bad.py").write_text("import nothing_of_this_name")
    output, exit = run_pytest(tmp_path, "-v")
    with pytest.raises(ParseError, match="exit 2 after 0 trials: the reproducer itself failed"):
        read(PYTEST, output, exit)
    with pytest.raises(ParseError, match=r"1 test left out: error.*error during collection"):
        read(PYTEST, output)
    output, exit = run_pytest(folder, "-k", "nothing_of_this_name")
    with pytest.raises(ParseError, match="exit 5"):
        read(PYTEST, output, exit)


def test_junit_of_pytest_tells_the_same(read, folder, tmp_path) -> None:
    path = tmp_path / "report.xml"
    _, exit = run_pytest(folder, "-q", f"--junit-xml={path}")
    outcomes, warnings = said(read, ParseSpec("junit"), path.read_bytes(), exit)
    assert sorted(outcomes) == sorted(["passed"] * 4 + ["failed"] * 2 + ["xfailed"])
    assert "1 test left out: setup" in warnings
    assert "1 test left out: skipped" in warnings


RERUN = """\
test_kv.py::test_leak RERUN                                              [100%]
test_kv.py::test_leak RERUN                                              [100%]
test_kv.py::test_leak PASSED                                             [100%]
======================= 1 passed, 2 rerun in 0.31s =======================
"""


WORKERS = """\
============================= test session starts ==============================
2 workers [2 items]
test_kv.py::test_leak[0]
test_kv.py::test_leak[1]
[gw1] [ 50%] FAILED test_kv.py::test_leak[1]
[gw0] [100%] PASSED test_kv.py::test_leak[0]
========================= 1 failed, 1 passed in 0.31s ==========================
"""


def test_pytest_on_several_workers(read) -> None:
    trials, _ = read(PYTEST, WORKERS, FAILED)
    assert [trial.ident for trial in trials] == [f"test_kv.py::test_leak[{n}]" for n in "10"]


def test_pytest_reruns_hide_failures(read) -> None:
    outcomes, warnings = said(read, PYTEST, RERUN)
    assert outcomes == ["rerun", "rerun", "passed"]
    assert warnings == (
        "2 failing attempts that the runner tried again: each is a trial of its own",
    )
    trials, _ = read(PYTEST, "1 passed, 2 rerun in 0.31s\n")
    assert (count(trials).fail, count(trials).passed) == (2, 1)


def test_pytest_totals_that_do_not_add_up(read) -> None:
    refused(
        read, PYTEST, RERUN.replace("2 rerun", "1 rerun"),
        "the summary has 1 rerun, where the lines before it show 2",
    )  # fmt: skip


def test_pytest_in_a_loop_is_added_up_and_told(read) -> None:
    outcomes, warnings = said(read, PYTEST, "1 passed in 0.1s\n1 failed in 0.1s\n", FAILED)
    assert outcomes == ["passed", "failed"]
    assert "2 runs of pytest in this output: they are added up" in warnings


def test_pytest_that_stops_at_the_first_failure_is_told(read) -> None:
    _, warnings = said(
        read, PYTEST, "!!!!!!!! stopping after 1 failures !!!!!!!!\n1 failed in 0.1s\n", FAILED
    )
    assert warnings == ("line 1: stopping after 1 failures",)


def test_what_an_outcome_means_can_be_said(read) -> None:
    spec = ParseSpec("pytest", fail=frozenset({"failed", "error"}), passed=frozenset({"xfailed"}))
    trials, _ = read(spec, "1 passed, 2 xfailed, 1 error in 0.1s\n", FAILED)
    assert (count(trials).fail, count(trials).passed) == (1, 3)
    with pytest.raises(ParseError, match='pytest: no outcome "leak"; it has: passed, failed'):
        make(ParseSpec("pytest", fail=frozenset({"leak"})))


def test_a_runner_that_fails_without_a_failing_test(read) -> None:
    refused(read, PYTEST, "2 passed in 0.1s\n", "exit 1, yet none of 2 tests failed", FAILED)


SUREFIRE = """\
<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="KvTest" time="2.5" tests="3" errors="0" skipped="0" failures="1">
  <properties><property name="java.version" value="21"/></properties>
  <testcase name="flaky" classname="KvTest" time="0.5">
    <flakyFailure message="leak" type="AssertionError"><stackTrace>x</stackTrace></flakyFailure>
    <flakyError message="reset" type="IOException"><stackTrace>x</stackTrace></flakyError>
  </testcase>
  <testcase name="broken" classname="KvTest" time="1.0">
    <failure message="leak" type="AssertionError">x</failure>
    <rerunFailure message="leak" type="AssertionError"><stackTrace>x</stackTrace></rerunFailure>
  </testcase>
  <testcase name="fine" classname="KvTest" time="1.0"/>
</testsuite>
"""
NESTED = """\
<testsuites tests="3">
  <testsuite name="all" tests="3">
    <testsuite name="inner" tests="2"><testcase name="a"/><testcase name="b"/></testsuite>
    <testcase name="c"/>
  </testsuite>
</testsuites>
"""
JUNIT = ParseSpec("junit")


def test_junit_of_surefire_hides_failures_within_passes(read) -> None:
    outcomes, _ = said(read, JUNIT, SUREFIRE, FAILED)
    assert outcomes == ["rerun", "rerun", "passed", "rerun", "failed", "passed"]


def test_junit_nested_suites_count_once(read) -> None:
    trials, warnings = read(JUNIT, NESTED)
    assert [trial.ident for trial in trials] == ["a", "b", "c"]
    assert warnings == ()


def test_junit_totals_that_do_not_add_up_are_told(read) -> None:
    _, warnings = read(JUNIT, NESTED.replace('"all" tests="3"', '"all" tests="5"'))
    assert warnings == ('line 5: suite "all" says 5 tests and holds 3: those it holds are counted',)


def test_junit_of_several_files_is_added_up_and_told(read) -> None:
    trials, warnings = read(JUNIT, SUREFIRE.strip() + SUREFIRE, FAILED)
    assert len(trials) == 12
    assert "2 XML documents in this output: they are added up" in warnings
    assert trials[6].ident == "KvTest.flaky (4)"


def test_junit_text_around_it_and_cases_that_did_not_run(read) -> None:
    text = '..F  [100%]<?xml version="1.0"?><testsuite><testcase name="a" status="notrun"/>'
    outcomes, warnings = said(read, JUNIT, text + '<testcase name="b"/></testsuite>\nDone\n')
    assert outcomes == ["passed"]
    assert warnings == ("1 test left out: skipped",)


def test_junit_in_one_line_beyond_the_limit_of_lines(read) -> None:
    case = (
        '<testcase classname="kv" name="a"><system-out>' + "x" * 1000 + "</system-out></testcase>"
    )
    trials, warnings = read(JUNIT, f"<testsuite>{case * 2000}</testsuite>")
    assert len(trials) == 2000
    assert warnings == ()


GO = ParseSpec("go_test_json")


def events(*said: tuple[str, str] | dict[str, object]) -> str:
    lines = [one if isinstance(one, dict) else {"Action": one[0], "Test": one[1]} for one in said]
    return "\n".join(
        json.dumps({"Package": "kv", **{k: v for k, v in line.items() if v}}) for line in lines
    )


def test_go_repeats_names_and_package_events_have_no_test(read) -> None:
    output = events(
        ("start", ""), ("run", "TestA"), ("pass", "TestA"), ("run", "TestA"), ("fail", "TestA"),
        ("fail", ""),
    )  # fmt: skip
    trials, warnings = read(GO, output, FAILED)
    assert [(trial.ident, trial.outcome) for trial in trials] == [
        ("kv.TestA", "passed"),
        ("kv.TestA (2)", "failed"),
    ]
    assert warnings == ()


SUBTESTS = events(
    ("run", "TestA"), ("run", "TestA/short"), ("run", "TestA/long/x"), ("pass", "TestA/short"),
    ("fail", "TestA/long/x"), ("fail", "TestA"), ("run", "TestB"), ("run", "TestB/one"),
    ("pass", "TestB/one"), ("fail", "TestB"), ("run", "TestC"), ("pass", "TestC"), ("fail", ""),
)  # fmt: skip


def test_go_subtests_are_one_trial_with_their_test_or_trials_instead(read) -> None:
    whole, _ = read(GO, SUBTESTS, FAILED)
    assert [trial.ident for trial in whole] == ["kv.TestA", "kv.TestB", "kv.TestC"]
    each, _ = read(ParseSpec("go_test_json", options={"subtests": "true"}), SUBTESTS, FAILED)
    assert [(trial.ident, trial.outcome) for trial in each] == [
        ("kv.TestA/short", "passed"),
        ("kv.TestA/long/x", "failed"),
        ("kv.TestB/one", "passed"),
        ("kv.TestB", "failed"),
        ("kv.TestC", "passed"),
    ]


def test_go_streams_its_trials() -> None:
    parser = make(GO)
    assert GO.streams
    (trial,) = parser.feed(events(("run", "TestA"), ("pass", "TestA")).encode() + b"\n")
    assert trial.outcome == "passed"


def output(text: str) -> dict[str, object]:
    return {"Action": "output", "Output": text}


def test_go_a_dead_binary_is_a_crash_and_what_ran_beside_is_cut_short(read) -> None:
    begun = (("run", "TestA"), ("run", "TestB"))
    outcomes, _ = said(read, GO, events(*begun, ("fail", "")), FAILED)
    assert outcomes == ["crashed", "unfinished"]
    hung = events(*begun, output("panic: test timed out after 1m0s\n"), ("fail", ""))
    assert said(read, GO, hung, FAILED)[0] == ["timeout", "timeout"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (
            events(("run", "TestA"), ("pass", "TestA"), output("ok  \tkv\t(cached)\n")),
            "nothing ran, go shows an earlier result; add -count=1",
        ),
        (events(output("FAIL\tkv [build failed]\n"), ("fail", "")), "its tests did not run"),
        (events({"Action": "build-fail", "ImportPath": "kv"}), '"kv" does not build'),
        (events(("run", "TestA"), ("run", "TestA")), "TestA begins while it runs"),
        (events(("start", ""), ("start", "")), "are two runs mixed in this output?"),
        (events(("run", "TestA"), ("pass", "TestA")), "has no end: is the output cut off?"),
        (events(("start", ""), ("skip", "")), "no trials"),
    ],
)
def test_go_refused(read, text, match) -> None:
    refused(read, GO, text, match)


def test_go_a_package_again_is_told(read) -> None:
    once = events(("run", "TestA"), ("pass", "TestA"), ("pass", "")) + "\n"
    _, warnings = read(GO, once * 2)
    assert warnings == ("line 4: package kv runs again: its tests are added up",)


NEXTEST = ParseSpec("nextest")
FLAKY = """\
    Starting 2 tests across 1 binary (1 test skipped)
        PASS [   0.012s] (1/2) kv tests::one
  TRY 1 FAIL [   0.009s] (───) kv tests::two
   RETRY 2/3 [         ] (───) kv tests::two
  TRY 2 SIGSEGV [   0.009s] (───) kv tests::two
  TRY 3 PASS [   0.009s] (2/2) kv tests::two
     Summary [   0.017s] 2 tests run: 2 passed (1 flaky), 1 skipped
   FLAKY 3/3 [   0.009s] (2/2) kv tests::two
"""
OLD = """\
    Starting 1 tests across 1 binaries
   1/2 RETRY [   0.006s] kv tests::two
  TRY 2 PASS [   0.003s] kv tests::two
     Summary [   0.009s] 1 tests run: 1 passed (1 flaky), 0 skipped
"""


def test_nextest_each_try_is_a_trial(read) -> None:
    outcomes, warnings = said(read, NEXTEST, FLAKY)
    assert outcomes == ["passed", "failed", "crashed", "passed"]
    assert warnings == ("1 test left out: skipped",)
    assert said(read, NEXTEST, OLD)[0] == ["failed", "passed"]


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("2 tests run: 2 passed", "3 tests run: 3 passed", "let nextest print each test"),
        ("        PASS [   0.012s] (1/2) kv tests::one\n", "", "(--status-level pass)"),
        ("     Summary", "   Somewhere", "printed no summary: is the output cut off?"),
        ("  TRY 3 PASS [   0.009s]", "  TRY 3 TIMEOUT [  60.000s]", "the summary has 2 of 2"),
    ],
)
def test_nextest_refused(read, old, new, match) -> None:
    refused(read, NEXTEST, FLAKY.replace(old, new), match)


def test_nextest_that_was_cancelled_is_told(read) -> None:
    text = FLAKY.replace("2 tests run: 2", "2/9 tests run: 2")
    assert "line 7: only 2 of 9 tests were run" in said(read, NEXTEST, text)[1]


def test_what_went_to_stderr_is_not_looked_for_in_vain() -> None:
    parser = make(NEXTEST)
    parser.feed_stderr(FLAKY.encode())
    with pytest.raises(ParseError, match="where 8 lines went to stderr: add 2>&1"):
        parser.finish(ExitInfo(0))


BAZEL = ParseSpec("bazel")


def bazel(*lines: str, tests: int = 1) -> str:
    return "\n".join([*lines, f"Executed {tests} out of {tests} tests: x", ""])


@pytest.mark.parametrize(
    ("lines", "outcomes", "warnings"),
    [
        (["//kv:a FLAKY, failed in 1 out of 2 in 0.5s"], ["failed", "passed"], ()),
        (["//kv:a FAILED in 3 out of 4 in 0.5s"], ["failed"] * 3 + ["passed"], ()),
        (
            ["//kv:a PASSED in 0.5s", "  Stats over 3 runs: max = 0.5s, min = 0.1s"],
            ["passed"] * 3,
            (),
        ),
        (
            ["//kv:a (2/3 cached) PASSED in 0.5s", "  Stats over 3 runs: max = 0.5s"],
            ["passed"],
            ("2 tests left out: cached",),
        ),
        (["//kv:a TIMEOUT in 60.0s"], ["timeout"], ()),
        (["@@repo+//kv:a PASSED in 0.1s"], ["passed"], ()),
    ],
)
def test_bazel_runs_of_a_target_are_trials(read, lines, outcomes, warnings) -> None:
    assert said(
        read, BAZEL, bazel(*lines), ExitInfo(3) if "failed" in outcomes else ExitInfo(0)
    ) == (
        outcomes,
        warnings,
    )


def test_bazel_cached_results_and_what_did_not_build_are_no_trials(read) -> None:
    lines = ("//kv:a (cached) PASSED in 0.3s", "//kv:b FAILED TO BUILD", "//kv:c NO STATUS")
    refused(read, BAZEL, bazel(*lines, tests=3), "(1 test left out: cached; 2 tests left out: err")
    outcomes, warnings = said(read, BAZEL, bazel(*lines, "//kv:d PASSED in 0.1s", tests=4))
    assert outcomes == ["passed"]
    assert warnings == ("1 test left out: cached", "2 tests left out: error")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (bazel("//kv:a PASSED in 0.3s", tests=2), "tells of 2 tests, where the lines before it"),
        ("//kv:a PASSED in 0.3s\n", "there is no line `Executed N out of M tests`"),
        (bazel("//kv:a FAILED in 3 out of 2 in 0.5s"), "3 out of 2 does not add up"),
        (bazel(*["//kv:a PASSED in 0.3s"] * 2), "//kv:a was on line 1 already"),
    ],
)
def test_bazel_refused(read, text, match) -> None:
    refused(read, BAZEL, text, match)
