"""Early stops: the rule stands in the plan, ends the reproducer, and is told where it matters."""

from pathlib import Path

import pytest
from engine_stage import Stage
from forked import await_that

FAIL_THEN_HANG = """
import json, os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("pids", "w").write(f"{os.getpid()} {child.pid}")
print(json.dumps({"outcome": "good", "key": 1}), flush=True)
print(json.dumps({"outcome": "bad", "key": 2}), flush=True)
print("last words", file=sys.stderr, flush=True)
time.sleep(600)
"""


SCREENS = (["runs", "list"], ["runs", "show", "baseline"], ["status"], ["report"])
OTHER = """\
name: other
hypothesis: mode
kind: toggle
vars: {trials: 40}
steps:
  - env: {services: [app], set: {MODE: other}, removes: [mode]}
  - restart: {services: [app]}
  - reproduce: {use: trials, stop: when_decided}
verdict: {by: rate, expect: drop, against: baseline}
"""


def stops(stage: Stage, playbook: str, stop: str) -> None:
    stage.edit(f"playbooks/{playbook}.yaml", "{use: trials}", f"{{use: trials, stop: {stop}}}")


def observed(stage: Stage) -> dict[str, object]:
    query = """
        SELECT stop_reason, invalid, fail, n FROM observation
        JOIN trial_rates ON observation = observation.id ORDER BY observation.rowid DESC LIMIT 1
    """
    return stage.rows(query)[0]


