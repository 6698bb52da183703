"""What the recorder stores, refuses, redacts and takes back."""

import re
import time
from contextlib import suppress

import pytest
from ledger_builders import (
    make_boot,
    make_comparison,
    make_cycle,
    make_observation,
    make_run,
    make_step,
    make_trials,
    make_verdict,
    observe,
)
from msgspec.structs import replace

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from hypotheses.hypothesis import Hypothesis, Standing

SECRET = "hunter2hunter2"

IDXK = Hypothesis(
    "idxk-transfer",
    "decode reads the buffer before it has landed",
    mechanism="the message overtakes the transfer",
    prior=0.4,
    predicts_if_true="rooms differ",
    predicts_if_false="rooms match",
    assumptions=("one transfer thread", "no retries"),
    links=("https://example.org/1",),
)


def _redact(text: str) -> str:
    return text.replace(SECRET, "***")


def test_every_kind_of_record_reads_back_as_it_was(recorder: Recorder, ledger: Ledger) -> None:
    recorder.add_hypothesis(IDXK)
    run = make_run(error="no", retracted="typo", retracted_at=3.0, ended_at=2.0)
    boot = make_boot("b", run, ended_at=9.0, occupied_s=3.5, effect="unproven")
    cycle = make_cycle("c", boot, run.id)
    step = make_step("s", boot, ended_at=4.0, status="done", undo="put back", detail="x")
    edit = records.Edit("e", "b", run.id, "here", "/a", None, "ff", "+a", "s", 8.0)
    state = records.ServiceState("st", "b", "prefill", "start", 7, 1.0, "effective", "{}")
    observation = make_observation("o", step, cycle="c", exit_code=0, invalid="crashed")
    trials = [records.Trial("o", 0, "leak", "fail", "s1", "r1 r2", 1.5, 2.0)]
    comparison = make_comparison("k", step, matched=3, coverage=0.75)
    key = records.ComparisonKey("k", "r1", "mismatched", "left", "right")
    verdict = make_verdict("v", run.id, "inconclusive", hypothesis=IDXK.slug, reasons="a\nb")
    artifact = records.Artifact("a", run.id, "s", "log", "runs/log", 12, "00")
    stored = [run, boot, cycle, step, edit, state, observation, *trials, comparison, key]
    recorder.add_all([*stored, verdict, artifact])
    recorder.link_run(run.id, [IDXK.slug, IDXK.slug])
    assert ledger.run(run.id) == run
    assert ledger.hypotheses_of(run.id) == (IDXK.slug,)
    assert ledger.boots(run.id) == (boot,)
    assert ledger.cycles(run.id) == (cycle,)
    assert ledger.steps(run.id) == (step,)
    assert ledger.edits(run.id) == (edit,)
    assert ledger.states(run.id) == (state,)
    assert ledger.observations(run.id) == (observation,)
    assert ledger.trials("o") == tuple(trials)
    assert ledger.comparisons(run.id) == (comparison,)
    assert ledger.comparison_keys("k") == (key,)
    assert ledger.verdicts(run.id) == (verdict,)
    assert ledger.artifacts(run.id) == (artifact,)


def test_update_changes_the_named_fields_alone(recorder: Recorder, ledger: Ledger) -> None:
    run = make_run(status="running")
    recorder.add(run)
    recorder.update(records.Run, run.id, status="failed", error="step 2 failed")
    assert ledger.run(run.id) == replace(run, status="failed", error="step 2 failed")


def test_update_of_a_missing_row_is_a_fault(recorder: Recorder) -> None:
    with pytest.raises(CampaignError, match="no run has the id nobody") as told:
        recorder.update(records.Run, "nobody", status="failed")
    assert told.value.exit is Exit.FAULT


@pytest.mark.parametrize(
    "record",
    [
        make_boot("b", make_run("missing-aaaaaa")),
        make_run(status="sleeping"),
        make_run(state="muddy"),
        make_run(kind="guess"),
        make_run(started_at="noon"),
        make_run(question=None),
    ],
)
def test_a_row_that_breaks_the_schema_is_a_fault(
    record: records.Run | records.Boot, recorder: Recorder, ledger: Ledger
) -> None:
    with pytest.raises(CampaignError) as told:
        recorder.add(record)
    assert told.value.exit is Exit.FAULT
    assert ledger.runs() == ()


def test_rows_are_stored_together_or_not_at_all(recorder: Recorder, ledger: Ledger) -> None:
    with pytest.raises(CampaignError):
        recorder.add_all([make_run(), make_boot("b", make_run("missing-aaaaaa"))])
    with suppress(RuntimeError), recorder.transaction():
        recorder.add(make_run())
        raise RuntimeError
    assert ledger.runs() == ()
    recorder.add(make_run())
    assert len(ledger.runs()) == 1


def test_a_batch_of_trials_is_stored_in_order(recorder: Recorder, ledger: Ledger) -> None:
    observation = observe(recorder, make_run(), [])
    trials = make_trials(observation.id, ["pass", "fail", "censored"] * 500)
    for start in range(0, len(trials), 500):
        recorder.add_all(trials[start : start + 500])
    assert ledger.trials(observation.id) == tuple(trials)
    assert ledger.trials(observation.id, start=1_490) == tuple(trials[1_490:])
    (counts,) = ledger.trial_counts(observation.run).values()
    assert (counts.fail, counts.passed, counts.censored) == (500, 500, 500)


