"""Load tools and benchmarks: stress, hyperfine, k6, serving benchmarks, and plain JSON."""

import json
import re

import pytest
from parsers_samples import HYPERFINE, K6, SERVING, STRESS

from hypotheses.observation import Result, count
from playbooks.parsers import ExitInfo, ParseError, make
from playbooks.system import ParseSpec

FAIL, PASS = frozenset({"leak"}), frozenset({"done"})


def counted(read, spec: ParseSpec, text: str, exit: ExitInfo = ExitInfo(0)):  # noqa: B008
    trials, warnings = read(spec, text, exit)
    counts = count(trials)
    return (counts.fail, counts.passed, counts.censored), warnings


def refused(read, spec: ParseSpec, text: str, match: str, exit: ExitInfo = ExitInfo(0)):  # noqa: B008
    with pytest.raises(ParseError, match=re.escape(match)):
        read(spec, text, exit)


GO_STRESS = ParseSpec("go_stress")


def test_stress_lines_are_cumulative(read) -> None:
    assert counted(read, GO_STRESS, STRESS, ExitInfo(1)) == ((3, 97, 0), ())


def test_stress_that_is_stopped_has_what_its_last_line_says(read) -> None:
    text = "1m5s: 96 runs so far, 2 failures (2.08%)\n1m10s: 99 ru"
    assert counted(read, GO_STRESS, text, ExitInfo(timed_out=True)) == ((2, 94, 0), ())
    ended = counted(read, GO_STRESS, text)[1]
    assert ended == ("line 1 is no total: is the output cut off?",)


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        ("100 runs total", "90 runs total", "do not add to those of line 2"),
        ("3 failures", "1 failures", "are there two runs in this output?"),
        ("100 runs total, 3", "100 runs total, 300", "300 failures in 100 runs do not add up"),
    ],
)
def test_stress_refused(read, old, new, match) -> None:
    refused(read, GO_STRESS, STRESS.replace(old, new), match)


def test_stress_a_printed_percentage_is_recomputed(read) -> None:
    counts, warnings = counted(read, GO_STRESS, STRESS.replace("3.00%", "8%"))
    assert counts == (3, 97, 0)
    assert warnings == ("line 6: prints 8%, where 3/100 is 3.00%: the counts are used",)


def hyperfine(**more: object) -> str:
    return json.dumps({"results": [{**HYPERFINE["results"][0], **more}]})


BENCH = ParseSpec("hyperfine")


def test_hyperfine_in_both_schemas(read) -> None:
    old, _ = read(BENCH, hyperfine())
    new = {
        "metadata": {"json_schema_version": 2},
        "results": [
            {
                "command": "./repro.sh",
                "summary": {},
                "measurements": [
                    {"time_wall_clock": {"value": seconds, "unit": "second"}, "exit_code": code}
                    for seconds, code in zip([0.4, 0.5, 0.6], [0, 1, 0], strict=True)
                ],
            }
        ],
    }
    assert read(BENCH, json.dumps(new))[0] == old
    assert [(one.outcome, one.seconds) for one in old] == [
        ("clean", 0.4),
        ("exit 1", 0.5),
        ("clean", 0.6),
    ]
    assert old[0].attributes == (("command", "./repro.sh"),)


def test_hyperfine_exit_codes_follow_the_contract(read) -> None:
    text = hyperfine(exit_codes=[0, 124, 125, 7], times=None)
    assert counted(read, BENCH, text) == (
        (1, 1, 1),
        ("1 run without a result (exit 125) left out",),
    )


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (hyperfine(exit_codes=None), "has no exit codes, so that failed runs cannot be told"),
        (hyperfine(exit_codes=[0, 1]), "2 exit codes and 3 times"),
        (hyperfine(exit_codes=[0, None, 0]), "the reproducer itself failed"),
        (hyperfine(exit_codes=[0, 127, 0]), "the command was not found"),
        ('{"results": [{"measurements": [{}]}]}', "a measurement without exit_code"),
        ('{"metrics": {}}', "JSON without results"),
        ("Benchmark 1: ./repro.sh\n  Time: 1 s\n", "no trials in 2 lines of output"),
    ],
)
def test_hyperfine_refused(read, text, match) -> None:
    refused(read, BENCH, text, match)


