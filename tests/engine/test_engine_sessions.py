"""Sessions over HTTP as a reproducer, from the outside: a run, its counts, its transcripts."""

import json
from collections.abc import Iterator
from pathlib import Path

import endpoint
import pytest
from engine_stage import Stage, staged

KEY = "swordfish-swordfish"

REPRODUCER = """\
reproducers:
  trials:
    http_sessions:
      url: http://127.0.0.1:@ENDPOINT@/v1
      model: "{{ model }}"
      sessions: "{{ trials }}"
      rounds: 3
      concurrency: 5
      stream: true
      timeout: 60s
      messages: [{role: user, content: "Session {{ session }}: how is the weather?"}]
      tools:
        - type: function
          function:
            name: weather
            parameters: {type: object, properties: {city: {type: string}}, required: [city]}
      tool_results: {weather: '{{ tool }} for {{ arguments }}: rain'}
      key: {header: x-room}
    timeout: 2m
    on_timeout: censored
"""
PLAYBOOK = """\
name: baseline
kind: baseline
vars: {trials: 20, model: mixed}
steps:
  - restart: {services: [app]}
  - reproduce: {use: trials}
"""


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with endpoint.running() as port:
        yield port


@pytest.fixture(scope="module")
def seen(port: int) -> Iterator[Stage]:
    """A stage on which a baseline of 20 sessions, of all kinds, has run."""
    with staged("sessions-") as stage:
        prepare(stage, port)
        done = stage.run("run", "-y", "baseline")
        assert done.code == 0, done.err
        yield stage


def prepare(stage: Stage, port: int, *changes: tuple[str, str]) -> None:
    path = stage.root / "campaign.yaml"
    text = path.read_text(encoding="utf-8")
    start, end = text.index("reproducers:"), text.index("cost:")
    reproducer = REPRODUCER.replace("@ENDPOINT@", str(port))
    for old, new in changes:
        assert old in reproducer
        reproducer = reproducer.replace(old, new)
    path.write_text(text[:start] + reproducer + text[end:], encoding="utf-8")
    stage.toy.playbook("baseline", PLAYBOOK)
    stage.up()


def test_each_session_is_a_trial_with_its_outcome_and_its_keys(seen: Stage) -> None:
    trials = seen.rows("SELECT outcome, result, ident, keys FROM trial ORDER BY cast(ident AS int)")
    kinds = {one["ident"]: (one["outcome"], one["result"]) for one in trials}
    assert len(trials) == 20
    assert kinds["1"] == ("bad_json_args", "fail")
    assert kinds["2"] == ("schema_mismatch", "fail")
    assert kinds["3"] == ("no_tool_call", "censored")
    assert {kinds[one] for one in ("4", "5", "6")} == {("http_error", "censored")}
    assert kinds["7"] == ("maxrounds", "pass")
    assert kinds["8"] == kinds["9"] == ("done", "pass")
    assert kinds["10"] == ("leak", "fail")
    assert [one["keys"] for one in trials[:3]] == ["room-1", "room-2", "room-3"]
    (observed,) = seen.rows("SELECT invalid, tail FROM observation")
    assert observed["invalid"] is None
    assert '"why": "round 1: content has ' in observed["tail"]


def test_a_session_is_read_back_whole(seen: Stage) -> None:
    shown = seen.run("runs", "show", "baseline", "--session", "8")
    assert shown.code == 0, shown.err
    for text in (
        "session 8: done",
        "Session 8: how is the weather?",
        'weather({"city": "Oslo"})',
        'weather for {"city": "Oslo"}: rain',
        'It says weather for {"city": "Oslo"}: rain.',
        "round 2: 200",
    ):
        assert text in shown.out, shown.out
    leak = seen.run("runs", "show", "baseline", "--session", "10", "--json")
    found = json.loads(leak.out)[0]["transcript"]
    assert (found["outcome"], found["seed"]) == ("leak", 10)
    assert found["rounds"][0]["events"][-1] == "[DONE]"
    missing = seen.run("runs", "show", "baseline", "--session", "21")
    assert missing.code == 2
    assert "has no session 21" in missing.err


def test_what_rounds_took_is_told_beside_the_run(seen: Stage) -> None:
    rows = seen.rows("SELECT round, what, n, p50_s, max_s FROM round_latency ORDER BY round, what")
    assert [(one["round"], one["what"]) for one in rows] == [
        (number, what) for number in (1, 2, 3) for what in ("answer", "first token")
    ]
    assert all(0 < one["p50_s"] <= one["max_s"] for one in rows)
    shown = seen.run("runs", "show", "baseline").out
    assert "round 1: answer after" in shown
    report = seen.run("report").out
    assert "Latency: round 1: answer after" in report
    assert "campaign runs show" in report
    assert "--session N" in report


def test_a_secret_goes_to_the_endpoint_and_nowhere_else(bare: Stage, port: int) -> None:
    key = ('model: "{{ model }}"', "model: keyed\n      api_key: TOKEN")
    prepare(bare, port, key)
    with (bare.root / "campaign.yaml").open("a", encoding="utf-8") as file:
        file.write("secrets: {TOKEN: {env: TOKEN}}\n")
    bare.toy.playbook("baseline", PLAYBOOK.replace("trials: 20, model: mixed", "trials: 2"))
    bare.toy.env["TOKEN"] = KEY
    done = bare.run("run", "-y", "baseline")
    assert done.code == 0, done.err
    assert "failed 0/2" in done.err
    kept = [path for path in bare.root.rglob("*") if path.is_file() and "env" not in path.parts]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


def test_a_timeout_censors_what_was_under_way_and_keeps_it(bare: Stage, port: int) -> None:
    prepare(bare, port, ("timeout: 2m", "timeout: 2s"), ('"{{ model }}"', "slow"))
    bare.toy.playbook("baseline", PLAYBOOK.replace("trials: 20, model: mixed", "trials: 3"))
    done = bare.run("run", "-y", "baseline")
    assert done.code == 0, done.err
    assert bare.rows("SELECT result, count(*) AS n FROM trial GROUP BY result") == [
        {"result": "censored", "n": 3}
    ]
    shown = bare.run("runs", "show", "baseline", "--session", "2").out
    assert "session 2: under way" in shown


def test_an_endpoint_that_is_not_there_is_no_clean_run(bare: Stage) -> None:
    prepare(bare, 1, ('"{{ model }}"', "mixed"))
    bare.toy.playbook("baseline", PLAYBOOK.replace(", model: mixed", ""))
    done = bare.run("run", "-y", "baseline")
    assert done.code == 3
    assert "no session was answered by http://127.0.0.1:1/v1" in done.err
    bare.check_untouched()


def test_what_cannot_be_driven_is_refused_before_anything_runs(bare: Stage, port: int) -> None:
    prepare(bare, port, ("concurrency: 5", 'concurrency: "{{ model }}"'))
    done = bare.run("run", "-y", "baseline")
    assert done.code == 2
    assert "concurrency is 'mixed': expected a whole number above 0" in done.err
    assert Path(bare.root / "campaign.db").exists()