def test_secrets_are_taken_out_of_all_text(recorder: Recorder, ledger: Ledger) -> None:
    with Recorder.open(recorder.path, create=False, redact=_redact) as redacting:
        redacting.set_campaign("c", f"fails with {SECRET}", "USD")
        redacting.add_hypothesis(replace(IDXK, claim=SECRET, assumptions=(SECRET, "other")))
        redacting.note(IDXK.slug, f"see {SECRET}")
        redacting.set_standing(IDXK.slug, Standing.LEADING, SECRET, "operator")
        run = make_run(playbook_text=f"KEY: {SECRET}", command=f"run --var k={SECRET}")
        observe(redacting, run, ["pass"], tail=f"Authorization: {SECRET}")
        redacting.update(records.Run, run.id, error=f"bad {SECRET}")
        redacting.retract(run.id, SECRET)
    recorder.close()
    ledger.close()
    assert SECRET.encode() not in recorder.path.read_bytes()
    with Ledger.open(recorder.path) as again:
        assert again.hypotheses()[0].assumptions == ("***", "other")
        assert again.run(run.id).error == "bad ***"


def test_a_secret_that_is_a_word_of_ours_breaks_nothing(recorder: Recorder, ledger: Ledger) -> None:
    def redact(text: str) -> str:
        return text.replace("completed", "***").replace("baseline", "***")

    with Recorder.open(recorder.path, create=False, redact=redact) as redacting:
        observe(redacting, make_run(question="completed?"), ["pass"])
    (run,) = ledger.runs()
    assert (run.id, run.status, run.question) == ("baseline-aaaaaa", "completed", "***?")


def test_bytes_that_are_no_text_are_written_out(recorder: Recorder, ledger: Ledger) -> None:
    recorder.add(make_run(question="caf\udce9 \ud800"))
    assert ledger.runs()[0].question == "caf\\udce9 \\ud800"


def test_ids_are_short_and_of_no_run_so_far(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert re.fullmatch(r"[a-z2-7]{12}", recorder.new_id())
    first = recorder.new_id("probe")
    assert re.fullmatch(r"probe-[a-z2-7]{6}", first)
    recorder.add(make_run(first))
    letters = iter(first.removeprefix("probe-") + "zzzzzz")
    monkeypatch.setattr("campaign.ledger.recorder.secrets.choice", lambda _: next(letters))
    assert recorder.new_id("probe") == "probe-zzzzzz"
    monkeypatch.undo()
    assert len(recorder.new_id("+".join(["one-of-many"] * 60))) < 100, "a folder is named by it"


def test_the_campaign_keeps_its_key_and_its_beginning(recorder: Recorder, ledger: Ledger) -> None:
    assert ledger.campaign() is None
    before = time.time()
    first = recorder.set_campaign("pd", "leaks", "USD")
    assert before <= first.created_at <= time.time()
    assert len(bytes.fromhex(first.hash_key)) == 32
    second = recorder.set_campaign("pd-toolcalls", "leaks", "EUR")
    assert second == replace(first, name="pd-toolcalls", currency="EUR")
    assert ledger.campaign() == second


def test_a_hypothesis_keeps_its_history(recorder: Recorder, ledger: Ledger) -> None:
    recorder.add_hypothesis(IDXK)
    assert ledger.hypotheses() == (IDXK,)
    changed = replace(IDXK, prior=0.6, links=(), standing=Standing.REFUTED)
    recorder.change_hypothesis(changed)
    recorder.change_hypothesis(changed)
    recorder.note(IDXK.slug, "seen again on Monday")
    recorder.set_standing(IDXK.slug, Standing.LEADING, "3 of 40", "rule", ["a-1", "b-2"])
    events = ledger.events(IDXK.slug)
    assert [event.kind for event in events] == ["added", "changed", "note", "standing"]
    assert events[1].text == 'prior: 0.4 -> 0.6\nlinks: ["https://example.org/1"] -> []'
    assert events[3] == replace(
        events[3], text="3 of 40", standing="leading", by="rule", runs="a-1 b-2"
    )
    (now,) = ledger.hypotheses()
    assert now == replace(IDXK, prior=0.6, links=(), standing=Standing.LEADING)


def test_hypotheses_that_are_taken_unknown_or_unnameable(recorder: Recorder) -> None:
    recorder.add_hypothesis(IDXK)
    for act, line in (
        (lambda: recorder.add_hypothesis(IDXK), "the hypothesis idxk-transfer exists"),
        (lambda: recorder.add_hypothesis(Hypothesis("a b", "")), "'a b' cannot name"),
        (lambda: recorder.add_hypothesis(Hypothesis("(none)", "")), "cannot name"),
        (lambda: recorder.add_hypothesis(Hypothesis("", "")), "cannot name"),
        (lambda: recorder.change_hypothesis(Hypothesis("mtp", "")), "no hypothesis mtp"),
        (lambda: recorder.note("mtp", "hm"), "no hypothesis mtp"),
        (lambda: recorder.set_standing("mtp", Standing.OPEN, "", "rule"), "no hypothesis mtp"),
    ):
        with pytest.raises(CampaignError, match=re.escape(line)) as told:
            act()
        assert told.value.exit is Exit.USAGE


def test_a_run_is_retracted_once(recorder: Recorder, ledger: Ledger) -> None:
    run = make_run()
    recorder.add(run)
    recorder.retract(run.id, "wrong branch")
    assert ledger.run(run.id).retracted == "wrong branch"
    with pytest.raises(CampaignError, match="retracted already: wrong branch"):
        recorder.retract(run.id, "again")
    with pytest.raises(CampaignError, match="no run nobody"):
        recorder.retract("nobody", "why")
