"""What must be alike to compare: named where it differs, accepted by the operator's word."""

from engine_stage import Stage


def test_a_difference_is_compared_only_by_the_operators_word(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline").code == 0
    stage.edit("playbooks/fix.yaml", "{use: trials}", "{use: trials, timeout: 1m}")
    unlike = "baseline 8/40, 20.0% (10.5-34.8%) was seen under other conditions: timeout 60 s"
    assert unlike in stage.run("plan", "fix").out
    assert "or accept it: --accept-difference timeout" in stage.run("power", "fix").out
    refused = stage.run("run", "-y", "fix")
    assert refused.code == 6
    assert unlike in refused.err
    assert len(stage.rows("SELECT id FROM run")) == 1, "nothing was restarted for it"
    for name, hint in (
        ("timeuot", "did you mean 'timeout'?"),
        ("x", "the conditions are: command"),
    ):
        unknown = stage.run("plan", "fix", "--accept-difference", name)
        assert unknown.code == 2
        assert hint in unknown.err
    accepted = ("fix", "--accept-difference", "timeout")
    assert "40 trials against baseline 8/40" in stage.run("plan", *accepted).out
    done = stage.run("run", "-y", *accepted)
    assert "treatment 0/40, at most 8.8%; baseline 8/40" in done.err
    assert "accepted difference: timeout 60 s against 120 s" in done.err
    terms = stage.rows("SELECT accepted FROM run_terms ORDER BY rowid")
    assert [one["accepted"] for one in terms] == ["", "timeout"]
    assert "may differ: timeout" in stage.run("runs", "show", stage.newest()["id"]).out
    stage.check_untouched()


def test_a_baseline_of_the_same_run_comes_first(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline").code == 0
    for name in ("baseline", "fix"):
        stage.edit(f"playbooks/{name}.yaml", "{use: trials}", "{use: trials, timeout: 1m}")
    assert "baseline is measured before them" in stage.run("plan", "baseline", "fix").out
    assert stage.run("run", "-y", "fix", "baseline").code == 6, "too late"
    assert "baseline 8/40" in stage.run("run", "-y", "baseline", "fix").err


def test_the_number_of_trials_is_no_condition(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline", "-e", "trials=60").code == 0
    assert "20 trials against baseline 12/60" in stage.run("plan", "fix", "-e", "trials=20").out
    done = stage.run("run", "-y", "fix", "-e", "trials=20")
    assert "treatment 0/20, at most 16.1%; baseline 12/60" in done.err
    stage.edit("campaign.yaml", '"{{ trials }}"]', '"{{ trials }}", "{{ trials }}"]')
    assert stage.run("run", "-y", "baseline").code == 0
    loaded = stage.run("run", "-y", "fix", "-e", "trials=20")
    assert loaded.code == 6
    assert "trials 20 against 40" in loaded.err, "used twice, it may set the load as well"


def test_a_version_is_a_condition(stage: Stage) -> None:
    stage.edit("campaign.yaml", "cost:", "versions: {app: [cat, version.txt]}\ncost:")
    version = stage.root / "version.txt"
    version.write_text("engine 1.2\nbuilt today\n")
    assert stage.run("run", "-y", "baseline").code == 0
    version.write_text("engine 1.3\n")
    done = stage.run("run", "-y", "fix")
    assert "version.app engine 1.3 against engine 1.2" in done.err
    assert "or this one with --accept-difference version.app" in done.err
    accepted = stage.run("run", "-y", "fix", "--accept-difference", "version.*")
    assert "accepted difference: version.app engine 1.3 against engine 1.2" in accepted.err
    version.unlink()
    failed = stage.run("run", "-y", "fix")
    assert failed.code == 3
    assert "versions: the command of app exited 1" in failed.err
    stage.check_untouched()
