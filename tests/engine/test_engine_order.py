"""Where failures depend on their position, the verdict says so, if the order is known."""

from engine_stage import Stage

LATE = """
import json
for key in range(40):
    print(json.dumps({"outcome": "bad" if key >= 30 else "good", "key": key}), flush=True)
"""

TOTALS = 'print(\'counts={"bad": 10, "good": 30}\')'

SAID = "the rate changed within the restart: first half 0/20, at most 16.1%; second half 10/20"


def test_a_rate_that_changes_within_a_restart_is_told(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline").code == 0
    alike = stage.run("run", "-y", "fix")
    assert "the rate changed" not in alike.err
    (stage.root / "repro.py").write_text(LATE, encoding="utf-8")
    done = stage.run("run", "-y", "fix")
    assert SAID in done.err
    assert SAID in stage.run("runs", "show", stage.newest()["id"]).out


def test_totals_have_no_order(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline").code == 0
    stage.edit("campaign.yaml", "jsonl: {outcome: outcome, key: key,", "counts: {")
    (stage.root / "repro.py").write_text(TOTALS, encoding="utf-8")
    done = stage.run("run", "-y", "fix")
    assert "verdict (rule)" in done.err
    assert "the rate changed" not in done.err
