"""Moves the standing of a hypothesis by the rules, as an event that names the runs."""

from collections.abc import Iterable

from campaign.engine.events import StandingMoved
from campaign.engine.session import Session
from campaign.ledger.evidence import Judged
from campaign.ledger.reads import Ledger
from hypotheses.standing import Evidence, propose
from hypotheses.verdict import Expect


def move(session: Session, slugs: Iterable[str]) -> None:
    """Proposes a standing for each hypothesis from all its runs, and records it where it moved."""
    with Ledger.open(session.workspace.ledger) as ledger:
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
    for slug, proposal in proposals.items():
        if proposal.standing is not current[slug]:
            session.recorder.set_standing(
                slug, proposal.standing, proposal.reason, by="rule", runs=proposal.runs
            )
            session.emit(StandingMoved(slug, current[slug], proposal.standing, proposal.reason))


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
