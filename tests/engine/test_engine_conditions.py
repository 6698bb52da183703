"""What must be alike to compare: named where it differs, accepted by the operator's word."""

from engine_stage import Stage


def test_a_difference_is_compared_only_by_the_operators_word(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline").code == 0
    refused = stage.run("run", "-y", "fix", "-e", "trials=30")
    assert "invalid, arms not comparable" in refused.err
    assert "trials 30 against 40" in refused.err
    done = stage.run("run", "-y", "fix", "-e", "trials=30", "--accept-difference", "trials")
    assert "treatment 0/30, at most 11.4%; baseline 8/40" in done.err
    assert "accepted difference: trials 30 against 40" in done.err
    terms = stage.rows("SELECT accepted FROM run_terms ORDER BY rowid")
    assert [one["accepted"] for one in terms] == ["", "", "trials"]
    assert "may differ: trials" in stage.run("runs", "show", stage.newest()["id"]).out
    stage.check_untouched()


def test_a_version_is_a_condition(stage: Stage) -> None:
    stage.edit("campaign.yaml", "cost:", "versions: {app: [cat, version.txt]}\ncost:")
    version = stage.root / "version.txt"
    version.write_text("engine 1.2\nbuilt today\n")
    assert stage.run("run", "-y", "baseline").code == 0
    version.write_text("engine 1.3\n")
    done = stage.run("run", "-y", "fix")
    assert "version.app engine 1.3 against engine 1.2" in done.err
    accepted = stage.run("run", "-y", "fix", "--accept-difference", "version.*")
    assert "accepted difference: version.app engine 1.3 against engine 1.2" in accepted.err
    version.unlink()
    failed = stage.run("run", "-y", "fix")
    assert failed.code == 3
    assert "versions: the command of app exited 1" in failed.err
    stage.check_untouched()
