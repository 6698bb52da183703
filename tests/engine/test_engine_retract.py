"""A retraction judges again what rested on the run; what was said before stays readable."""

import json
from typing import Any

from engine_stage import Stage
from test_engine_belief import ran, standing


def verdicts(stage: Stage, run: str) -> list[dict[str, Any]]:
    query = "SELECT word, qualifier, reasons FROM verdict WHERE run = ? ORDER BY at, rowid"
    return stage.rows(query, run)


def test_verdicts_that_rested_on_a_baseline_are_judged_again(stage: Stage) -> None:
    baseline, fix, second, again = ran(stage, "baseline", "fix", "baseline", "fix")
    assert standing(stage, "rule") == "confirmed"
    done = stage.run("runs", "retract", baseline["id"], "--reason", "wrong branch")
    assert done.code == 0, done.err
    nothing = "inconclusive, nothing to compare with"
    assert f"{fix['id']} on rule: inconclusive, leading -> {nothing}" in done.out
    assert f"{again['id']} on rule: still supported, by other numbers" in done.out
    assert standing(stage, "rule") == "confirmed", "gone, returned and gone again without it, too"
    old, new = verdicts(stage, fix["id"])
    assert (old["qualifier"], new["qualifier"]) == ("leading", "nothing to compare with")
    why = f"judged again without {baseline['id']}, which was retracted: wrong branch"
    assert new["reasons"].splitlines()[0] == why
    shown = stage.run("runs", "show", fix["id"]).out
    assert shown.index("verdict on rule: inconclusive, leading") < shown.index(why)
    assert f"{fix['id']}: {nothing}" in stage.run("report").out.replace("\\", "")
    done = stage.run("runs", "retract", second["id"], "--reason", "wrong branch")
    assert f"{again['id']} on rule: supported -> {nothing}" in done.out
    assert "rule: confirmed -> open" in done.out
    event = stage.rows("SELECT by, text FROM hypothesis_event WHERE kind = 'standing'")[-1]
    assert event["by"] == "rule"
    assert event["text"].endswith(f"judged again without {second['id']}")
    before = stage.rows("SELECT count(*) AS n FROM verdict")
    other = stage.run("runs", "retract", again["id"], "--reason", "wrong branch")
    assert other.code == 0, other.err
    assert stage.rows("SELECT count(*) AS n FROM verdict") == before, "nothing came after it"


def test_a_restart_with_an_accepted_difference_counts_and_no_other(stage: Stage) -> None:
    ran(stage, "baseline")
    stage.edit("env/app.env", "\n", "\nOTHER=1\n")
    stage.up_again()
    for accepted in ([], ["--accept-difference", "env.app.OTHER"]):
        done = stage.run("run", "-y", "fix", *accepted)
        assert done.code == 0, done.err
        advised = json.loads(stage.run("next", "--json").out)
        assert advised["restarts"] == (2 if accepted else 1)
    assert "that rule is the cause" in done.err
    assert standing(stage, "rule") == "leading"