def test_hyperfine_commands_are_chosen_by_match(read) -> None:
    both = {"results": [HYPERFINE["results"][0], {"command": "true", "exit_codes": [0]}]}
    spec = ParseSpec("hyperfine", options={"match": "repro"})
    assert counted(read, spec, json.dumps(both)) == (
        (1, 2, 0),
        ("1 benchmark left out: `match` does not find them",),
    )


def k6(metric: str = "checks", **outcomes: frozenset[str]) -> ParseSpec:
    return ParseSpec("k6", options={"metric": metric}, **outcomes)


OLD = """\
     ✗ status is 200
      ↳  97% — ✓ 97 / ✗ 3

   ✗ checks.........................: 97.00% ✓ 97       ✗ 3
     data_received..................: 11 kB  12 kB/s
   ✓ http_req_failed................: 4.00%  ✓ 2        ✗ 48
     garbled........................: 10.00% ✓ 1        ✗ 9
"""


@pytest.mark.parametrize("text", [OLD, K6])
def test_k6_old_and_new_and_the_tick_that_counts_failures(read, text) -> None:
    assert counted(read, k6(), text) == ((3, 97, 0), ())
    assert counted(read, k6("http_req_failed"), text, ExitInfo(99)) == ((2, 48, 0), ())


def test_k6_another_rate_means_what_parse_says(read) -> None:
    both = {"fail": frozenset({"true"}), "passed": frozenset({"false"})}
    assert counted(read, k6("garbled", **both), OLD) == ((1, 9, 0), ())
    with pytest.raises(ParseError, match="k6: what is a failure of garbled"):
        make(k6("garbled"))


@pytest.mark.parametrize("wrap", [lambda rate: rate, lambda rate: {"type": "rate", "values": rate}])
def test_k6_as_json(read, wrap) -> None:
    rate = {"passes": 2, "fails": 48, "value": 0.04}
    text = json.dumps({"metrics": {"http_req_failed": wrap(rate)}, "root_group": {}}, indent=1)
    assert counted(read, k6("http_req_failed"), text) == ((2, 48, 0), ())
    refused(read, k6(), text, "expected the rate checks in k6's summary")
    wrong = text.replace("0.04", "0.4")
    assert "2/50 is 4.00%: the counts are used" in counted(read, k6("http_req_failed"), wrong)[1][0]


def test_k6_a_rate_that_is_not_there(read) -> None:
    tagged = "      { expected_response:true }.......: avg=140.36ms min=119.08ms\n"
    refused(read, k6(), tagged, "expected the rate checks in k6's summary")


def test_k6_printed_percentages_are_recomputed_and_two_runs_refused(read) -> None:
    _, warnings = counted(read, k6(), K6.replace("97.00%", "99.00%"))
    assert warnings == ("line 4: prints 99.0%, where 97/100 is 97.00%: the counts are used",)
    refused(read, k6(), K6 + K6, "a second checks, after that of line 4")


SERVE = ParseSpec("serving_bench")


def serving(**more: object) -> str:
    return json.dumps({**SERVING, **more})


def test_serving_garbled_text_counts_as_a_success_until_it_is_checked(read) -> None:
    assert counted(read, SERVE, serving())[0] == (1, 3, 0)
    reject = ParseSpec("serving_bench", options={"reject": r"<\|tool_call"})
    trials, _ = read(reject, serving())
    assert [trial.outcome for trial in trials] == ["ok", "ok", "garbled", "error"]
    assert [trial.attributes for trial in trials][1:3] == [
        (("input_len", "512"),),
        (("input_len", "8192"),),
    ]
    assert trials[0].seconds == pytest.approx(0.12)
    require = ParseSpec("serving_bench", options={"require": "^[A-Z][a-z]+$"})
    assert counted(read, require, serving())[0] == (2, 2, 0)


def test_serving_what_an_error_means_can_be_said(read) -> None:
    spec = ParseSpec("serving_bench", censored=frozenset({"error"}))
    assert counted(read, spec, serving())[0] == (0, 3, 1)


