"""A budget that runs out in the middle of a run: the trial ends, the way back is paid for."""

import json

from engine_stage import Stage

LONG = "trials=5000"
"""More than fifty seconds of trials."""


def counts(stage: Stage) -> list[tuple[str, str, int]]:
    """Playbook, why its observation ended, and how many trials there were."""
    found = stage.rows(
        "SELECT run.playbook, stop_reason, (SELECT count(*) FROM trial WHERE observation = o.id) n"
        " FROM observation o JOIN run ON run.id = o.run ORDER BY o.rowid"
    )
    return [(one["playbook"], one["stop_reason"], one["n"]) for one in found]


def test_time_that_runs_out_ends_the_trials_and_what_there_was_counts(stage: Stage) -> None:
    """Each trial fails, so that a baseline of few has failed, too."""
    stage.edit("src/app.py", "number % 5 == 0", "number > 0")
    stage.up_again()
    stage.edit("campaign.yaml", "cost:", "budget: {time: 3s}\ncost:")
    done = stage.run("run", "baseline", "fix", "-y", "--json", "--var", LONG)
    assert done.code == 6, done.err
    assert json.loads(done.out)["error"].startswith("stopped: budget: before fix: it takes")
    ((playbook, reason, trials),) = counts(stage)
    assert (playbook, reason) == ("baseline", "budget")
    assert 0 < trials < 5000
    assert f"the budget is spent: stopped after {trials} of 5000 trials" in done.err
    (run,) = stage.rows("SELECT status, state FROM run")
    assert run == {"status": "completed", "state": "clean"}
    stage.check_untouched()
    assert "occupied" in (said := stage.run("status").out)
    assert "of 3.0 s occupied" in said
    planned = stage.run("plan", "fix")
    assert (planned.code, "  BEYOND THE BUDGET: it takes " in planned.out) == (0, True)
    assert json.loads(stage.run("plan", "fix", "--json").out)["beyond"].endswith(" is left")
    refused = stage.run("run", "fix", "-y")
    assert (refused.code, "the budget does not reach for this" in refused.err) == (6, True)


def test_money_that_runs_out_is_reserved_for_the_way_back(stage: Stage) -> None:
    """An occupied second is .10, one of downtime 1.00: about 3 s are left beside the restarts."""
    stage.edit("campaign.yaml", "downtime_per_hour: 3600", "downtime_per_hour: 0")
    stage.edit("campaign.yaml", "cost:", "budget: {money: 0.3}\ncost:")
    done = stage.run("run", "fix", "-y", "--var", LONG)
    assert done.code == 0, done.err
    ((playbook, reason, trials),) = counts(stage)
    assert (playbook, reason) == ("fix", "budget")
    assert 0 < trials < 5000
    stage.check_untouched()


def test_what_nobody_limits_goes_on(stage: Stage) -> None:
    stage.edit("campaign.yaml", "cost:", "budget: {restarts: 9, downtime: 10m}\ncost:")
    done = stage.run("run", "baseline", "-y")
    assert done.code == 0, done.err
    assert [reason for _, reason, _ in counts(stage)] == ["fixed"]


def test_a_run_whose_budget_ends_its_trials_keeps_nothing(stage: Stage) -> None:
    stage.edit("campaign.yaml", "cost:", "budget: {time: 3s}\ncost:")
    done = stage.run("run", "fix", "-y", "--keep", "--var", LONG)
    assert [reason for _, reason, _ in counts(stage)] == ["budget"]
    assert "its budget ran out" in done.err
    stage.check_untouched()
    stage.check_recovered()


def test_a_wrong_probe_is_mended_in_campaign_yaml_before_recover(stage: Stage) -> None:
    right, wrong = '/health", timeout: 20s', '/nowhere", expect: 204, timeout: 1s'
    stage.edit("campaign.yaml", right, wrong)
    assert stage.run("run", "fix", "-y").code == 5
    assert stage.run("recover").code == 5
    stage.edit("campaign.yaml", wrong, right)
    mended = stage.run("recover")
    assert mended.code == 0, mended.out + mended.err
    stage.check_untouched()
    stage.check_recovered()
