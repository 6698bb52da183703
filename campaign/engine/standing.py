"""Moves the standing of a hypothesis by the rules, as an event that names the runs."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from campaign.engine.belief import believe, tested
from campaign.engine.events import Note, StandingMoved
from campaign.ledger.evidence import Judged
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from hypotheses.assumptions import Settings
from hypotheses.drift import opens_epoch
from hypotheses.hypothesis import Standing
from hypotheses.model import Posterior
from hypotheses.standing import Evidence, Proposal, propose
from hypotheses.standing_by_model import propose_by_model
from hypotheses.verdict import Expect

DRIFTED = (
    "the baseline's rate has moved: what was seen before is held against the rate of its own time"
)

if TYPE_CHECKING:
    from campaign.engine.session import Session


def move(session: "Session", run: str, slugs: Iterable[str]) -> tuple[Note | StandingMoved, ...]:
    """Judges hypotheses anew after a run; what whoever watches it is to be told of that."""
    with Ledger.open(session.workspace.ledger) as ledger:
        belief = believe(ledger, session.system.statistics)
    drifted = belief is not None and opens_epoch(belief.restarts, run)
    moved = judge_anew(session.recorder, slugs, session.system.statistics)
    notes = (Note(DRIFTED, warn=True),) if drifted else ()
    return (*notes, *(replace(one, run=run) for one in moved))


def judge_anew(
    recorder: Recorder, slugs: Iterable[str], settings: Settings, why: str = ""
) -> tuple[StandingMoved, ...]:
    """Proposes a standing for each hypothesis from all its runs, and records it where it moved.

    Every restart speaks to every suspect, so all that a restart has removed are judged, too.
    `why` they are judged, where it is not that a run ended, is kept with the reason.
    """
    named = frozenset(slugs)
    with Ledger.open(recorder.path) as ledger:
        current = {one.slug: one.standing for one in ledger.hypotheses()}
        belief = believe(ledger, settings)
        proposals = {
            slug: _proposal(ledger, belief, slug, current[slug])
            for slug in current
            if slug in named or tested(belief, slug)
        }
    moved = []
    for slug, proposal in proposals.items():
        if proposal.standing is not current[slug]:
            reason = f"{proposal.reason}; {why}" if why else proposal.reason
            recorder.set_standing(slug, proposal.standing, reason, by="rule", runs=proposal.runs)
            moved.append(StandingMoved(slug, current[slug], proposal.standing, reason))
    return tuple(moved)


def _proposal(ledger: Ledger, belief: Posterior | None, slug: str, current: Standing) -> Proposal:
    """By the model where a restart has removed the cause, else by the runs' own verdicts.

    A mechanism that was seen, with a removal and a return that are apart by their counts,
    confirms as well, unless the restarts speak against it.
    """
    evidence = [_evidence(one) for one in ledger.evidence(slug)]
    overruled = ledger.is_overruled(slug)
    by_runs = propose(current, evidence, overruled=overruled)
    if belief is None or not tested(belief, slug):
        return by_runs
    by_model = propose_by_model(current, belief, slug, evidence, overruled=overruled)
    confirmed = by_runs.standing is Standing.CONFIRMED
    return by_runs if confirmed and by_model.standing is Standing.SUPPORTED else by_model


def _evidence(judged: Judged) -> Evidence:
    expect = judged.verdict.numbers.get("expect")
    return Evidence(
        judged.run,
        judged.playbook,
        judged.kind,
        judged.verdict,
        Expect(str(expect)) if expect else None,
        str(judged.verdict.numbers.get("against", "")),
    )
