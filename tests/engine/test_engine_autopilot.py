"""autopilot: several suspects, one true cause, real processes, and every way in which it ends."""

import json
import signal
from typing import Any

from engine_stage import Stage
from forked import await_that

SUSPECT = """\
name: {name}-off
hypothesis: {name}
kind: toggle
vars: {{trials: 40}}
steps:
  - env: {{services: [app], set: {{{variable}}}, removes: [{name}]}}
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
verdict: {{by: rate, expect: drop, against: baseline}}
"""
WAIT_WITH_THE_FIX = """
import os
while os.path.exists("hold") and "False" in open("src/rule.py").read():
    time.sleep(0.01)
"""
PATCH = "patch: {root: src, diff: patches/fix.diff"
MEDDLE_WITH_THE_FIX = """
if "False" in open("src/rule.py").read():
    with open("src/rule.py", "a") as file:
        file.write("# mine\\n")
"""


def suspect(stage: Stage, name: str, variable: str, prior: str) -> None:
    stage.run("hypothesis", "add", name, "--claim", f"{name} does it", "--prior", prior)
    stage.toy.playbook(f"{name}-off", SUSPECT.format(name=name, variable=variable))


def cast(stage: Stage) -> None:
    """The true cause, thought least likely, and two suspects that have nothing to do with it."""
    (stage.root / "playbooks" / "safe-mode.yaml").unlink()
    stage.run("hypothesis", "set", "mode", "abandoned", "--reason", "for another day")
    suspect(stage, "cache", "CACHE: 'off'", "0.8")
    suspect(stage, "noise", "LEVEL: quiet", "0.7")


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def runs(stage: Stage) -> list[dict[str, Any]]:
    return stage.rows("SELECT * FROM run ORDER BY rowid")


def held(stage: Stage) -> bool:
    """Whether a run that has changed the rule has had its trials."""
    rule = (stage.root / "src" / "rule.py").read_text(encoding="utf-8")
    (had,) = stage.rows(
        "SELECT total(n) AS n FROM trial_rates JOIN run ON run.id = run WHERE status = 'running'"
    )
    return "False" in rule and had["n"] == 40


