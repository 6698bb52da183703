"""Each cycle is charged once, the way back to the last run, a shared run in equal parts."""

import json

import pytest
from engine_stage import Stage


def totals(stage: Stage, view: str) -> list[float]:
    (row,) = stage.rows(
        f"SELECT total(money) AS money, total(downtime_s) AS down, total(occupied_s) AS occupied"
        f" FROM {view}"
    )
    return [row["money"], row["down"], row["occupied"]]


def test_costs_sum_and_are_charged_once(stage: Stage) -> None:
    stage.edit("playbooks/fix.yaml", "hypothesis: rule", "hypothesis: [rule, mode]")
    ended = stage.run("run", "baseline", "safe-mode", "fix", "-y")
    assert ended.code == 0, ended.err
    runs = {one["playbook"]: one for one in stage.rows("SELECT * FROM run_costs")}
    restarts = {name: one["restarts"] for name, one in runs.items()}
    assert restarts == {"baseline": 1, "safe-mode": 1, "fix": 2}, "the last one pays the way back"

    cycles = stage.rows("SELECT downtime_s, money FROM cycle")
    boots = stage.rows("SELECT occupied_s, money FROM boot")
    money, down, occupied = totals(stage, "run_costs")
    assert down == pytest.approx(sum(one["downtime_s"] for one in cycles))
    assert occupied == pytest.approx(sum(one["occupied_s"] for one in boots))
    assert money == pytest.approx((down * 3600 + occupied * 360) / 3600)
    assert totals(stage, "hypothesis_ledger") == pytest.approx([money, down, occupied])

    shares = {one["hypothesis"]: one for one in stage.rows("SELECT * FROM hypothesis_ledger")}
    half = runs["fix"]["money"] / 2
    assert shares["rule"]["money"] == pytest.approx(half)
    assert shares["mode"]["money"] == pytest.approx(half + runs["safe-mode"]["money"])
    assert shares["(none)"]["money"] == pytest.approx(runs["baseline"]["money"])


def test_what_recover_does_is_charged_to_the_interrupted_run(stage: Stage) -> None:
    running = stage.start("run", "fix", "-y", "-e", "trials=100000")
    running.until("restart app  ok")
    running.process.kill()
    running.wait()
    assert stage.run("recover").code == 0
    (costs,) = stage.rows("SELECT restarts, downtime_s, money FROM run_costs")
    assert costs["restarts"] == 2
    assert costs["money"] > costs["downtime_s"] > 0


def test_plan_power_and_next_foretell_the_same(stage: Stage) -> None:
    stage.run("run", "baseline", "-y")
    planned = json.loads(stage.run("plan", "fix", "--json").out)
    stage.run("run", "fix", "-y")
    stage.run("runs", "retract", stage.newest()["id"], "--reason", "a busy machine")
    again = json.loads(stage.run("plan", "fix", "--json").out)
    measured = [one["measure_s"] for one in again["boots"]][:1]
    assert measured == [one["measure_s"] for one in planned["boots"]][:1], "retracted runs are out"
    planned = again
    powered = json.loads(stage.run("power", "fix", "--json").out)
    options = json.loads(stage.run("next", "--json").out)["options"]
    (price,) = [one["price"] for one in options if one["name"] == "fix"]
    assert planned["seconds"] == pytest.approx(powered["seconds"])
    assert planned["seconds"] == pytest.approx(price["seconds"])
    assert planned["downtime_s"] == pytest.approx(price["downtime_s"])
    assert planned["money"] == pytest.approx(price["money"])


def test_restarts_of_another_campaign_tell_while_this_one_has_none(stage: Stage) -> None:
    assert stage.run("run", "baseline", "-y").code == 0
    down = stage.rows("SELECT avg(downtime_s) AS mean FROM cycle")[0]["mean"]
    old = stage.root / "old"
    old.mkdir()
    for path in stage.root.glob("campaign.db*"):
        path.rename(old / path.name)
    config = stage.root / "campaign.yaml"
    whole = config.read_text("utf-8")
    config.write_text(f"{whole}history: [old]\n", encoding="utf-8")
    told = stage.run("plan", "baseline").out
    assert f"restart app  (guessed {down:.1f} s down)" in told
    assert f"restart times of app: {down:.1f} s down by a restart in {old}/campaign.db" in told
    config.write_text(f"{whole}history: [gone]\n", encoding="utf-8")
    missing = stage.run("plan", "baseline")
    assert (missing.code, "gone as history, and there is no ledger" in missing.err) == (2, True)
