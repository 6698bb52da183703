"""What changed while nobody changed it: within a restart, and from one control to the next."""

import json
from typing import Any

from engine_stage import Stage
from test_engine_belief import ran, standing


def advised(stage: Stage) -> dict[str, Any]:
    done = stage.run("next", "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_a_failure_that_fades_by_itself_is_not_taken_for_a_removal(stage: Stage) -> None:
    stage.edit("src/app.py", "number % 5 == 0", "number % 2 == 0")
    stage.up_again()
    ran(stage, "baseline", "baseline", "fix")
    assert standing(stage, "rule") == "leading"
    assert advised(stage)["parts"]["rule"] > 0.95
    stage.edit("src/app.py", "number % 2 == 0", "number < 0")
    stage.up_again()
    done = stage.run("run", "-y", "baseline")
    assert "! the baseline's rate has moved" in done.err
    assert advised(stage)["parts"]["rule"] < 0.9, "the removal is read under the new baseline"
    assert "rule: leading -> open" in done.err
    assert standing(stage, "rule") == "open"


def test_each_epoch_is_held_against_its_own_baseline(stage: Stage) -> None:
    """Controls at 8/40 before, at 40/40 now: removals are judged by the rate of their own time."""
    ran(stage, "baseline", "baseline")
    stage.edit("src/app.py", "number % 5 == 0", "number > 0")
    stage.up_again()
    ran(stage, "baseline", "fix", "baseline", "fix")
    assert standing(stage, "rule") == "confirmed"


def test_failures_that_all_come_first_are_told(stage: Stage) -> None:
    stage.edit("src/app.py", "number % 5 == 0", "number <= 10")
    stage.up_again()
    ran(stage, "baseline")
    (clean,) = ran(stage, "safe-mode")
    assert not [one for one in clean["verdict"]["reasons"] if "changed within" in one]
    stage.edit("playbooks/safe-mode.yaml", "MODE: safe", "MODE: other")
    done = stage.run("run", "-y", "safe-mode")
    assert "the rate changed within " in done.err
    assert "first half 10/20, 50.0% (29.9-70.1%); second half 0/20, at most 16.1%" in done.err
    shown = stage.run("runs", "show", stage.newest()["id"]).out
    assert "first half 10/20" in shown