def test_it_finds_the_cause_and_shows_it(stage: Stage) -> None:
    cast(stage)
    dry = stage.run("autopilot", "--budget", "20m", "--dry-run", "--json")
    assert [(one["event"], one["option"]["name"]) for one in events(dry.out)] == [
        ("chosen", "baseline")
    ]
    assert runs(stage) == []
    asked = stage.run("autopilot", "--budget", "20m")
    assert (asked.code, "nobody is there to confirm" in asked.err) == (6, True), asked.err

    flown = stage.run("autopilot", "--budget", "20m", "--yes", "--json")
    assert flown.code == 0, flown.err
    told = events(flown.out)
    assert [one["event"] for one in told[:-1]] == ["chosen", "ran"] * (len(told) // 2)
    end = told[-1]
    assert (end["event"], end["exit"]) == ("ended", 0)
    assert "that rule is the cause" in end["reason"]
    assert end["parts"]["rule"] > 0.99
    names = [one["option"]["name"] for one in told if one["event"] == "chosen"]
    assert names[0] == "baseline"
    assert {"fix", "cache-off"} <= {part for name in names for part in name.split("+")}
    assert "baseline" in names[names.index("fix") :], "the failure was seen to return"
    assert [one["playbook"] for one in runs(stage)] == names
    assert {one["status"] for one in runs(stage)} == {"completed"}
    assert all("autopilot --budget 20m" in one["command"] for one in runs(stage))
    (rule,) = stage.rows("SELECT standing FROM hypothesis WHERE slug = 'rule'")
    assert rule["standing"] in ("supported", "confirmed")
    stage.check_untouched()

    again = stage.run("autopilot", "--budget", "20m", "--yes")
    assert (again.code, "Ended after 0 runs: decided: " in again.err) == (0, True), again.err


def test_it_keeps_to_its_budget_and_to_the_campaigns(stage: Stage) -> None:
    cast(stage)
    nothing = stage.run("autopilot", "--yes")
    assert (nothing.code, "give --budget 30m" in nothing.err) == (2, True), nothing.err
    none = stage.run("autopilot", "--budget", "0s", "--yes")
    assert (none.code, "expected more than no time, not '0s'" in none.err) == (2, True), none.err
    flown = stage.run("autopilot", "--restarts", "4", "--yes", "--json")
    end = events(flown.out)[-1]
    assert (flown.code, end["runs"], end["cost"]["restarts"]) == (0, 2, 3), flown.err
    assert "the budget is spent" in end["reason"]
    assert "it takes 2 restarts, and 1 is left" in end["reason"]
    stage.check_untouched()

    stage.edit("campaign.yaml", "cost:", "budget: {restarts: 4}\ncost:")
    flown = stage.run("autopilot", "--budget", "20m", "--yes")
    assert (flown.code, "Ended after 0 runs: the budget is spent" in flown.err) == (6, True)
    refused = stage.run("run", "fix", "-y")
    assert (refused.code, "it takes 2 restarts, and 1 is left" in refused.err) == (6, True)
    assert "left of the budget: 1 restart" in stage.run("next").out
    assert len(runs(stage)) == 2


def test_a_run_that_gets_dearer_than_planned_starts_no_boot_it_cannot_pay_for(
    stage: Stage,
) -> None:
    stage.edit("campaign.yaml", "cost:", "budget: {downtime: 1ms}\ncost:")
    stopped = stage.run("run", "baseline", "fix", "-y", "--json")
    assert stopped.code == 6, stopped.err
    assert json.loads(stopped.out)["error"].startswith(
        "stopped: budget: before fix: it takes 60 s of downtime, and 0.0 s is left"
    )
    assert [(one["playbook"], one["status"]) for one in runs(stage)] == [("baseline", "completed")]
    stage.check_untouched()
    refused = stage.run("run", "baseline", "-y")
    assert (refused.code, "the budget does not reach for this" in refused.err) == (6, True)


def test_it_is_refused_where_a_person_must_confirm_and_stops_at_what_nobody_can_weigh(
    stage: Stage,
) -> None:
    cast(stage)
    stage.edit("campaign.yaml", "cost:", "protected: true\ncost:")
    refused = stage.run("autopilot", "--budget", "20m", "--yes")
    assert (refused.code, "toy is protected" in refused.err) == (6, True), refused.err
    assert runs(stage) == []

    stage.edit("campaign.yaml", "protected: true\n", "")
    stage.edit("playbooks/cache-off.yaml", "CACHE: 'off'", "PORT: none")
    flown = stage.run("autopilot", "--budget", "20m", "--yes")
    assert flown.code == 3, flown.err
    *before, last = runs(stage)
    assert {one["status"] for one in before} == {"completed"}
    assert (last["status"], "cache-off" in last["playbook"]) == ("failed", True)
    assert f"Ended after {len(before) + 1} runs: {last['playbook']} did not complete" in flown.err
    stage.check_untouched()


def test_it_stops_at_the_first_dirty_state(stage: Stage) -> None:
    cast(stage)
    stage.edit("playbooks/cache-off.yaml", "env: {services: [app], set: {CACHE: 'off'}", PATCH)
    with (stage.root / "repro.py").open("a", encoding="utf-8") as file:
        file.write(MEDDLE_WITH_THE_FIX)
    flown = stage.run("autopilot", "--budget", "20m", "--yes", "--json")
    assert flown.code == 5, flown.err
    end = events(flown.out)[-1]
    assert end["exit"] == 5
    assert "left the system dirty" in end["reason"]
    assert "DIRTY" in flown.err
    assert stage.run("autopilot", "--budget", "20m", "--yes").code == 6
    assert len(runs(stage)) == end["runs"]
    stage.run("recover", "--accept", str(stage.root / "src" / "rule.py"))


def test_an_interrupt_puts_back_and_ends_it(stage: Stage) -> None:
    cast(stage)
    stage.edit("playbooks/cache-off.yaml", "env: {services: [app], set: {CACHE: 'off'}", PATCH)
    (stage.root / "hold").touch()
    with (stage.root / "repro.py").open("a", encoding="utf-8") as file:
        file.write(WAIT_WITH_THE_FIX)
    flight = stage.start("autopilot", "--budget", "20m", "--yes", "--json")
    await_that(lambda: held(stage), "trials of a run that has changed the rule")
    flight.signal(signal.SIGINT)
    assert flight.wait().code == 130, flight.err
    end = events(flight.out)[-1]
    assert (end["event"], end["exit"], end["runs"]) == ("ended", 130, len(runs(stage)))
    assert runs(stage)[-1]["status"] == "aborted"
    stage.check_untouched()
