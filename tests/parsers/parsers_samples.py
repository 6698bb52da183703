"""For each format an output without a fault: what it says, and what is to be read in it."""

import json
from dataclasses import dataclass

from playbooks.system import ParseSpec


@dataclass(frozen=True)
class Sample:
    """An output, how it is parsed, and its trials that failed and passed."""

    spec: ParseSpec
    text: str
    fail: int
    passed: int

    @property
    def trials(self) -> int:
        return self.fail + self.passed


def _event(action: str, test: str = "", **more: object) -> str:
    event = {"Time": "2026-01-05T10:00:00Z", "Action": action, "Package": "example.com/kv"}
    return json.dumps({**event, **({"Test": test} if test else {}), **more})


LEAK = (frozenset({"leak"}), frozenset({"done"}))

PYTEST = """\
============================= test session starts ==============================
platform linux -- Python 3.11.7, pytest-9.2.0
collected 3 items

test_kv.py::test_leak[0] PASSED                                          [ 33%]
test_kv.py::test_leak[1] FAILED                                          [ 66%]
test_kv.py::test_leak[2] PASSED                                          [100%]

=================================== FAILURES ===================================
_________________________________ test_leak[1] _________________________________
E       assert 1 != 1
=========================== short test summary info ============================
FAILED test_kv.py::test_leak[1] - assert 1 != 1
========================= 1 failed, 2 passed in 0.12s ==========================
"""
JUNIT = """\
<?xml version="1.0" encoding="utf-8"?>
<testsuites>
  <testsuite name="kv" tests="3" failures="1" errors="0" skipped="0" timestamp="2026-01-05T10:00">
    <testcase classname="kv" name="one" time="0.5"/>
    <testcase classname="kv" name="two" time="0.5"><failure message="leak">x</failure></testcase>
    <testcase classname="kv" name="three" time="1,234.5"/>
  </testsuite>
</testsuites>
"""
GO = "\n".join(
    [
        _event("start"),
        *(
            line
            for elapsed, end in ((0.25, "pass"), (0.5, "fail"), (0.25, "pass"))
            for line in (
                _event("run", "TestLeak"),
                _event("output", "TestLeak", Output="=== RUN   TestLeak\n"),
                _event(end, "TestLeak", Elapsed=elapsed),
            )
        ),
        _event("output", Output="FAIL\n"),
        _event("fail", Elapsed=1.5),
        "",
    ]
)
STRESS = """\
5s: 48 runs so far, 0 failures, 8 active
10s: 96 runs so far, 2 failures (2.08%), 8 active

/tmp/go-stress-20260105T100000-123456
--- FAIL: TestLeak (0.00s)
12s: 100 runs total, 3 failures (3.00%)
"""
NEXTEST = """\
────────────
 Nextest run ID 80cc5822-420a-44fb-99a0-9a819155c820 with nextest profile: default
    Starting 3 tests across 1 binary
        PASS [   0.012s] (1/3) kv tests::one
        FAIL [   0.009s] (2/3) kv tests::two
  stdout ───

    running 1 test
        PASS [   0.010s] (3/3) kv tests::three
────────────
     Summary [   0.031s] 3 tests run: 2 passed, 1 failed, 0 skipped
        FAIL [   0.009s] (2/3) kv tests::two
error: test run failed
"""
BAZEL = """\
INFO: Analyzed 3 targets (0 packages loaded).
//kv:one_test                                                            PASSED in 0.3s
//kv:three_test                                                          PASSED in 0.4s
//kv:two_test                                                            FAILED in 0.5s
  /root/.cache/bazel/testlogs/kv/two_test/test.log

Executed 3 out of 3 tests: 2 tests pass and 1 fails locally.
"""
HYPERFINE = {
    "results": [
        {
            "command": "./repro.sh",
            "mean": 0.5,
            "times": [0.4, 0.5, 0.6],
            "exit_codes": [0, 1, 0],
        }
    ]
}
K6 = """\
  █ TOTAL RESULTS

    checks_total.......................: 100     13.122179/s
    checks_succeeded...................: 97.00%  97 out of 100
    checks_failed......................: 3.00%   3 out of 100

    HTTP
    http_req_failed....................: 4.00%   2 out of 50
"""
SERVING = {
    "backend": "sglang",
    "completed": 3,
    "input_lens": [512, 512, 8192, 8192],
    "ttfts": [0.1, 0.1, 0.2, 0.0],
    "itls": [[0.01, 0.01], [0.01], [0.02], []],
    "generated_texts": ["Paris", "Rome", "<|tool_call|>{", ""],
    "errors": ["", "", "", "Internal Server Error"],
}

SAMPLES = {
    "counts": Sample(ParseSpec("counts", *LEAK), 'counts={"leak": 3, "done": 37}\n', 3, 37),
    "regex": Sample(
        ParseSpec("regex", *LEAK, options={"match": "session (?P<id>.+): (?P<outcome>.+)"}),
        "session 1: leak\nsession 2: done\nsession 3: done\n",
        1,
        2,
    ),
    "regex totals": Sample(
        ParseSpec("regex", options={"match": "(?P<fail>[0-9]+) of (?P<total>[0-9]+) leaked"}),
        "3 of 40 leaked\n",
        3,
        37,
    ),
    "jsonl": Sample(
        ParseSpec("jsonl", *LEAK, options={"id": "n"}),
        '{"n": 1, "outcome": "leak"}\n{"n": 2, "outcome": "done"}\n',
        1,
        1,
    ),
    "json": Sample(
        ParseSpec("json", *LEAK, options={"path": "run.sessions"}),
        '{"run": {"sessions": [\n  {"outcome": "leak"},\n  {"outcome": "done"}\n]}}\n',
        1,
        1,
    ),
    "pytest": Sample(ParseSpec("pytest"), PYTEST, 1, 2),
    "junit": Sample(ParseSpec("junit"), JUNIT, 1, 2),
    "go_test_json": Sample(ParseSpec("go_test_json"), GO, 1, 2),
    "go_stress": Sample(ParseSpec("go_stress"), STRESS, 3, 97),
    "nextest": Sample(ParseSpec("nextest"), NEXTEST, 1, 2),
    "bazel": Sample(ParseSpec("bazel"), BAZEL, 1, 2),
    "hyperfine": Sample(ParseSpec("hyperfine"), json.dumps(HYPERFINE, indent=2) + "\n", 1, 2),
    "k6": Sample(ParseSpec("k6"), K6, 3, 97),
    "serving_bench": Sample(
        ParseSpec("serving_bench", options={"reject": r"<\|tool"}), json.dumps(SERVING) + "\n", 2, 2
    ),
}
