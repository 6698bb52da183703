"""Where a hypothesis stands when all restarts of the campaign are weighed together.

The posterior's verdict (`by_model`) takes the place of rates; what was seen of the mechanism
(`by_mismatch`) stays beside it. `confirmed` needs removal and return, and besides either the
mechanism seen, or the failure gone once more after it had returned, by counts that are apart: off,
on, off.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hypotheses.by_model import Record, judge, likeliest, record
from hypotheses.hypothesis import Standing
from hypotheses.model import Posterior
from hypotheses.standing import Evidence, Proposal, propose
from hypotheses.verdict import Qualifier, Verdict, Word


class _Sides(Struct, frozen=True):
    """What the model says, and which runs saw the mechanism or looked for it in vain."""

    verdict: Verdict
    record: Record
    restarts: tuple[str, ...]
    seen: tuple[str, ...]
    denied: tuple[str, ...]

    @property
    def partial(self) -> bool:
        return self.verdict.qualifier == Qualifier.PARTIAL

    @property
    def shown(self) -> bool:
        return self.verdict.word is Word.SUPPORTED and not self.partial

    @property
    def why(self) -> str:
        return self.verdict.reasons[0] if self.verdict.reasons else "no restart has settled it yet"


def propose_by_model(
    current: Standing,
    belief: Posterior,
    cause: str,
    evidence: Sequence[Evidence] = (),
    *,
    overruled: bool = False,
) -> Proposal:
    """The standing of `cause` that its restarts and its runs' evidence allow, from all of it anew.

    Of the evidence, verdicts by mismatch count; the rates are in `belief`. What the operator
    decided stays. Raises ValueError where `cause` is not one of the causes.
    """
    if overruled or current is Standing.ABANDONED:
        return propose(current, evidence, overruled=overruled)
    sides = _sides(belief, cause, evidence)
    return _disagreement(sides) or _for_it(sides) or _against_it(sides) or _not_yet(sides)


def _sides(belief: Posterior, cause: str, evidence: Sequence[Evidence]) -> _Sides:
    by_mismatch = [one for one in evidence if one.expect is None and one.kind != "detector"]
    return _Sides(
        verdict=judge(belief, cause),
        record=record(belief, likeliest(belief, cause)),
        restarts=_unique(one.run for one in belief.restarts if one.n and one.run),
        seen=_unique(one.run for one in by_mismatch if one.verdict.word is Word.SUPPORTED),
        denied=_unique(one.run for one in by_mismatch if one.verdict.word is Word.REFUTED),
    )


def _disagreement(sides: _Sides) -> Proposal | None:
    """The mechanism on one side, the restarts (or another look at it) on the other."""
    leading = sides.verdict.qualifier == Qualifier.LEADING
    refuted = sides.verdict.word is Word.REFUTED
    if sides.seen and sides.denied:
        reason = "the runs disagree: its mechanism was seen, and looked for in vain"
        return Proposal(Standing.OPEN, reason, _unique((*sides.seen, *sides.denied)))
    if sides.seen and refuted:
        reason = f"its mechanism was seen, but the restarts speak against it: {sides.why}"
        return Proposal(Standing.OPEN, reason, _unique((*sides.seen, *sides.restarts)))
    if sides.denied and (sides.shown or leading):
        reason = f"its mechanism was looked for in vain, but the restarts speak for it: {sides.why}"
        return Proposal(Standing.OPEN, reason, _unique((*sides.denied, *sides.restarts)))
    return None


def _for_it(sides: _Sides) -> Proposal | None:
    runs = _unique((*sides.seen, *sides.restarts))
    if sides.shown and (sides.seen or sides.record.shows_again):
        return Proposal(Standing.CONFIRMED, f"{sides.why}; {_shown(sides)}", runs)
    if sides.shown:
        needed = "to confirm, see its mechanism or remove it once more"
        return Proposal(Standing.SUPPORTED, f"{sides.why}; {_shown(sides)}; {needed}", runs)
    if sides.seen:
        needed = "to confirm, remove the cause to stop the failure, then put it back"
        return Proposal(Standing.SUPPORTED, f"its mechanism was seen; {needed}", runs)
    if sides.partial:
        return Proposal(Standing.SUPPORTED, f"partial: {sides.why}", runs)
    if sides.verdict.qualifier == Qualifier.LEADING:
        return Proposal(Standing.LEADING, sides.why, runs)
    return None


def _shown(sides: _Sides) -> str:
    mechanism = ["its mechanism was seen"] if sides.seen else []
    steps = [*mechanism, "removed, the failure was gone", "put back, it returned"]
    if sides.record.shows_again:
        steps.append("removed again, it was gone again")
    return ", ".join(steps)


def _against_it(sides: _Sides) -> Proposal | None:
    if sides.denied:
        reason = "its mechanism was looked for in failing trials and not found"
        return Proposal(Standing.REFUTED, reason, sides.denied)
    if sides.verdict.word is Word.REFUTED:
        return Proposal(Standing.REFUTED, sides.why, sides.restarts)
    return None


def _not_yet(sides: _Sides) -> Proposal:
    return Proposal(Standing.OPEN, sides.why, sides.restarts if sides.verdict.reasons else ())


def _unique(runs: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(runs))
