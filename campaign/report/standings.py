"""What the report says about each hypothesis, and what an operator decided."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from campaign.ledger import records
from campaign.ledger.costs import Costs, HypothesisCosts
from campaign.ledger.reads import Ledger
from campaign.report.evidence import NO_FIGURES, Figures, chance
from campaign.report.figures import counted, named, trials_text
from campaign.report.judgements import on
from campaign.report.runs import RunPart
from hypotheses.hypothesis import Hypothesis, Standing

SETTLED = frozenset({Standing.CONFIRMED, Standing.REFUTED, Standing.ABANDONED})
"""Standings that need nothing more."""
GROUPS = {
    "What is known": (Standing.CONFIRMED, Standing.SUPPORTED),
    "What is ruled out": (Standing.REFUTED,),
    "What is open": (Standing.LEADING, Standing.OPEN),
    "Set aside": (Standing.ABANDONED,),
}
"""The parts in which hypotheses are told, and which standings each is for."""


class Spoken(Struct, frozen=True):
    """What one run says about a hypothesis: its verdict or how it ended, and why."""

    run: str
    kind: str
    outcome: str
    reasons: tuple[str, ...]
    figures: Figures = NO_FIGURES


class Decision(Struct, frozen=True):
    """A standing that was given to a hypothesis, by "rule" or "operator"."""

    hypothesis: str
    standing: str
    by: str
    at: float
    reason: str


class Assumption(Struct, frozen=True):
    """What a hypothesis takes for granted, and which runs rely on that, if any still do."""

    hypothesis: str
    text: str
    state: str


class HypothesisPart(Struct, frozen=True):
    """A hypothesis, its evidence run by run, and what is still needed.

    `in_short` counts the verdicts that are evidence; `decisions` are its standings but for the
    first, oldest first. `posterior` says how likely it is to be part of the cause, as
    of all restarts or else of its newest verdict that was weighed; empty where nothing is known.
    """

    hypothesis: Hypothesis
    costs: HypothesisCosts
    in_short: str
    spoken: tuple[Spoken, ...]
    decisions: tuple[Decision, ...]
    still_needed: tuple[str, ...]
    assumptions: tuple[Assumption, ...]
    posterior: str

    @property
    def spent(self) -> Costs:
        """What its runs cost, its share of those that speak to others too."""
        own = self.costs
        return Costs(own.restarts, own.downtime_s, own.occupied_s, own.money, own.lost_s)

    @property
    def latest(self) -> Decision | None:
        """Its newest standing; None where it has had none but its first."""
        return self.decisions[-1] if self.decisions else None

    @property
    def by_operator(self) -> tuple[Decision, ...]:
        return tuple(one for one in self.decisions if one.by == "operator")

    @property
    def overruled(self) -> bool:
        """Whether its standing is an operator's and not what the rules found."""
        return self.latest is not None and self.latest.by == "operator"


def collect_hypotheses(
    ledger: Ledger,
    runs: Sequence[RunPart],
    spent: Iterable[HypothesisCosts],
    parts: Mapping[str, float],
) -> tuple[HypothesisPart, ...]:
    """The hypotheses in the order they were added; `runs` oldest first. Errors: CampaignError.

    `spent` is what each has cost; `parts` are probabilities to be part of the cause, by slug, as
    far as they are known.
    """
    costs = {one.hypothesis: one for one in spent}
    return tuple(_collect(ledger, one, costs, runs, parts) for one in ledger.hypotheses())


def _collect(
    ledger: Ledger,
    hypothesis: Hypothesis,
    costs: Mapping[str, HypothesisCosts],
    runs: Iterable[RunPart],
    parts: Mapping[str, float],
) -> HypothesisPart:
    slug = hypothesis.slug
    own = [run for run in runs if slug in run.hypotheses]
    decisions = [_decision(one) for one in ledger.events(slug) if one.kind == "standing"]
    return HypothesisPart(
        hypothesis=hypothesis,
        costs=costs.get(slug) or HypothesisCosts(slug, None, 0, 0, 0, 0, 0.0, 0.0, 0.0),
        in_short=_in_short(slug, own),
        spoken=tuple(_spoken(slug, run) for run in own),
        decisions=tuple(decisions),
        still_needed=_still_needed(hypothesis, own),
        assumptions=tuple(_assumptions(hypothesis, own)),
        posterior=_posterior(slug, own, parts),
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
    figures = run.figures.get(slug, NO_FIGURES)
    return Spoken(run.record.id, run.record.kind, str(verdict), verdict.reasons, figures)


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


def _assumptions(hypothesis: Hypothesis, runs: Iterable[RunPart]) -> Iterable[Assumption]:
    """A verdict on a hypothesis rests on all its assumptions while the hypothesis is pursued."""
    relying = [
        run for run in runs if run.is_evidence and on(hypothesis.slug, run.judgements) is not None
    ]
    if hypothesis.standing in (Standing.REFUTED, Standing.ABANDONED):
        state = f"relied on until {hypothesis.slug} was {hypothesis.standing}"
    elif relying:
        verdicts = named([run.record.id for run in reversed(relying)])
        state = f"relied on by {counted(len(relying), 'verdict')}: {verdicts}"
    else:
        state = "nothing relies on it yet"
    for text in hypothesis.assumptions:
        yield Assumption(hypothesis.slug, text, state)


def _posterior(slug: str, runs: Sequence[RunPart], parts: Mapping[str, float]) -> str:
    if slug in parts:
        return chance(parts[slug])
    weighed = [
        run.figures[slug].posterior for run in runs if run.is_evidence and slug in run.figures
    ]
    return next((text for text in reversed(weighed) if text), "")
