"""The verdict of a run by failures in the time, or the attempts, that its trials took.

Trials that were cut short count here as far as they ran: nothing failed in that time.
"""

from collections.abc import Sequence
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from hypotheses.by_rate import (
    again,
    cautioned,
    direction,
    incomparable,
    no_control,
    restarts_of,
    shared_luck,
)
from hypotheses.exposure import (
    Exposure,
    amount_text,
    clean_needed,
    clean_to_separate,
    compare,
    compared_text,
    exposure_text,
    rate_interval,
    to_settle,
)
from hypotheses.observation import Observation
from hypotheses.tally import tally
from hypotheses.verdict import Effect, Expect, Qualifier, Verdict, Word, unproven


class _Sides(Struct, frozen=True):
    """Both sides of the comparison, pooled, each with the number of its restarts."""

    treatment: Exposure
    control: Exposure
    restarts: int
    control_restarts: int
    against: str
    unit: str

    @property
    def dropped(self) -> bool:
        left, right = self.treatment, self.control
        return left.failures * right.amount < right.failures * left.amount

    def told(self, one: Exposure) -> str:
        return exposure_text(one, self.unit)


def judge_time(
    treatment: Sequence[Observation],
    control: Sequence[Observation],
    *,
    expect: Expect,
    effect: Effect,
    against: str,
    accepted: frozenset[str] = frozenset(),
) -> Verdict:
    """The verdict by failures per exposure: `treatment` against `control`, called `against`.

    `accepted` names the conditions that may differ. Counts alone are never more than
    *inconclusive, leading*.
    """
    sides = _Sides(
        exposure_of(treatment),
        exposure_of(control),
        restarts_of(treatment),
        restarts_of(control),
        against,
        next((one.unit for one in (*treatment, *control) if one.unit), "seconds"),
    )
    verdict = (
        incomparable(treatment, control, effect, accepted)
        or _refused(sides, expect)
        or _compared(sides, expect, effect)
    )
    verdict = replace(verdict, numbers=_numbers(sides))
    return cautioned(verdict, treatment, control, against)


def exposure_of(observations: Sequence[Observation]) -> Exposure:
    """Their failures in all that they ran; nothing at all where one of them measures none."""
    added = tally(observations)
    return Exposure(added.counts.fail, added.exposure) if added.exposure else Exposure()


def _refused(sides: _Sides, expect: Expect) -> Verdict | None:
    """What stands before any comparison: no control, no exposure, nothing that could vanish."""
    if sides.control_restarts == 0:
        return no_control(sides.against)
    if not sides.treatment.amount or not sides.control.amount:
        empty = sides.against if sides.treatment.amount else "the treatment"
        return Verdict(
            Word.INCONCLUSIVE,
            Qualifier.NO_TRIALS,
            (f"no trial of {empty} says how long it ran",),
            still_needed=f"trials of {empty} that do",
        )
    if expect is Expect.DROP and not sides.control.failures:
        return _reproduce_first(sides)
    return None


def _reproduce_first(sides: _Sides) -> Verdict:
    rate = rate_interval(sides.control).high
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.REPRODUCE_FIRST,
        (
            f"{sides.against} {sides.told(sides.control)}: it did not fail,"
            " so nothing could vanish",
            f"treatment {sides.told(sides.treatment)}",
        ),
        still_needed=(
            f"failures in {sides.against} first; then, to show one in"
            f" {amount_text(1 / rate, sides.unit)} gone,"
            f" {amount_text(clean_needed(rate), sides.unit)} without a failure, and more for a"
            " lower rate"
        ),
    )


def _compared(sides: _Sides, expect: Expect, effect: Effect) -> Verdict:
    apart = compare(sides.treatment, sides.control).separated
    qualifier = direction(sides.dropped, expect) if apart else ""
    reasons = (
        f"treatment {sides.told(sides.treatment)}; {sides.against} {sides.told(sides.control)}",
        compared_text(sides.treatment, sides.control),
    )
    restarts = sides.restarts, sides.control_restarts
    luck = (shared_luck(*restarts),) if qualifier == Qualifier.LEADING else ()
    needed = again(sides.against) if qualifier else _still_needed(sides)
    verdict = Verdict(Word.INCONCLUSIVE, qualifier, (*reasons, *luck), still_needed=needed)
    return unproven(verdict) if effect is Effect.UNPROVEN else verdict


def _still_needed(sides: _Sides) -> str:
    """What would settle rates that are not separated."""
    needed = "more of both"
    clean = None if sides.treatment.failures else clean_to_separate(sides.control)
    each = to_settle(sides.treatment, sides.control)
    if clean is not None:
        needed = f"{amount_text(clean, sides.unit)} in all without a failure would be separated"
    elif each is not None:
        needed = (
            f"about {amount_text(each, sides.unit)} a side would settle it four times in five"
            " if these rates are true"
        )
    return f"{needed}; more restarts tell more than longer ones"


def _numbers(sides: _Sides) -> dict[str, float | int | str]:
    both = compare(sides.treatment, sides.control)
    numbers: dict[str, float | int | str] = {
        "by": "time",
        "unit": sides.unit,
        "fail": sides.treatment.failures,
        "exposure": sides.treatment.amount,
        "restarts": sides.restarts,
        "against": sides.against,
        "control_fail": sides.control.failures,
        "control_exposure": sides.control.amount,
        "control_restarts": sides.control_restarts,
        "ratio_low": both.ratio.low,
        "p": both.p,
    }
    if both.ratio.high < inf:
        numbers["ratio_high"] = both.ratio.high
    return numbers
