"""The restarts that the model gets to see, and those it does not."""

import json

import pytest
from ledger_builders import (
    make_boot,
    make_cycle,
    make_observation,
    make_run,
    make_step,
    make_trials,
)

from campaign.ledger import records
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from hypotheses.hypothesis import Hypothesis
from hypotheses.model import Restart

HARD = json.dumps({"concurrency": "60", "env.app.TOPK": "hash 1"})
EASY = json.dumps({"concurrency": "6", "env.app.TOPK": "hash 1"})
OFF = json.dumps({"concurrency": "60", "env.app.TOPK": records.ARM})


@pytest.fixture(autouse=True)
def hypotheses(recorder: Recorder) -> None:
    for slug in ("topk", "mtp"):
        recorder.add_hypothesis(Hypothesis(slug, ""))


def restarted(
    recorder: Recorder,
    run: records.Run,
    *results: str,
    removes: str = "",
    conditions: str = HARD,
    **boot_fields: str,
) -> records.Step:
    """A run of one restart with one observation; each result is a letter: f, p or c."""
    boot = make_boot(f"boot of {run.id}", run, **boot_fields)
    cycle = make_cycle(f"cycle of {run.id}", boot, run.id)
    removals = [records.Removal(boot.id, slug) for slug in removes.split()]
    step = make_step(f"step of {run.id}", boot)
    recorder.add_all([run, boot, *removals, cycle, step])
    for result in results:
        observe(recorder, step, result, conditions)
    return step


def observe(recorder: Recorder, step: records.Step, results: str, conditions: str = HARD) -> None:
    words = {"f": "fail", "p": "pass", "c": "censored"}
    observation = make_observation(
        recorder.new_id(), step, cycle=f"cycle of {step.run}", conditions=conditions
    )
    trials = make_trials(observation.id, [words[one] for one in results])
    recorder.add_all([observation, *trials])


def plain(run: str, fail: int, n: int) -> Restart:
    return Restart(frozenset(), fail, n, run=run)


def off(run: str, fail: int, n: int, *removed: str) -> Restart:
    return Restart(frozenset(removed), fail, n, run=run)


def test_each_restart_is_there_once_in_order_without_censored_trials(
    recorder: Recorder, ledger: Ledger
) -> None:
    restarted(recorder, make_run("baseline-1"), "fpc", "ffp")
    toggle = make_run("topk-1", kind="toggle")
    restarted(recorder, toggle, "pppc", removes="mtp topk", conditions=OFF, toggles="env.app.TOPK")
    restarted(recorder, make_run("baseline-2"), "fp")
    restarted(recorder, make_run("baseline-3"), "cc")
    assert ledger.restarts() == (
        plain("baseline-1", 3, 5),
        off("topk-1", 0, 3, "topk", "mtp"),
        plain("baseline-2", 1, 2),
    )


def test_only_completed_runs_count_and_the_one_asked_for(
    recorder: Recorder, ledger: Ledger
) -> None:
    restarted(recorder, make_run("baseline-1"), "fp")
    for number, status in enumerate(("failed", "aborted", "running")):
        restarted(recorder, make_run(f"baseline-{status}", status=status), "f" * (number + 1))
    restarted(recorder, make_run("baseline-wrong"), "ffff")
    recorder.retract("baseline-wrong", "wrong branch")
    step = restarted(recorder, make_run("baseline-invalid"))
    invalid = make_observation("invalid", step, conditions=HARD, invalid="crashed")
    recorder.add_all([invalid, *make_trials("invalid", ["fail"])])
    assert ledger.restarts() == (plain("baseline-1", 1, 2),)
    assert ledger.restarts("baseline-running")[1:] == (plain("baseline-running", 3, 3),)
    assert ledger.restarts("baseline-wrong") == ledger.restarts()


def test_other_conditions_than_the_newest_baselines_are_left_out(
    recorder: Recorder, ledger: Ledger
) -> None:
    toggle = {"kind": "toggle"}
    restarted(recorder, make_run("baseline-1"), "f", conditions=EASY)
    restarted(recorder, make_run("topk-1", **toggle), "p", removes="topk", conditions=EASY)
    assert len(ledger.restarts()) == 2
    restarted(recorder, make_run("baseline-2"), "f")
    restarted(recorder, make_run("topk-2", **toggle), "p", removes="topk", conditions=OFF)
    assert ledger.restarts() == (plain("baseline-2", 1, 1), off("topk-2", 0, 1, "topk"))


def test_without_a_baseline_the_newest_restart_sets_the_conditions(
    recorder: Recorder, ledger: Ledger
) -> None:
    assert ledger.restarts() == ()
    for name, conditions in (("topk-1", EASY), ("topk-2", OFF)):
        run = make_run(name, kind="toggle")
        restarted(recorder, run, "p", removes="topk", conditions=conditions)
    assert ledger.restarts() == (off("topk-2", 0, 1, "topk"),)


def test_a_boot_that_only_changes_something_is_no_control(
    recorder: Recorder, ledger: Ledger
) -> None:
    restarted(recorder, make_run("baseline-1"), "f")
    restarted(recorder, make_run("probe-1", kind="probe"), "f", toggles="file.here:/app.py")
    removing = make_run("probe-2", kind="probe")
    restarted(recorder, removing, "p", removes="topk", toggles="file.here:/app.py")
    restarted(recorder, make_run("toggle-1", kind="toggle"), "p", arm="control")
    assert [one.run for one in ledger.restarts()] == ["baseline-1", "probe-2", "toggle-1"]
    for name, kind in (("baseline-2", "baseline"), ("toggle-2", "toggle")):
        step = restarted(recorder, make_run(name, kind=kind), "p")
        boot = make_boot(step.boot, make_run(name))
        recorder.add(make_step(f"command of {name}", boot, kind="command"))
    assert [one.run for one in ledger.restarts()][3:] == ["baseline-2"]


@pytest.mark.parametrize(
    ("effect", "removing", "control"),
    [("effective", True, True), ("unproven", False, True), ("not effective", False, False)],
)
def test_a_removal_counts_only_where_it_was_proven(
    effect: str, removing: bool, control: bool, recorder: Recorder, ledger: Ledger
) -> None:
    restarted(recorder, make_run("baseline-1"), "f", effect=effect)
    run = make_run("topk-1", kind="toggle")
    restarted(recorder, run, "p", removes="topk", conditions=OFF, effect=effect)
    found = {one.run for one in ledger.restarts()}
    assert ("topk-1" in found, "baseline-1" in found) == (removing, control)


def imported(recorder: Recorder, run: str, results: str, conditions: str, **fields: str) -> None:
    restarted(recorder, make_run(run, **fields), results, conditions=conditions)
    recorder.add(records.RunTerms(run, imported_by="Ada"))


def test_an_imported_baseline_counts_under_the_conditions_of_those_run_here(
    recorder: Recorder,
) -> None:
    restarted(recorder, make_run("baseline-1"), "fp")
    imported(recorder, "baseline-2", "fpp", HARD)
    imported(recorder, "baseline-3", "ffff", EASY)
    imported(recorder, "fix-4", "pppp", HARD, kind="fix")
    with Ledger.open(recorder.path) as ledger:
        assert ledger.restarts() == (plain("baseline-1", 1, 2), plain("baseline-2", 1, 3))
