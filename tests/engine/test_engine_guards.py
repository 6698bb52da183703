"""Guards that trip, and what is kept of a failed run before it is put back."""

import signal
from pathlib import Path

import pytest
from engine_stage import Stage
from forked import await_that

TOLD = "do: 'test -e once || { touch once; exit 0; }; touch broken; "
FAILING = """\
name: failing
kind: fix
question: What does it look like when it fails?
steps:
  - patch: {root: src, diff: patches/fix.diff}
  - restart: {services: [app]}
  - name: look
    command: {do: [sh, -c, "echo no luck; exit 3"], undo: ["true"]}
"""
EVIDENCE = """\
on_failure:
  capture: [{do: 'echo stack of $MAINPID', service: app}, {name: broken, do: 'exit 7'}]
  collect: [app]
  hold: %s
cost:"""


def guarded(stage: Stage, guard: str) -> None:
    stage.edit("campaign.yaml", "cost:", f"guard: [{guard}]\ncost:")


def test_a_guard_that_trips_stops_the_run_and_puts_back(stage: Stage) -> None:
    guarded(stage, f"{{command: 'test ! -e {stage.root}/broken', every: 20ms, failures: 2}}")
    assert "guard: test ! -e" in stage.run("plan", "fix").out
    running = stage.start("run", "fix", "-y", "-e", "trials=1000000")
    running.until("restart app  ok")
    (stage.root / "broken").touch()
    running.wait()
    assert running.code == 3, running.err
    assert "guard: /bin/sh -c test ! -e" in running.err
    newest = stage.newest()
    assert (newest["status"], newest["state"]) == ("aborted", "clean")
    assert newest["error"].startswith("guard: ")
    kinds = stage.rows("SELECT kind FROM step WHERE status = 'failed'")
    assert kinds == [{"kind": "guard"}]
    stage.check_untouched()
    stage.check_recovered()
    refused = stage.run("run", "fix", "-y")
    assert refused.code == 6
    assert "guard on here does not hold: " in refused.err


def test_a_guard_of_what_restarts_rests_meanwhile(stage: Stage) -> None:
    guarded(stage, f'{{http: "http://127.0.0.1:{stage.toy.port}/health", every: 10ms}}')
    ended = stage.run("run", "baseline", "fix", "-y")
    assert ended.code == 0, ended.err
    stage.edit("campaign.yaml", "every: 10ms", "every: 10ms, through_restarts: true")
    ended = stage.run("run", "fix", "-y")
    assert ended.code == 3, ended.err
    assert "a guard does not hold" in ended.err, "refused or reset: it went down"
    stage.check_untouched()
    stage.check_recovered()


def test_a_guard_that_trips_on_the_way_back_stops_nothing(stage: Stage) -> None:
    """It is asked a second time before the way back goes on: by then it has been told."""
    looks = "test ! -e broken || { echo look >> looks; exit 1; }"
    guarded(stage, f"{{command: 'cd {stage.root} && {looks}', every: 20ms}}")
    waits = "until [ $(cat looks 2>/dev/null | wc -l) -ge 2 ]; do sleep 0.05; done'"
    hook = f"    before_stop: [{{{TOLD}{waits}}}]\n    ports:"
    stage.edit("campaign.yaml", "    ports:", hook)
    ended = stage.run("run", "fix", "-y", "-e", "trials=5")
    assert ended.code == 0, ended.err
    assert "putting back goes on" in ended.err
    assert stage.newest()["status"] == "completed"
    kinds = stage.rows("SELECT kind FROM step WHERE status = 'failed'")
    assert kinds == [{"kind": "guard"}]
    stage.check_untouched()
    stage.check_recovered()


@pytest.mark.parametrize("end", ["resume", "interrupt", "time"])
def test_a_failed_run_is_held_with_its_evidence(stage: Stage, end: str) -> None:
    stage.edit("campaign.yaml", "cost:", EVIDENCE % ("1ms" if end == "time" else "10m"))
    stage.toy.playbook("failing", FAILING)
    running = stage.start("run", "failing", "-y")
    running.until("held as it is")
    if end != "time":
        await_that(lambda: "hold" in running.err, "the hold has begun")
        assert "bug False" in stage.toy.ask("/health"), "the change is still there"
    if end == "resume":
        assert stage.run("runs", "resume", "failing").code == 0
    elif end == "interrupt":
        running.signal(signal.SIGINT)
    running.wait()
    assert running.code == 3, running.err
    assert "no luck" in running.err
    steps = stage.rows("SELECT name, status FROM step WHERE kind IN ('capture', 'collect', 'hold')")
    assert [tuple(one.values()) for one in steps] == [
        ("capture echo-app", "completed"),
        ("capture broken", "failed"),
        ("collect app", "completed"),
        ("hold", "completed"),
    ]
    (artifact,) = stage.rows("SELECT path FROM artifact WHERE name = 'echo-app.txt'")
    said = Path(stage.root / artifact["path"]).read_text(encoding="utf-8")
    assert said.startswith("stack of ")
    assert said.split()[-1].isdigit()
    stage.check_untouched()
    stage.check_recovered()
