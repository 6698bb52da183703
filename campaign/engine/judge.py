"""What a run allows one to say: the ledger's observations through the rules of `hypotheses`."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec import Struct
from msgspec.structs import replace

from campaign.engine.belief import weigh
from campaign.engine.counted import judge_by_counts
from campaign.engine.events import VerdictGiven
from campaign.engine.measure import Seen
from campaign.engine.session import Session
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from hypotheses.by_mismatch import judge_detector, judge_mismatch
from hypotheses.comparison import BootCompared
from hypotheses.verdict import Effect, Expect, Verdict, Word, weakest
from playbooks.join.detector import compared_by
from playbooks.playbook import Kind, MismatchRule, Playbook, RateRule


class BootEvidence(Struct, frozen=True):
    """What one boot of a run left to judge by."""

    arm: str
    effect: Effect
    effect_reasons: tuple[str, ...]
    seen: Seen
    invalid: tuple[str, ...] = ()

    @property
    def uncounted(self) -> tuple[str, ...]:
        """Why the trials of a reproduction say nothing, where none of them counts."""
        where = f"{self.arm}: " if self.arm else ""
        return tuple(f"{where}{text}" for text in self.seen.uncounted)


def judge(
    session: Session, run: str, playbook: Playbook, boots: Sequence[BootEvidence]
) -> Verdict | None:
    """The run's verdict, stored for each of its hypotheses; None where it declares none.

    Of several that differ, one that is inconclusive is the run's own.
    """
    verdict = _verdict(session, run, playbook, boots)
    if verdict is None:
        return None
    verdict = _explained(verdict, boots)
    given = []
    for slug in playbook.hypotheses or (None,):
        given.append(_weighed(session, run, playbook, slug, verdict))
        session.recorder.add(
            verdict_row(session.recorder.new_id(), run, slug, given[-1], session.clock())
        )
        session.emit(VerdictGiven(run, playbook.name, slug, given[-1]))
    return min(given, key=lambda one: one.word is not Word.INCONCLUSIVE)


def _weighed(
    session: Session, run: str, playbook: Playbook, slug: str | None, verdict: Verdict
) -> Verdict:
    """With what all restarts say, where the run was to show that a removal ends the failure."""
    rule = playbook.verdict
    if slug is None or not isinstance(rule, RateRule) or rule.expect is not Expect.DROP:
        return verdict
    with Ledger.open(session.workspace.ledger) as ledger:
        return weigh(verdict, ledger, session.system.statistics, run, slug)


def _verdict(
    session: Session, run: str, playbook: Playbook, boots: Sequence[BootEvidence]
) -> Verdict | None:
    invalid = tuple(reason for boot in boots for reason in boot.invalid)
    if not playbook.is_judged:
        return None
    if invalid:
        return Verdict(
            Word.INVALID, "the system changed during the measures", invalid,
            still_needed="the same run again, with the system left alone",
        )  # fmt: skip
    if playbook.kind is Kind.DETECTOR:
        return judge_detector([one.comparison for one in _compared(boots)], _effect(boots))
    with Ledger.open(session.workspace.ledger) as ledger:
        if isinstance(playbook.verdict, MismatchRule):
            return _by_mismatch(session, ledger, playbook, boots)
        assert isinstance(playbook.verdict, RateRule)
        return judge_by_counts(ledger, run, playbook.verdict, _effect(boots), session.accepted)


def _by_mismatch(
    session: Session, ledger: Ledger, playbook: Playbook, boots: Sequence[BootEvidence]
) -> Verdict:
    assert isinstance(playbook.verdict, MismatchRule)
    compared = _compared(boots)
    trusted = {one.comparison.detector for one in compared} <= ledger.trusted_detectors()
    return judge_mismatch(
        compared,
        min_coverage=playbook.verdict.min_coverage,
        trusted=trusted,
        effect=_effect(boots),
        detectors=() if trusted else _detectors_of(session, playbook),
    )


def _detectors_of(session: Session, probe: Playbook) -> tuple[str, ...]:
    """The workspace's playbooks that test what the probe compares, as far as they are valid."""
    from playbooks.language.problems import LoadError

    workspace, found = session.workspace, list[str]()
    for name in workspace.playbook_names():
        with suppress(LoadError):
            (one,) = workspace.load_playbooks([name], session.system, None, {})
            if one.kind is Kind.DETECTOR and compared_by(one) == compared_by(probe):
                found.append(name)
    return tuple(found)


def _compared(boots: Iterable[BootEvidence]) -> list[BootCompared]:
    return [boot.seen.compared for boot in boots if boot.seen.compared is not None]


def _effect(boots: Iterable[BootEvidence]) -> Effect:
    return weakest(boot.effect for boot in boots)


def _explained(verdict: Verdict, boots: Sequence[BootEvidence]) -> Verdict:
    """With what the proof found, where it is not that everything was effective, trials that do not

    count, checkpoints that never came, and drift.
    """
    found = [
        why for boot in boots for why in (*boot.effect_reasons, *boot.uncounted, *boot.seen.silent)
    ]
    reasons = (*verdict.reasons, *dict.fromkeys(found), *_drifts(boots))
    return replace(verdict, reasons=reasons)


def _drifts(boots: Iterable[BootEvidence]) -> Iterator[str]:
    """The restarts whose trials did not fail alike from their beginning to their end."""
    from hypotheses.drift import by_position

    for boot in boots:
        for halves in map(by_position, boot.seen.sequences):
            if halves.drifted:
                within = f"a restart of {boot.arm}" if boot.arm else "the restart"
                yield f"the rate changed within {within}: {halves}"


def verdict_row(
    id: str, run: str, slug: str | None, verdict: Verdict, at: float
) -> records.Verdict:
    """A verdict as the ledger keeps it."""
    return records.Verdict(
        id=id,
        run=run,
        hypothesis=slug,
        word=verdict.word.value,
        qualifier=verdict.qualifier,
        reasons="\n".join(verdict.reasons),
        numbers=json.dumps(dict(verdict.numbers), sort_keys=True),
        still_needed=verdict.still_needed,
        at=at,
    )
