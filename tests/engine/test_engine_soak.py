"""Soaks: failures are counted against what trials ran, and time without one still counts."""

import json
import re

import pytest
from engine_stage import Stage

SOAK = """\
import json, sys
from urllib.request import urlopen
port = sys.argv[1]
with urlopen(f"http://127.0.0.1:{port}/trial/5", timeout=5) as answer:
    failed = answer.read() == b"bad"
trial = {"outcome": "bad", "seconds": 120} if failed else {"outcome": "good", "seconds": 600}
for number in range(int(sys.argv[2])):
    print(json.dumps({**trial, "key": number, "tries": 7}), flush=True)
if not failed:
    print(json.dumps({"outcome": "cut", "seconds": 60, "key": "last", "tries": 1}))
"""
PARSE = "jsonl: {outcome: outcome, key: key, fail: [bad], pass: [good]"


@pytest.fixture
def soak(stage: Stage) -> Stage:
    """Five soaks of the baseline fail after 2 minutes; with the fix they run for 10, and 1 more."""
    (stage.root / "repro.py").write_text(SOAK, encoding="utf-8")
    told = f"{PARSE}, censored: [cut], seconds: seconds, attempts: tries"
    stage.edit("campaign.yaml", PARSE, told)
    stage.edit("campaign.yaml", "    on_timeout", "    exposure: seconds\n    on_timeout")
    for name, trials in (("baseline", 5), ("fix", 3)):
        stage.edit(
            f"playbooks/{name}.yaml", "vars: {trials: 40}\n", f"vars: {{trials: {trials}}}\n"
        )
    stage.edit("playbooks/fix.yaml", "by: rate", "by: time")
    return stage


def test_clean_time_is_set_against_time_to_failure(soak: Stage) -> None:
    assert soak.run("run", "-y", "baseline").code == 0
    failing = "5 in 10 min, one in 2 min (51.4 s to 6.16 min)"
    assert f"baseline: {failing}" in soak.run("status").out
    assert f"failed {failing}" in soak.run("runs", "show", "baseline").out
    done = soak.run("run", "-y", "fix")
    assert done.code == 0, done.err
    clean = "0 in 31 min, at most one in 8.4 min"
    assert f"failed {clean}, 1 censored" in done.err
    assert f"treatment {clean}; baseline {failing}" in done.err
    assert "p = .00086" in done.err
    assert "inconclusive, leading" in done.err
    assert clean in soak.run("runs", "list").out
    shown = soak.run("runs", "show", "fix").out
    assert f"observed [fix] by trials: {clean}, 1 censored (fixed)" in shown
    report = soak.run("report").out
    assert f"Trials: fix: {clean}, 1 censored" in report
    assert f"Baseline: {failing}, in 1 restart" in report
    stored = soak.rows("SELECT arm, unit, failures, exposure FROM exposure_rates ORDER BY arm")
    assert stored == [
        {"arm": "baseline", "unit": "seconds", "failures": 5, "exposure": 600.0},
        {"arm": "fix", "unit": "seconds", "failures": 0, "exposure": 1860.0},
    ]
    soak.check_untouched()


def test_attempts_are_counted_too_and_power_says_how_many_clean_ones(soak: Stage) -> None:
    soak.edit("campaign.yaml", "exposure: seconds", "exposure: attempts")
    unknown = soak.run("power", "fix")
    assert "baseline has not failed yet" in unknown.out
    soak.run("run", "-y", "baseline", "-e", "trials=3")
    power = soak.run("power", "fix")
    assert power.code == 0, power.err
    assert "3 trials against baseline (3 in 21 attempts, one in 7 attempts (2.4" in power.out
    assert "21 attempts without a failure show one in 7 attempts to be gone" in power.out
    assert "attempts without a failure are separated from baseline as it was seen" in power.out
    assert json.loads(soak.run("power", "fix", "--json").out)["by_time"]["unit"] == "attempts"
    planned = soak.run("plan", "fix").out
    assert "against baseline 3 in 21 attempts" in planned


def test_a_soak_without_a_parser_is_timed_and_passes_by_running_its_time(stage: Stage) -> None:
    (stage.root / "repro.py").write_text("import time; time.sleep(600)", encoding="utf-8")
    stage.edit("campaign.yaml", f"    parse: {{{PARSE}}}}}\n", "    exposure: seconds\n")
    stage.edit("campaign.yaml", "timeout: 2m", "timeout: 1s")
    stage.edit("campaign.yaml", "on_timeout: censored", "on_timeout: pass")
    stage.edit("campaign.yaml", '    trials: "{{ trials }}"\n', "")
    done = stage.run("run", "-y", "baseline")
    assert done.code == 0, done.err
    assert re.search(r"failed 0 in \d", done.err)
    (trial,) = stage.rows(
        "SELECT outcome, result, amount FROM trial JOIN trial_exposure USING (observation)"
    )
    assert (trial["outcome"], trial["result"]) == ("timeout", "pass")
    assert trial["amount"] >= 1
    stage.check_untouched()


def test_by_time_needs_an_exposure(bare: Stage) -> None:
    bare.edit("playbooks/fix.yaml", "by: rate", "by: time")
    assert "by time needs 'exposure' of reproducer 'trials'" in bare.run("check").err
