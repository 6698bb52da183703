"""What all restarts together make of a run's verdict, and of where its hypothesis stands."""

import json
from typing import Any

from engine_stage import Command, Stage


def ran(stage: Stage, *playbooks: str) -> list[dict[str, Any]]:
    """Runs them as one campaign; their runs with the verdicts, in order."""
    return results(stage.run("run", *playbooks, "-y", "--json"))


def results(done: Command) -> list[dict[str, Any]]:
    """The runs of a command that has ended, with the verdicts, in order."""
    assert done.code == 0, done.err
    runs: list[dict[str, Any]] = json.loads(done.out)["runs"]
    return runs


def standing(stage: Stage, slug: str) -> str:
    (row,) = stage.rows("SELECT standing FROM hypothesis WHERE slug = ?", slug)
    return str(row["standing"])


def test_removed_returned_and_removed_again_confirms_by_counts(stage: Stage) -> None:
    done = stage.run("run", "baseline", "fix", "baseline", "fix", "-y", "--json")
    _, first, _, again = results(done)
    assert (first["verdict"]["word"], first["verdict"]["qualifier"]) == ("inconclusive", "leading")
    assert "in which the failure returns" in first["verdict"]["still_needed"]
    assert again["verdict"]["word"] == "supported"
    assert again["verdict"]["numbers"]["alone"] >= 0.99
    assert (again["verdict"]["numbers"]["clean"], again["verdict"]["numbers"]["returned"]) == (2, 1)
    assert standing(stage, "rule") == "confirmed"
    assert standing(stage, "mode") == "open"
    told = done.err[done.err.index("put back") :]
    assert [told.count(f"(after {one['id']})") for one in (first, again)] == [1, 1]
    assert done.err.count("rule: ") == 2, "what moved is told once, and at the end"
    removed = stage.rows(
        "SELECT run.playbook, hypothesis FROM removal JOIN boot ON boot.id = removal.boot"
        " JOIN run ON run.id = boot.run"
    )
    assert removed == [{"playbook": "fix", "hypothesis": "rule"}] * 2
    retracted = stage.run("runs", "retract", again["id"], "--reason", "another load")
    assert "rule: confirmed -> leading" in retracted.out, retracted.err
    stage.check_untouched()


def test_of_two_that_counts_would_call_leading_the_likeliest_leads(stage: Stage) -> None:
    _, fix, mode = ran(stage, "baseline", "fix", "safe-mode")
    assert fix["verdict"]["qualifier"] == "leading"
    assert (mode["verdict"]["word"], mode["verdict"]["qualifier"]) == ("inconclusive", "")
    assert any("that mode is part of the cause" in one for one in mode["verdict"]["reasons"])
    assert "more restarts alternately" in mode["verdict"]["still_needed"]


def test_thresholds_of_the_campaign_are_used_and_the_operator_has_the_last_word(
    stage: Stage,
) -> None:
    stage.edit("campaign.yaml", "cost:", "statistics: {decided: 97%}\ncost:")
    ran(stage, "baseline", "fix")
    assert standing(stage, "rule") == "open"
    stage.run("hypothesis", "set", "rule", "refuted", "--reason", "seen elsewhere")
    ran(stage, "fix")
    assert standing(stage, "rule") == "refuted"


def test_removals_that_do_not_boot_together_are_never_clean(stage: Stage) -> None:
    crash = 'if not rule.BUG and os.environ.get("MODE") == "safe":\n    sys.exit("no such mode")\n'
    stage.edit("src/app.py", 'print("ready"', f'{crash}print("ready"')
    stage.up_again()
    ran(stage, "baseline")
    done = stage.run("run", "-y", "fix+safe-mode")
    assert done.code == 3
    assert "no such mode" in done.err
    assert (stage.newest()["status"], stage.newest()["state"]) == ("failed", "clean")
    assert stage.rows("SELECT * FROM verdict WHERE word <> 'invalid'") == []
    assert json.loads(stage.run("next", "--json").out)["restarts"] == 1
    assert {standing(stage, "rule"), standing(stage, "mode")} == {"open"}
    assert "failed, does not count" in stage.run("report").out
    stage.check_untouched()
