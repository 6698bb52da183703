"""power goes by what the playbook's own trials will be comparable to."""

from engine_stage import Stage


def test_baselines_of_other_conditions_are_not_pooled(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline").code == 0
    stage.edit("playbooks/baseline.yaml", "{use: trials}", "{use: trials, timeout: 1m}")
    assert stage.run("run", "-y", "baseline", "-e", "trials=10").code == 0
    whole = stage.run("power", "fix").out
    assert whole.startswith("fix: 40 trials against baseline (8/40, 20.0%")
    assert "one like it settles whether removing rule ends it" in whole
    stage.edit("playbooks/fix.yaml", "{use: trials}", "{use: trials, timeout: 1m}")
    short = stage.run("power", "fix", "-e", "trials=20").out
    assert short.startswith("fix: 20 trials against baseline (2/10, 20.0%")
    stage.edit("playbooks/fix.yaml", "timeout: 1m", "timeout: 3m")
    other = stage.run("power", "fix").out
    assert other.startswith("fix: 40 trials against baseline (2/10, 20.0%"), "the newest"
    assert "accept it: --accept-difference timeout" in other


def test_toggles_are_not_planned_on_a_baseline_that_has_not_failed(stage: Stage) -> None:
    stage.edit("src/app.py", "number % 5 == 0", "number < 0")
    stage.up_again()
    assert stage.run("run", "-y", "baseline").code == 0
    for words in (("plan", "fix"), ("run", "-y", "fix")):
        refused = stage.run(*words)
        assert refused.code == 6
        assert "fix: baseline 0/40, at most 8.8%: it has not failed" in refused.err
        assert "reproduce it first: 59 trials with nothing off" in refused.err
    assert stage.run("plan", "baseline", "fix").code == 0, "a baseline comes first"
    assert "try 59 trials" in stage.run("power", "fix").out
    assert "try 59 trials with nothing off" in stage.run("next").out


def test_arms_are_weighed_against_each_other_with_all_their_blocks(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline").code == 0
    text = (stage.root / "playbooks" / "fix.yaml").read_text(encoding="utf-8")
    text = text.replace("name: fix", "name: both\narms: [control, fixed]\nschedule: abba")
    text = text.replace("removes: [rule]}", "removes: [rule]}\n    when: fixed")
    stage.toy.playbook("both", text.replace("against: baseline", "against: control"))
    told = stage.run("power", "both").out
    sides = "both: 80 trials in 2 restarts against 80 trials of control in 2 restarts"
    assert told.startswith(f"{sides}, taken to fail as the baseline does, 20.0%")
