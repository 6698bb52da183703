"""What the report says about each hypothesis, and what an operator decided."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from campaign.ledger import records
from campaign.ledger.costs import HypothesisCosts
from campaign.ledger.reads import Ledger
from campaign.report.figures import trials_text
from campaign.report.judgements import on
from campaign.report.runs import RunPart
from hypotheses.hypothesis import Hypothesis, Standing

SETTLED = frozenset({Standing.CONFIRMED, Standing.REFUTED, Standing.ABANDONED})
"""Standings that need nothing more."""


@dataclass(frozen=True)
class Spoken:
    """What one run says about a hypothesis: its verdict or how it ended, and why."""

    run: str
    kind: str
    outcome: str
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Decision:
    """A standing that was given to a hypothesis, by "rule" or "operator"."""

    hypothesis: str
    standing: str
    by: str
    at: float
    reason: str


@dataclass(frozen=True)
class HypothesisPart:
    """A hypothesis, its evidence run by run, and what is still needed.

    `in_short` counts the verdicts that are evidence; `latest` is its newest standing, None where
    it has had none but its first.
    """

    hypothesis: Hypothesis
    costs: HypothesisCosts
    in_short: str
    spoken: tuple[Spoken, ...]
    latest: Decision | None
    by_operator: tuple[Decision, ...]
    still_needed: tuple[str, ...]

    @property
    def overruled(self) -> bool:
        """Whether its standing is an operator's and not what the rules found."""
        return self.latest is not None and self.latest.by == "operator"


def collect_hypotheses(ledger: Ledger, runs: Sequence[RunPart]) -> tuple[HypothesisPart, ...]:
    """The hypotheses in the order they were added; `runs` oldest first. Errors: CampaignError."""
    costs = {one.hypothesis: one for one in ledger.hypothesis_costs()}
    return tuple(_collect(ledger, one, costs, runs) for one in ledger.hypotheses())


def _collect(
    ledger: Ledger,
    hypothesis: Hypothesis,
    costs: Mapping[str, HypothesisCosts],
    runs: Iterable[RunPart],
) -> HypothesisPart:
    slug = hypothesis.slug
    own = [run for run in runs if slug in run.hypotheses]
    decisions = [_decision(one) for one in ledger.events(slug) if one.kind == "standing"]
    return HypothesisPart(
        hypothesis=hypothesis,
        costs=costs.get(slug) or HypothesisCosts(slug, None, 0, 0, 0, 0, 0.0, 0.0, 0.0),
        in_short=_in_short(slug, own),
        spoken=tuple(_spoken(slug, run) for run in own),
        latest=decisions[-1] if decisions else None,
        by_operator=tuple(one for one in decisions if one.by == "operator"),
        still_needed=_still_needed(hypothesis, own),
    )


def _decision(event: records.HypothesisEvent) -> Decision:
    return Decision(event.hypothesis, event.standing or "", event.by, event.at, event.text)


def _in_short(slug: str, runs: Iterable[RunPart]) -> str:
    """Verdicts by word; a detector run judges the detector and no hypothesis."""
    tested = [run for run in runs if run.is_evidence and run.record.kind != "detector"]
    verdicts = [on(slug, run.judgements) for run in tested]
    found = Counter(str(verdict.word) for verdict in verdicts if verdict is not None)
    return ", ".join(f"{count} {word}" for word, count in found.items()) or "none"


def _spoken(slug: str, run: RunPart) -> Spoken:
    if run.record.retracted is not None:
        return _without(run, "retracted, does not count", run.record.retracted)
    if run.record.status != "completed":
        return _without(run, f"{run.record.status}, does not count", run.record.error or "")
    verdict = on(slug, run.judgements)
    if verdict is None:
        return _without(run, "no verdict", trials_text(run.pooled))
    return Spoken(run.record.id, run.record.kind, str(verdict), verdict.reasons)


def _without(run: RunPart, outcome: str, reason: str) -> Spoken:
    return Spoken(run.record.id, run.record.kind, outcome, (reason,) if reason else ())


def _still_needed(hypothesis: Hypothesis, runs: Iterable[RunPart]) -> tuple[str, ...]:
    """By playbook, what the newest verdict of each says; a run that tests it where none has."""
    if hypothesis.standing in SETTLED:
        return ()
    newest = {
        run.record.playbook: verdict
        for run in runs
        if run.is_evidence and (verdict := on(hypothesis.slug, run.judgements)) is not None
    }
    if not newest:
        return ("a completed run that tests it",)
    return tuple(
        f"{playbook}: {verdict.still_needed}"
        for playbook, verdict in newest.items()
        if verdict.still_needed
    )
