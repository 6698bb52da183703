"""Commands with an undo, HTTP and wait steps, arms, several playbooks: what a run is made of."""

import signal

import pytest
from engine_stage import Stage
from forked import await_that

COMMAND = """
name: marked
kind: fix
question: Does the mark matter?
vars: {{trials: "{trials}"}}
steps:
  - name: before the restart
    command: {{on: here, do: [touch, early], undo: [rm, early], check: [test, -e, early]}}
  - restart: {{services: [app]}}
  - name: leave a mark
    command: {{on: here, do: [{do}, mark], undo: [rm, -f, mark], check: [test, -e, mark]}}
  - reproduce: {{use: trials}}
"""

ARMS = """
name: arms
hypothesis: rule
kind: fix
question: Does the rule matter?
arms: [control, treatment]
vars: {trials: 40}
steps:
  - patch: {root: src, diff: patches/fix.diff}
    when: treatment
  - restart: {services: [app]}
  - reproduce: {use: trials}
verdict: {by: rate, expect: drop, against: control}
"""

SAME_FILE = """
name: other
kind: fix
question: Does it fail with another rule?
vars: {trials: 5}
steps:
  - patch: {root: src, replace: {path: rule.py, old: "BUG = True", new: "BUG = 0"}}
  - restart: {services: [app]}
  - reproduce: {use: trials}
"""

LOOKING = """
name: looking
kind: probe
question: What does it answer?
steps:
  - restart: {{services: [app]}}
  - wait: 10ms
  - name: ask it
    http: {{url: "http://127.0.0.1:{port}/env", match: {match}}}
"""


def marks(stage: Stage) -> list[str]:
    return [name for name in ("early", "mark") if (stage.root / name).exists()]


def test_a_command_is_undone_at_the_end_of_its_boot(stage: Stage) -> None:
    stage.toy.playbook("marked", COMMAND.format(do="touch", trials=2))
    seen = 'import os\nassert os.path.exists("early") and os.path.exists("mark")\n'
    stage.edit("repro.py", "import json\n", f"import json\n{seen}")
    ended = stage.run("run", "marked", "safe-mode", "-y")
    assert ended.code == 3, "the second run has no marks"
    assert "AssertionError" in ended.err
    statuses = stage.rows("SELECT status FROM run ORDER BY started_at")
    assert [one["status"] for one in statuses] == ["completed", "failed"]
    assert marks(stage) == []
    stage.check_untouched()
    stage.check_recovered()


def test_a_command_is_undone_after_kill_9(stage: Stage) -> None:
    stage.toy.playbook("marked", COMMAND.format(do="touch", trials=100000))
    running = stage.start("run", "marked", "-y")
    await_that((stage.root / "mark").exists, "the mark")
    running.signal(signal.SIGKILL)
    running.wait()
    assert marks(stage) == ["early", "mark"]
    recovered = stage.run("recover")
    assert recovered.code == 0, recovered.out
    assert marks(stage) == []
    stage.check_untouched()
    stage.check_recovered()


def test_a_command_without_effect_fails_its_step(stage: Stage) -> None:
    stage.toy.playbook("marked", COMMAND.format(do="echo", trials=2))
    ended = stage.run("run", "marked", "-y")
    assert ended.code == 3
    assert "check exited 1" in ended.err
    assert marks(stage) == []
    stage.check_recovered()


def test_a_command_that_never_ran_leaves_nothing_to_undo(stage: Stage) -> None:
    """Nor does its undo have to be possible: that program is not there, either."""
    command = COMMAND.format(do="no-such-program", trials=2)
    undo = "undo: [rm, -f, mark], check: [test, -e, mark]"
    stage.toy.playbook("marked", command.replace(undo, "undo: [gone]"))
    ended = stage.run("run", "marked", "-y")
    assert ended.code == 3, ended.err
    assert "cannot run no-such-program: no such program in PATH" in ended.err
    stage.check_untouched()
    stage.check_recovered()


def test_an_effect_that_was_there_before_is_not_undone(stage: Stage) -> None:
    (stage.root / "mark").touch()
    stage.toy.playbook("marked", COMMAND.format(do="touch", trials=2))
    ended = stage.run("run", "marked", "-y")
    assert ended.code == 3
    assert "in place already, so it is not ours to undo" in ended.err
    assert marks(stage) == ["mark"]


def test_a_step_without_undo_is_flagged_in_the_plan(stage: Stage) -> None:
    stage.toy.playbook("marked", COMMAND.format(do="touch", trials=2))
    stage.edit("playbooks/marked.yaml", "undo: [rm, -f, mark], ", "")
    assert "leave a mark" in stage.run("plan", "marked").out.split("undo")[-1]


@pytest.mark.parametrize(("match", "code"), [("plain", 0), ("safe", 3)])
def test_http_and_wait_steps(stage: Stage, match: str, code: int) -> None:
    stage.toy.playbook("looking", LOOKING.format(port=stage.toy.port, match=match))
    ended = stage.run("run", "looking", "-y")
    assert ended.code == code, ended.err
    steps = stage.rows("SELECT kind, status FROM step ORDER BY position")
    assert [one["kind"] for one in steps] == ["restart", "wait", "http"]
    assert steps[-1]["status"] == ("completed" if code == 0 else "failed")
    assert "/env" in ended.err
    stage.check_untouched()


def test_arms_are_compared_with_each_other(stage: Stage) -> None:
    stage.toy.playbook("arms", ARMS)
    ended = stage.run("run", "arms", "-y", "--json")
    assert ended.code == 0, ended.err
    rates = stage.rows("SELECT arm, fail, n FROM trial_rates ORDER BY arm")
    assert rates == [
        {"arm": "control", "fail": 8, "n": 40},
        {"arm": "treatment", "fail": 0, "n": 40},
    ]
    assert "verdict (rule): inconclusive, leading" in ended.err
    assert "treatment 0/40" in ended.err
    assert "control 8/40" in ended.err
    assert len(stage.rows("SELECT id FROM cycle")) == 3
    stage.check_untouched()
    stage.check_recovered()


def test_two_playbooks_that_touch_one_file(stage: Stage) -> None:
    stage.toy.playbook("other", SAME_FILE)
    ended = stage.run("run", "fix", "other", "fix", "-y", "-e", "trials=5")
    assert ended.code == 0, ended.err
    rates = stage.rows(
        "SELECT fail, n, run.playbook AS playbook FROM trial_rates JOIN run ON id = run"
        " ORDER BY started_at"
    )
    assert [(one["playbook"], one["fail"], one["n"]) for one in rates] == [
        ("fix", 0, 5),
        ("other", 0, 5),
        ("fix", 0, 5),
    ]
    assert len(stage.rows("SELECT id FROM cycle")) == 4
    effects = stage.rows("SELECT effect FROM boot WHERE run IS NOT NULL")
    assert [one["effect"] for one in effects] == ["effective"] * 3
    stage.check_untouched()
    stage.check_recovered()
