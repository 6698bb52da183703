"""Moves the standing of a hypothesis by the rules, as an event that names the runs."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from campaign.engine.events import StandingMoved
from campaign.ledger.evidence import Judged
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from hypotheses.standing import Evidence, propose
from hypotheses.verdict import Expect

if TYPE_CHECKING:
    from campaign.engine.session import Session


def move(session: "Session", slugs: Iterable[str]) -> None:
    """Judges hypotheses anew, and tells whoever watches the run what moved."""
    for moved in judge_anew(session.recorder, slugs):
        session.emit(moved)


def judge_anew(recorder: Recorder, slugs: Iterable[str]) -> tuple[StandingMoved, ...]:
    """Proposes a standing for each hypothesis from all its runs, and records it where it moved."""
    with Ledger.open(recorder.path) as ledger:
        current = {one.slug: one.standing for one in ledger.hypotheses()}
        proposals = {
            slug: propose(
                current[slug],
                [_evidence(one) for one in ledger.evidence(slug)],
                overruled=ledger.is_overruled(slug),
            )
            for slug in slugs
            if slug in current
        }
    moved = []
    for slug, proposal in proposals.items():
        if proposal.standing is not current[slug]:
            recorder.set_standing(
                slug, proposal.standing, proposal.reason, by="rule", runs=proposal.runs
            )
            moved.append(StandingMoved(slug, current[slug], proposal.standing, proposal.reason))
    return tuple(moved)


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