def test_serving_totals_alone(read) -> None:
    vllm = {"backend": "vllm", "num_prompts": 100, "completed": 97}
    counts, warnings = counted(read, SERVE, json.dumps(vllm))
    assert counts == (3, 97, 0)
    assert "garbled and empty ones count as ok" in warnings[0]
    assert counted(read, SERVE, json.dumps({**vllm, "failed": 3}))[0] == (3, 97, 0)


@pytest.mark.parametrize(
    ("spec", "text", "match"),
    [
        (SERVE, json.dumps({"completed": 97}), "how many requests failed is not in it"),
        (SERVE, json.dumps({"completed": 9, "failed": 3, "num_prompts": 9}), "do not add up"),
        (SERVE, serving(completed=4), "do not add up"),
        (SERVE, serving() + "\n" + serving(), "remove it before each run"),
        (
            ParseSpec("serving_bench", options={"reject": "x"}),
            json.dumps({"completed": 97, "num_prompts": 97}),
            "the texts to be checked are not in it",
        ),
        (SERVE, "Successful requests:    97\n", "expected the JSON result of a serving benchmark"),
    ],
)
def test_serving_refused(read, spec, text, match) -> None:
    refused(read, spec, text, match)


def test_serving_an_empty_answer_is_no_success(read) -> None:
    text = serving(generated_texts=["Paris", " ", "Rome", ""])
    assert counted(read, SERVE, text)[0] == (2, 2, 0)


def json_spec(**options: str) -> ParseSpec:
    return ParseSpec("json", FAIL, PASS, options=options, attributes=("length",))


RESULT = json.dumps(
    {
        "run": {
            "sessions": [
                {"outcome": "leak", "id": 1, "length": "long", "seconds": 2},
                {"outcome": "done", "id": 2, "length": "short"},
                {"note": "no session"},
            ],
            "totals": {"leak": 3, "done": 37, "other": 0},
            "outcomes": ["leak", "done", "done"],
            "rate": 0.1,
        }
    },
    indent=2,
)


def test_json_a_list_of_trials_totals_or_outcomes(read) -> None:
    spec = json_spec(path="run.sessions", id="id", seconds="seconds")
    trials, warnings = read(spec, f"[INFO] starting\n[1] 4711\n{{x}}\n{RESULT}\nbye\n")
    assert [(one.ident, one.result, one.attributes) for one in trials] == [
        ("1", Result.FAIL, (("length", "long"),)),
        ("2", Result.PASS, (("length", "short"),)),
    ]
    assert warnings == (
        'field "seconds" is missing in 1 of 2 trials',
        '1 item without a field "outcome" left out',
    )
    assert counted(read, json_spec(path="run.totals"), RESULT) == ((3, 37, 0), ())
    assert counted(read, json_spec(path="run.outcomes"), RESULT) == ((1, 2, 0), ())
    assert counted(read, json_spec(), 'x\n[\n"leak",\n"done"]\n') == ((1, 1, 0), ())


@pytest.mark.parametrize(
    ("path", "text", "match"),
    [
        ("run.nothing", RESULT, 'line 1: the JSON document has nothing at path "run.nothing"'),
        ("run.rate", RESULT, "0.1 where a JSON document with a list of trials, or totals"),
        ("run", RESULT, 'has [{"outcome":'),
        ("run.outcomes", RESULT.replace('"done"\n', '"lost"\n'), 'item 3: outcome "lost" is in no'),
        ("run.sessions", RESULT[:-9], "has no end: is the output cut off?"),
        ("run.sessions", f"{RESULT}\n{RESULT}", "a second JSON document, after that of line 1"),
        ("run.sessions", "{'run': 1}", "no trials in 1 line of output: expected a JSON document"),
        ("run.sessions", '{"run": 1,}', 'line 1: "{\\"run\\": 1,}" begins no JSON document'),
        ("run.sessions", RESULT.replace('"id": 2', '"id": 1'), 'item 2: trial "1" was on item 1'),
    ],
)
def test_json_refused(read, path, text, match) -> None:
    refused(read, json_spec(path=path, id="id"), text, match)
