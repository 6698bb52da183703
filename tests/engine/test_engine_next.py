"""next: controls after drift, runs with arms, looks into mechanisms and their detectors."""

import json
from typing import Any

import pytest
from engine_stage import Stage

ARMS = """\
name: both
hypothesis: [rule, mode]
kind: toggle
arms: [control, fixed, safe]
schedule: abba
vars: {trials: 40}
steps:
  - patch: {root: src, diff: patches/fix.diff, removes: [rule]}
    when: fixed
  - env: {services: [app], set: {MODE: safe}, removes: [mode]}
    when: safe
  - restart: {services: [app]}
  - reproduce: {use: trials}
verdict: {by: rate, expect: drop, against: control}
"""
LOOK = """\
name: look
hypothesis: rule
kind: probe
vars: {trials: 40}
steps:
  - restart: {services: [app]}
  - reproduce: {use: trials}
  - compare:
      left: {log: app, match: 'sent key=(?P<key>\\d+) sum=(?P<value>[0-9a-f]+)'}
      right: {log: app, match: 'got key=(?P<key>\\d+) sum=(?P<value>[0-9a-f]+)'}
verdict: {by: mismatch, min_coverage: 95%}
"""
KNOWN_BAD = LOOK.replace("name: look", "name: known-bad").replace("probe", "detector")
KNOWN_BAD = KNOWN_BAD.replace(
    "verdict:", "      known_bad: {log: app, match: 'sent key=(?P<key>\\d*[05]) '}\nverdict:"
)
SIDE = """\
name: side
kind: baseline
steps: [{restart: {services: [app]}}, {reproduce: {use: side}}]
"""
MOVED = "    outcome = 'bad'\n    print(json"
USE, SHORT = "{use: trials}", "{use: trials, timeout: 1m}"


def advice(stage: Stage) -> dict[str, Any]:
    done = stage.run("next", "--json")
    assert done.code == 0, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_a_rate_that_moved_is_seen_twice_before_anything_is_built_on_it(stage: Stage) -> None:
    stage.run("run", "baseline", "-y")
    assert advice(stage)["due"] == ""
    stage.edit("repro.py", "    print(json", MOVED)
    stage.run("run", "baseline", "-y")
    found = advice(stage)
    assert (found["due"], found["options"][0]["purpose"]) == ("new baseline", "new baseline")
    assert found["notes"] == ["the baseline's rate has moved, and one restart has seen the new one"]
    stage.run("run", "baseline", "-y")
    assert advice(stage)["due"] == ""
    stage.edit("repro.py", "outcome = 'bad'", "outcome = 'good'")
    stage.run("run", "baseline", "-y")
    found = advice(stage)
    assert (found["due"], [one["name"] for one in found["options"]]) == (
        "reproduce first",
        ["baseline"],
    )


def test_a_baseline_of_something_else_takes_nothing_over(stage: Stage) -> None:
    side = '  side: {command: ["true"], on: here, timeout: 1m, on_timeout: censored}'
    stage.edit("campaign.yaml", "cost:", f"{side}\ncost:")
    stage.toy.playbook("side", SIDE)
    stage.run("run", "baseline", "-y")
    stage.run("run", "side", "-y")
    before = stage.run("status").out
    assert "baseline: 8/40, 20.0% (10.5-34.8%); 1 trial under other conditions left out" in before
    found = advice(stage)
    assert "fix" in [one["name"] for one in found["options"]]
    assert found["unlike"][0].startswith("baseline 0/1, at most 79.3% does not count: command true")
    stage.run("run", "fix", "-y")
    stage.run("run", "side", "-y")
    status = stage.run("status").out
    assert "baseline: 8/40, 20.0% (10.5-34.8%); 2 trials under other conditions left out" in status
    assert advice(stage)["restarts"] == 2


def test_autopilot_says_why_no_playbook_is_left(stage: Stage) -> None:
    stage.run("run", "baseline", "-y")
    for name in ("fix", "safe-mode"):
        stage.edit(f"playbooks/{name}.yaml", USE, SHORT)
    flown = stage.run("autopilot", "--budget", "10m", "--yes")
    assert "no playbook is left that could teach anything: fix: timeout 60 s against" in flown.err


def test_arms_looks_and_detectors_are_weighed_too(stage: Stage) -> None:
    stage.run("run", "baseline", "-y")
    stage.toy.playbook("both", ARMS)
    stage.toy.playbook("look", LOOK)
    found = advice(stage)
    assert found["left_out"] == ["look: no playbook of kind detector tests its comparison"]
    by_name = {one["name"]: one for one in found["options"]}
    both, fix = by_name["both"], by_name["fix"]
    told = json.loads(stage.run("report", "--format", "json").out)["outlook"]["proposals"]
    best = by_name[told[0]["name"]]
    assert best["bits"] == pytest.approx(told[0]["bits"])
    assert told[0]["bits"] > 0
    assert (both["price"]["restarts"], both["arms"], fix["price"]["restarts"]) == (6, 2, 2)
    assert fix["bits"] < both["bits"] < 2 * fix["bits"] + by_name["safe-mode"]["bits"] * 2
    assert both["price"]["seconds"] > 2 * fix["price"]["seconds"]

    stage.toy.playbook("known-bad", KNOWN_BAD)
    stage.toy.playbook("few", ARMS.replace("name: both", "name: few").replace(USE, SHORT))
    found = advice(stage)
    assert found["left_out"] == ["few: timeout 60 s against 120 s of the baseline"]
    by_name = {one["name"]: one for one in found["options"]}
    assert "look" not in by_name
    assert by_name["known-bad"]["purpose"] == "test the detector"
    assert by_name["known-bad"]["teaches"] == "whether look would find what is known to be bad"
    stage.run("run", "known-bad", "-y")
    by_name = {one["name"]: one for one in advice(stage)["options"]}
    assert "known-bad" not in by_name
    assert (by_name["look"]["about"], by_name["look"]["purpose"]) == ("rule", "see the mechanism")
    stage.run("run", "look", "-y")
    found = advice(stage)
    assert "look" not in [one["name"] for one in found["options"]]
    assert found["notes"][0].startswith("rule is supported: its mechanism was seen (look)")
    flown = stage.run("autopilot", "--budget", "10m", "--yes")
    assert "Ended after 0 runs: decided: rule is supported" in flown.err