def gone(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return True
    return stat.rpartition(")")[2].split()[0] == "Z"


def test_it_stops_at_the_first_failure_and_its_group_ends(stage: Stage) -> None:
    stops(stage, "baseline", "{failures: 1}")
    (stage.root / "repro.py").write_text(FAIL_THEN_HANG, encoding="utf-8")
    done = stage.run("run", "-y", "baseline")
    assert done.code == 0, done.err
    assert "reproduce trials  (until 1 failure, at most 40 trials)" in done.err
    rule = "until 1 failure, at most 40 trials; 1 failure seen after 2 trials"
    assert f"failed 1/2, 50.0% (9.5-90.5%); {rule}" in done.err
    assert observed(stage) == {"stop_reason": rule, "invalid": None, "fail": 1, "n": 2}
    for pid in (stage.root / "pids").read_text().split():
        await_that(lambda pid=pid: gone(int(pid)), f"{pid} is gone")
    log = stage.run("runs", "log", "baseline").out
    assert '"key": 2' in log
    assert stage.run("runs", "show", "baseline").out.count(rule) == 2
    stage.check_untouched()


def test_one_of_one_is_never_a_rate(stage: Stage) -> None:
    stops(stage, "baseline", "{failures: 1}")
    stage.edit("src/app.py", "number % 5 == 0", "number > 0")
    stage.up_again()
    done = stage.run("run", "-y", "baseline")
    assert "failed 1/1; until 1 failure" in done.err
    assert "1 failure seen after 1 trial\n" in done.err
    stopped = "1/1, stopped at the first failure"
    assert stopped in stage.run("runs", "list").out
    assert f"baseline: {stopped}" in stage.run("status").out
    assert "by trials: 1/1 (until 1 failure" in stage.run("runs", "show", "baseline").out
    report = stage.run("report").out
    assert f"Trials: baseline: {stopped}" in report
    assert "Baseline: 1/1 fail, stopped at the first failure, in 1 restart" in report
    judged = stage.run("run", "-y", "fix").err
    assert "treatment 0/40, at most 8.8%; baseline 1/1, stopped at the first failure" in judged
    everything = [done.err, judged, *(stage.run(*words).out for words in SCREENS)]
    assert not [one for one in everything if "100%" in one]
    assert "40 trials against baseline 1/1, stopped at the first failure" in judged
    assert "here a rule decided it: no lead by counts alone" in judged
    stage.check_untouched()


def test_a_lead_does_not_rest_on_a_stop_at_failures(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline").code == 0
    stops(stage, "fix", "{failures: 1}")
    done = stage.run("run", "-y", "fix")
    assert "stopping rule until 1 failure, at most 40 trials; not reached" in done.err
    assert "inconclusive, leading" in done.err, "no failure in 40 is what it is under any rule"
    (stage.root / "patches" / "fix.diff").write_text(
        (stage.root / "patches" / "fix.diff").read_text().replace("False", "True  # still")
    )
    stage.edit("playbooks/fix.yaml", "expect: drop", "expect: rise")
    stage.edit("src/app.py", "number % 5 == 0", "number > 0")
    stage.up_again()
    stage.edit("playbooks/fix.yaml", "failures: 1", "failures: 12")
    done = stage.run("run", "-y", "fix")
    assert "12 failures seen after 12 trials" in done.err
    assert "no lead by counts alone" in done.err
    assert "inconclusive, leading" not in done.err


def test_the_e_process_pairs_with_the_baseline(stage: Stage) -> None:
    stops(stage, "fix", "sequential")
    early = stage.run("run", "-y", "fix")
    assert early.code == 2
    assert "stop: sequential needs trials of baseline under the same conditions" in early.err
    stage.edit("src/app.py", "number % 5 == 0", "number > 0")
    stage.up_again()
    assert stage.run("run", "-y", "baseline").code == 0
    done = stage.run("run", "-y", "fix")
    assert "(until the e-value is 20, at most 40 trials)" in done.err
    assert "the rates differ after" in done.err
    assert "inconclusive, leading" in done.err
    assert int(str(observed(stage)["n"])) < 40
    stage.check_untouched()


def test_when_decided_needs_a_baseline_that_has_failed(bare: Stage) -> None:
    stops(bare, "fix", "when_decided")
    refused = bare.run("plan", "fix")
    assert refused.code == 2
    assert "stop: when_decided needs a baseline that has failed under the same" in refused.err
    assert "run baseline first, with 59 trials or more" in refused.err
    assert len(refused.err.splitlines()) == 1
    bare.edit(
        "playbooks/fix.yaml", "stop: when_decided", "stop: {rule: when_decided, otherwise: fixed}"
    )
    planned = bare.run("plan", "fix")
    assert "(fixed: 40 trials, since when_decided needs a baseline that has failed" in planned.out
    bare.edit("playbooks/fix.yaml", ", removes: [rule]", "")
    unweighed = bare.run("check")
    assert "stop: when_decided weighs a suspected cause, and no step removes one" in unweighed.err


def test_when_decided_stops_by_the_rule_of_the_plan(stage: Stage) -> None:
    stage.toy.playbook("other", OTHER)
    assert stage.run("run", "-y", "baseline").code == 0
    planned = stage.run("plan", "other").out
    rule = planned.partition("reproduce trials  (")[2].partition(")\n")[0]
    assert rule.startswith("when decided, at most 40 trials: at ")
    done = stage.run("run", "-y", "other")
    assert done.code == 0, done.err
    (kept,) = stage.rows("SELECT rule, stopped FROM observation_terms WHERE rule <> ''")
    assert kept == {"rule": rule, "stopped": "stopped early: one more trial would teach too little"}
    assert f"stopping rule {rule}; one more trial would teach too little after" in done.err
    seen = observed(stage)
    assert 5 <= int(str(seen["n"])) < 40
    assert "that mode is part of the cause" in done.err
    assert "at most 30 trials" in stage.run("plan", "other", "-e", "trials=30").out
    stage.edit("playbooks/other.yaml", "use: trials, ", "use: trials, timeout: 1m, ")
    unlike = stage.run("plan", "other")
    assert unlike.code == 2
    assert "under the same conditions" in unlike.err
    stage.check_untouched()


def test_what_is_decided_already_is_driven_in_full(stage: Stage) -> None:
    assert stage.run("run", "-y", "baseline", "fix").code == 0
    stops(stage, "fix", "when_decided")
    planned = stage.run("plan", "fix").out
    assert "(fixed: 40 trials, since the search is decided: rule, 9" in planned


@pytest.mark.parametrize(
    ("stop", "said"),
    [
        ("{failures: 0}", "0"),
        ("sometimes", "sometimes"),
        ("{failures: 2, rule: fixed}", "give a rule or failures, not both"),
    ],
)
def test_a_rule_that_cannot_be_is_refused(bare: Stage, stop: str, said: str) -> None:
    stops(bare, "fix", stop)
    done = bare.run("check")
    assert done.code == 2
    assert said in done.err


def test_a_rule_needs_trials_as_they_end(bare: Stage) -> None:
    stops(bare, "fix", "sequential")
    bare.edit("campaign.yaml", '    trials: "{{ trials }}"\n', "")
    done = bare.run("check")
    assert "an early stop needs 'trials' of reproducer 'trials'" in done.err
    bare.edit("campaign.yaml", "jsonl: {outcome: outcome, key: key,", "counts: {")
    assert "tells totals: parse an outcome a trial" in bare.run("check").err
