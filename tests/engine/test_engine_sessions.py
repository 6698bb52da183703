"""Sessions over HTTP as a reproducer, from the outside: a run, its counts, its transcripts."""

import json
import signal
from collections.abc import Iterator

import endpoint
import pytest
from engine_stage import Stage, staged
from forked import Command, await_that

KEY = "swordfish-swordfish"

REPRODUCER = """\
reproducers:
  trials:
    http_sessions:
      url: "http://127.0.0.1:{{ port }}/v1"
      model: "{{ model }}"
      sessions: "{{ trials }}"
      rounds: 3
      concurrency: 5
      stream: true
      timeout: 60s
      api_key: TOKEN
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
secrets: {TOKEN: {env: TOKEN}}
"""
PLAYBOOK = """\
name: baseline
kind: baseline
vars: {trials: 20, model: mixed, port: @ENDPOINT@}
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
        path = stage.root / "campaign.yaml"
        text = path.read_text(encoding="utf-8")
        start, end = text.index("reproducers:"), text.index("cost:")
        path.write_text(text[:start] + REPRODUCER + text[end:], encoding="utf-8")
        stage.toy.env["TOKEN"] = KEY
        stage.toy.playbook("baseline", PLAYBOOK.replace("@ENDPOINT@", str(port)))
        stage.up()
        done = stage.run("run", "-y", "baseline")
        assert done.code == 0, done.err
        yield stage


def trials(stage: Stage, run: str) -> list[dict[str, str]]:
    return stage.rows(
        "SELECT outcome, result, ident, keys FROM trial JOIN observation ON id = observation"
        " WHERE run = ? ORDER BY cast(ident AS int)",
        run,
    )


def test_each_session_is_a_trial_with_its_outcome_and_its_keys(seen: Stage) -> None:
    (run,) = seen.rows("SELECT id FROM run ORDER BY started_at LIMIT 1")
    found = trials(seen, run["id"])
    kinds = {one["ident"]: (one["outcome"], one["result"]) for one in found}
    assert len(found) == 20
    assert kinds["1"] == ("bad_json_args", "fail")
    assert kinds["2"] == ("schema_mismatch", "fail")
    assert kinds["3"] == ("no_tool_call", "censored")
    assert {kinds[one] for one in ("4", "5", "6")} == {("http_error", "censored")}
    assert kinds["7"] == ("maxrounds", "pass")
    assert kinds["8"] == kinds["9"] == ("done", "pass")
    assert kinds["10"] == ("leak", "fail")
    assert [one["keys"] for one in found[:3]] == ["room-1", "room-2", "room-3"]
    (observed,) = seen.rows("SELECT invalid, tail FROM observation WHERE run = ?", run["id"])
    assert observed["invalid"] is None
    assert '"why": "round 1: content has ' in observed["tail"]


def test_a_session_is_read_back_whole(seen: Stage) -> None:
    shown = seen.run("runs", "show", "baseline-", "--session", "8")
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
    leak = seen.run("runs", "show", "baseline-", "--session", "10", "--json")
    found = json.loads(leak.out)[0]["transcript"]
    assert (found["outcome"], found["seed"]) == ("leak", 10)
    assert found["rounds"][0]["events"][-1] == "[DONE]"
    missing = seen.run("runs", "show", "baseline-", "--session", "21")
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


def begin(
    stage: Stage, name: str, *changes: tuple[str, str], var: str = "trials=3", **env: str
) -> Command:
    """The baseline as another playbook, changed, of three sessions."""
    text = (stage.root / "playbooks" / "baseline.yaml").read_text(encoding="utf-8")
    for old, new in (("name: baseline", f"name: {name}"), *changes):
        assert old in text
        text = text.replace(old, new)
    stage.toy.playbook(name, text)
    return stage.start("run", "-y", name, "--var", var, **env)


def test_a_secret_goes_to_the_endpoint_and_nowhere_else(seen: Stage) -> None:
    done = begin(seen, "keyed", ("model: mixed", "model: keyed")).wait()
    assert done.code == 0, done.err
    assert [one["outcome"] for one in trials(seen, seen.newest()["id"])] == ["done"] * 3
    kept = [path for path in seen.root.rglob("*") if path.is_file()]
    assert not [path for path in kept if KEY.encode() in path.read_bytes()]


def test_sessions_that_a_stop_cuts_short_are_kept(seen: Stage, port: int) -> None:
    before = endpoint.count_at(port)
    running = begin(seen, "slow", ("model: mixed", "model: slow"))
    await_that(lambda: endpoint.count_at(port) == before + 3, "three requests")
    running.signal(signal.SIGINT)
    assert running.wait().code == 130
    assert trials(seen, seen.newest()["id"]) == []
    assert "session 2: under way" in seen.run("runs", "show", "slow-", "--session", "2").out
    seen.check_untouched()


def test_an_endpoint_that_is_not_there_is_no_clean_run(seen: Stage) -> None:
    done = begin(seen, "dead", var="port=1").wait()
    assert done.code == 3
    line = next(one for one in done.err.splitlines() if "no session was answered" in one)
    assert (
        "reproducer 'trials': no session was answered by http://127.0.0.1:1/v1: round 1: " in line
    )
    assert "itself failed" not in line
    seen.check_untouched()


def test_where_all_get_an_error_the_run_says_which(seen: Stage) -> None:
    done = begin(
        seen, "refused", ("model: mixed", "model: keyed"), TOKEN="not-the-right-one"
    ).wait()
    said = "no trial counts: all 3 censored (http_error 3: status 401: "
    assert (done.code, f"! {seen.newest()['id']}: {said}" in done.err) == (0, True), done.err
    shown = seen.run("runs", "show", "refused").out
    assert said in shown
    assert said in " ".join(seen.run("report", "--run", "refused").out.split())
    assert "observed [refused] by trials: no trials, 3 censored (fixed)" in shown


def test_transcripts_are_no_more_once_they_are_pruned(seen: Stage) -> None:
    for path in (seen.root / ".campaign").rglob("*-transcripts.jsonl"):
        path.unlink()
    shown = seen.run("runs", "show", "baseline-", "--session", "8")
    assert shown.code == 2
    assert "has no transcripts: they are kept of http_sessions, until pruned" in shown.err
