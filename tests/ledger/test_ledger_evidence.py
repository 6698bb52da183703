"""What judging gets to see, and what it does not."""

import json

import pytest
from ledger_builders import (
    make_boot,
    make_comparison,
    make_run,
    make_step,
    make_verdict,
    observe,
)

from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from hypotheses.hypothesis import Hypothesis, Standing
from hypotheses.observation import Counts, Observation
from hypotheses.verdict import Verdict, Word


def _detector(
    recorder: Recorder, id: str, detector: str, word: str | None, kind: str = "detector"
) -> None:
    run = make_run(id, kind=kind)
    boot = make_boot(f"boot of {id}", run)
    step = make_step(f"step of {id}", boot, kind="compare")
    comparison = make_comparison(f"comparison of {id}", step, detector=detector)
    recorder.add_all([run, boot, step, comparison])
    if word:
        recorder.add(make_verdict(f"verdict of {id}", id, word))


def test_an_observation_comes_with_counts_restart_and_conditions(
    recorder: Recorder, ledger: Ledger
) -> None:
    observe(
        recorder,
        make_run("topk-aaaaaa", kind="toggle"),
        ["fail", "pass", "pass", "censored"],
        arm="treatment",
        conditions=json.dumps({"concurrency": 40, "host": "gpu-a"}),
    )
    assert ledger.observations_of() == (
        Observation(
            Counts(1, 2, 1),
            restart="cycle of topk-aaaaaa",
            run="topk-aaaaaa",
            playbook="topk",
            arm="treatment",
            conditions={"kept": "nothing", "concurrency": "40", "host": "gpu-a"},
        ),
    )


def test_observations_are_chosen_by_all_that_is_given(recorder: Recorder, ledger: Ledger) -> None:
    observe(recorder, make_run("base-1"), ["pass"], cycle=None)
    observe(recorder, make_run("topk-1", kind="toggle"), ["pass"], arm="control")
    observe(recorder, make_run("topk-2", kind="toggle"), ["pass"], arm="treatment")

    def runs(**wanted: str) -> list[str]:
        return [one.run for one in ledger.observations_of(**wanted)]

    assert runs() == ["base-1", "topk-1", "topk-2"]
    assert runs(kind="baseline") == ["base-1"]
    assert runs(playbook="topk") == ["topk-1", "topk-2"]
    assert runs(playbook="topk", arm="treatment") == ["topk-2"]
    assert runs(run="topk-1") == ["topk-1"]
    assert ledger.observations_of(run="base-1")[0].restart == "boot of base-1"


def test_only_what_counts_is_evidence(recorder: Recorder, ledger: Ledger) -> None:
    observe(recorder, make_run("a-invalid"), ["fail"], invalid="crashed")
    observe(recorder, make_run("a-failed", status="failed"), ["fail"])
    observe(recorder, make_run("a-running", status="running"), ["fail"])
    observe(recorder, make_run("a-retracted"), ["fail"])
    recorder.retract("a-retracted", "wrong branch")
    assert ledger.observations_of() == ()
    assert len(ledger.observations_of(run="a-running")) == 1
    assert ledger.observations_of(run="a-retracted") == ()


def test_a_detector_is_trusted_by_its_latest_judged_run(recorder: Recorder, ledger: Ledger) -> None:
    _detector(recorder, "d-1", "sum", "invalid")
    _detector(recorder, "d-2", "sum", "supported")
    _detector(recorder, "d-3", "other", "supported")
    _detector(recorder, "d-4", "other", "invalid")
    _detector(recorder, "p-1", "probed", "supported", kind="probe")
    _detector(recorder, "d-5", "unjudged", None)
    assert ledger.trusted_detectors() == {"sum"}
    _detector(recorder, "d-6", "sum", None)
    assert ledger.trusted_detectors() == {"sum"}
    recorder.retract("d-4", "wrong rooms")
    assert ledger.trusted_detectors() == {"sum", "other"}
    recorder.retract("d-2", "wrong rooms")
    assert ledger.trusted_detectors() == {"other"}


def test_evidence_is_the_latest_verdict_of_each_run_that_counts(
    recorder: Recorder, ledger: Ledger
) -> None:
    recorder.add_hypothesis(Hypothesis("mtp", ""))
    for id in ("probe-1", "probe-2", "probe-3"):
        recorder.add(make_run(id, kind="probe", playbook_text=f"name: {id}"))
        recorder.add(make_verdict(f"first {id}", id, "inconclusive", hypothesis="mtp"))
    recorder.add(make_run("probe-4", status="failed"))
    recorder.add(make_verdict("failed", "probe-4", "supported", hypothesis="mtp"))
    recorder.retract("probe-3", "wrong branch")
    recorder.add(
        make_verdict(
            "second",
            "probe-1",
            "supported",
            hypothesis="mtp",
            qualifier="mismatch",
            reasons="one\ntwo",
            numbers='{"fail": 3, "p": 0.31}',
            still_needed="165 trials",
        )
    )
    first, second = ledger.evidence("mtp")
    assert (first.run, first.playbook, first.kind) == ("probe-1", "probe", "probe")
    assert first.verdict == Verdict(
        Word.SUPPORTED, "mismatch", ("one", "two"), {"fail": 3, "p": 0.31}, "165 trials"
    )
    assert (second.run, second.verdict.word) == ("probe-2", Word.INCONCLUSIVE)
    assert ledger.newest_evidence("mtp") == (second,), "the last run of each playbook"
    assert ledger.evidence("other") == ()


@pytest.mark.parametrize("text", ["***", "[1]", '{"a": ***}'])
def test_conditions_broken_by_redaction_are_kept_as_text(
    text: str, recorder: Recorder, ledger: Ledger
) -> None:
    observe(recorder, make_run(), ["pass"], conditions=text)
    (observation,) = ledger.observations_of()
    assert observation.conditions == {"kept": "nothing", "unreadable": text}


def test_a_number_of_trials_that_an_older_version_stored_is_no_condition(
    recorder: Recorder, ledger: Ledger
) -> None:
    known = {"command": "repro {{ sessions }} {{ load }}", "load": "8"}
    for name, stored in (("old", {**known, "sessions": "40"}), ("new", known)):
        run = make_run(f"{name}-1")
        observe(recorder, run, ["fail", "pass"], conditions=json.dumps(stored))
    other = {**known, "load": "9", "sessions": "40"}
    observe(recorder, make_run("other-1"), ["fail"], conditions=json.dumps(other))
    assert [one.run for one in ledger.baselines()] == ["other-1"]
    old, new, loaded = ledger.observations_of()
    assert old.conditions == new.conditions == {"kept": "nothing", **known}
    assert loaded.conditions == {"kept": "nothing", **known, "load": "9"}
    assert len(ledger.restarts(alike=known)) == 2


def test_an_operators_word_stands_until_a_rules_later_one(
    recorder: Recorder, ledger: Ledger
) -> None:
    recorder.add_hypothesis(Hypothesis("mtp", ""))
    assert not ledger.is_overruled("mtp")
    recorder.set_standing("mtp", Standing.ABANDONED, "out of scope", "operator")
    recorder.note("mtp", "really")
    assert ledger.is_overruled("mtp")
    recorder.set_standing("mtp", Standing.OPEN, "rules again", "rule")
    assert not ledger.is_overruled("mtp")
