"""Verdicts judged again where a run that they may rest on was retracted, from the ledger alone."""

import time
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from campaign.engine.belief import weigh
from campaign.engine.counted import judge_by_counts
from campaign.engine.judge import verdict_row
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from hypotheses.assumptions import Settings
from hypotheses.by_mismatch import untrusted_yet
from hypotheses.verdict import Effect, Expect, Verdict, Word, weakest
from playbooks.playbook import Kind, RateRule


class Rejudged(Struct, frozen=True):
    """A run's verdict on a hypothesis (None: on none) that reads otherwise now."""

    run: str
    hypothesis: str | None
    before: Verdict
    after: Verdict


def judge_verdicts_anew(
    recorder: Recorder, retracted: records.Run, reason: str, settings: Settings
) -> tuple[Rejudged, ...]:
    """Judges the runs after a `retracted` one by what was known when they ended, but for it.

    What changes is stored as a verdict of its own, which says why; the one before stays.
    """
    with Ledger.open(recorder.path) as ledger:
        found = tuple(_changed(ledger, retracted, settings))
    why = f"judged again without {retracted.id}, which was retracted: {reason}"
    told = tuple(
        replace(one, after=replace(one.after, reasons=(why, *one.after.reasons))) for one in found
    )
    at = time.time()
    recorder.add_all(
        [verdict_row(recorder.new_id(), one.run, one.hypothesis, one.after, at) for one in told]
    )
    return told


def _changed(ledger: Ledger, retracted: records.Run, settings: Settings) -> Iterator[Rejudged]:
    for run in reversed(ledger.runs(status="completed")):
        if run.retracted or run.started_at < retracted.started_at:
            continue
        for slug, before in ledger.latest_verdicts(run.id).items():
            after = _anew(ledger, run, slug, before, settings)
            if after is not None and _said(after) != _said(before):
                yield Rejudged(run.id, slug, before, after)


def _said(verdict: Verdict) -> tuple[object, ...]:
    return verdict.word, verdict.qualifier, dict(verdict.numbers)


def _anew(
    ledger: Ledger, run: records.Run, slug: str | None, before: Verdict, settings: Settings
) -> Verdict | None:
    """The verdict as the ledger allows it now; None where nothing it rests on can be retracted."""
    if "expect" in before.numbers:
        return _by_counts(ledger, run, slug, before, settings)
    decided = before.word in (Word.SUPPORTED, Word.REFUTED) and run.kind != Kind.DETECTOR
    detectors = {one.detector for one in ledger.comparisons(run.id)}
    if not decided or not detectors or detectors & ledger.trusted_detectors():
        return None
    return replace(untrusted_yet(), numbers=before.numbers)


def _by_counts(
    ledger: Ledger, run: records.Run, slug: str | None, before: Verdict, settings: Settings
) -> Verdict:
    numbers, boots = before.numbers, [one for one in ledger.boots(run.id) if one.run == run.id]
    rule = RateRule(
        Expect(str(numbers["expect"])),
        str(numbers["against"]),
        "time" if numbers.get("by") == "time" else "rate",
    )
    effect = weakest(Effect(one.effect) for one in boots if one.effect)
    patterns = ledger.terms(run.id).accepted.splitlines()
    verdict = judge_by_counts(ledger, run.id, rule, effect, patterns, run.ended_at)
    shown = dict.fromkeys(line for one in boots for line in one.effect_reasons.splitlines())
    verdict = replace(verdict, reasons=(*verdict.reasons, *shown))
    if slug is None or rule.expect is not Expect.DROP:
        return verdict
    return weigh(verdict, ledger, settings, run.id, slug, run.ended_at)
