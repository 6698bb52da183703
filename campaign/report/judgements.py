"""Verdicts as the report tells them: the latest one on each hypothesis."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from campaign.ledger import records
from hypotheses.verdict import Verdict, Word


class Judgement(Struct, frozen=True):
    """A run's verdict on `hypotheses`; none where it concerns no hypothesis."""

    hypotheses: tuple[str, ...]
    verdict: Verdict


def collect_judgements(verdicts: Sequence[records.Verdict]) -> tuple[Judgement, ...]:
    """The latest of a run's verdicts on each hypothesis; equal ones are told together."""
    latest = {one.hypothesis: one for one in verdicts}
    told: list[Judgement] = []
    for slug, record in latest.items():
        verdict, slugs = verdict_of(record), (slug,) if slug else ()
        same = next((one for one in told if one.verdict == verdict), None)
        if same is None:
            told.append(Judgement(slugs, verdict))
        else:
            told[told.index(same)] = Judgement((*same.hypotheses, *slugs), verdict)
    return tuple(told)


def on(slug: str, judgements: Iterable[Judgement]) -> Verdict | None:
    """The verdict on one hypothesis, if there is one."""
    return next((one.verdict for one in judgements if slug in one.hypotheses), None)


def verdict_of(record: records.Verdict) -> Verdict:
    """A verdict as the ledger has it, without the numbers: the reasons tell them."""
    return Verdict(
        word=Word(record.word),
        qualifier=record.qualifier,
        reasons=tuple(record.reasons.splitlines()),
        still_needed=record.still_needed,
    )
