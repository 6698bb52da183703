"""The verdict of a run by its failure rates, as far as counts alone go."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from hypotheses.observation import Counts, Observation, pooled
from hypotheses.rates import (
    clean_trials_needed,
    difference_text,
    fisher,
    newcombe,
    p_text,
    separated,
    share_text,
    trials_to_settle,
    wilson,
)
from hypotheses.tally import tally
from hypotheses.verdict import Effect, Expect, Qualifier, Verdict, Word, ineffective, unproven

CENSORED_LIMIT = 0.20
"""Above this share of censored trials a verdict says so."""
NAMED = 4
"""Of more conditions that differ only so many are spelled out as options."""


class _Arms(Struct, frozen=True):
    """Both sides of a rate comparison, pooled, each with the number of its restarts.

    `treated` and `controlled` are their rates as text.
    """

    treatment: Counts
    control: Counts
    restarts: int
    control_restarts: int
    against: str
    treated: str
    controlled: str

    @property
    def four(self) -> tuple[int, int, int, int]:
        return self.treatment.fail, self.treatment.n, self.control.fail, self.control.n

    @property
    def dropped(self) -> bool:
        return self.treatment.fail * self.control.n < self.control.fail * self.treatment.n


def judge_rate(
    treatment: Sequence[Observation],
    control: Sequence[Observation],
    *,
    expect: Expect,
    effect: Effect,
    against: str,
    accepted: frozenset[str] = frozenset(),
) -> Verdict:
    """The verdict by failure rates: `treatment` against `control`, which is called `against`.

    `accepted` names the conditions that may differ. Counts alone are never more than
    *inconclusive, leading*, however many restarts they come from.
    """
    arms = _Arms(
        pooled(treatment),
        pooled(control),
        restarts_of(treatment),
        restarts_of(control),
        against,
        str(tally(treatment)),
        str(tally(control)),
    )
    verdict = (
        incomparable(treatment, control, effect, accepted)
        or _refused_rate(arms, expect)
        or _compared(arms, expect, effect)
    )
    reasons = (*verdict.reasons, *_censored_reasons(arms))
    verdict = replace(verdict, reasons=reasons, numbers=_rate_numbers(arms))
    return cautioned(verdict, treatment, control, against)


def differences(left: Mapping[str, str], right: Mapping[str, str]) -> tuple[str, ...]:
    """The conditions that differ, by name: "concurrency 60 against 40"."""
    return tuple(named_differences(left, right).values())


def named_differences(left: Mapping[str, str], right: Mapping[str, str]) -> dict[str, str]:
    """As `differences`, each under the name of its condition."""
    missing = "not recorded"
    return {
        name: f"{name} {left.get(name, missing)} against {right.get(name, missing)}"
        for name in sorted(left.keys() | right.keys())
        if left.get(name) != right.get(name)
    }


def incomparable(
    treatment: Sequence[Observation],
    control: Sequence[Observation],
    effect: Effect,
    accepted: frozenset[str],
) -> Verdict | None:
    """The verdict where no comparison is possible; None where it is."""
    apart = _arm_differences(treatment, control, accepted)
    if effect is Effect.NOT_EFFECTIVE or not apart:
        return ineffective(effect)
    return Verdict(
        Word.INVALID,
        Qualifier.NOT_COMPARABLE,
        tuple(apart),
        still_needed=_comparable_again(tuple(dict.fromkeys(apart.values()))),
    )


def _arm_differences(
    treatment: Sequence[Observation], control: Sequence[Observation], accepted: frozenset[str]
) -> dict[str, str]:
    """What differs, with the name of its condition."""
    lefts, rights = _distinct(treatment, accepted), _distinct(control, accepted)
    found = [(left, right) for left in lefts for right in rights]
    return {
        text: name for left, right in found for name, text in named_differences(left, right).items()
    }


def _comparable_again(names: Sequence[str]) -> str:
    words = " ".join(f"--accept-difference {name}" for name in names[:NAMED])
    more = f" and so on for {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"both sides again under the same conditions, or this one with {words}{more}"


def _distinct(side: Sequence[Observation], accepted: frozenset[str]) -> list[dict[str, str]]:
    """The different sets of conditions on one side, without the accepted ones."""
    kept = [{k: v for k, v in one.conditions.items() if k not in accepted} for one in side]
    return list({frozenset(one.items()): one for one in kept}.values())


def _refused_rate(arms: _Arms, expect: Expect) -> Verdict | None:
    """What stands before any comparison: no control, no trials, nothing that could vanish."""
    if arms.control_restarts == 0:
        return no_control(arms.against)
    if arms.treatment.n == 0 or arms.control.n == 0:
        empty = "the treatment" if arms.treatment.n == 0 else arms.against
        return Verdict(
            Word.INCONCLUSIVE,
            Qualifier.NO_TRIALS,
            (f"no trial of {empty} ended as a pass or a failure",),
            still_needed=f"trials of {empty} that run to their end",
        )
    if expect is Expect.DROP and arms.control.fail == 0:
        return _reproduce_first(arms)
    return None


def no_control(against: str) -> Verdict:
    """The verdict where there is nothing to compare with."""
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.NO_CONTROL,
        (f"there are no trials of {against} to compare with",),
        still_needed=f"trials of {against} under the same conditions",
    )


def _reproduce_first(arms: _Arms) -> Verdict:
    bound = wilson(0, arms.control.n).high
    return Verdict(
        Word.INCONCLUSIVE,
        Qualifier.REPRODUCE_FIRST,
        (
            f"{arms.against} {arms.controlled}: it did not fail, so nothing could vanish",
            f"treatment {arms.treated}",
        ),
        still_needed=(
            f"failures in {arms.against} first; then, to show a rate of {share_text(bound)} gone,"
            f" {clean_trials_needed(bound)} clean trials, and more for a lower rate"
        ),
    )


def _compared(arms: _Arms, expect: Expect, effect: Effect) -> Verdict:
    qualifier = direction(arms.dropped, expect) if separated(*arms.four) else ""
    reasons = (
        f"treatment {arms.treated}; {arms.against} {arms.controlled}",
        f"difference {difference_text(arms.treatment, arms.control)},"
        f" Fisher {p_text(fisher(*arms.four))}",
    )
    restarts = arms.restarts, arms.control_restarts
    luck = (shared_luck(*restarts),) if qualifier == Qualifier.LEADING else ()
    needed = again(arms.against) if qualifier else _still_needed(arms, expect)
    verdict = Verdict(Word.INCONCLUSIVE, qualifier, (*reasons, *luck), still_needed=needed)
    return unproven(verdict) if effect is Effect.UNPROVEN else verdict


def direction(dropped: bool, expect: Expect) -> str:
    """The qualifier of counts that are separated."""
    if expect is Expect.SAME:
        return Qualifier.DIFFERS
    if dropped == (expect is Expect.DROP):
        return Qualifier.LEADING
    return Qualifier.LOWER if dropped else Qualifier.WORSE


def shared_luck(restarts: int | float | str, control_restarts: int | float | str) -> str:
    """Why so many restarts a side are at most leading by their counts."""
    if restarts == control_restarts == 1:
        return "one restart a side: restarts share their luck, so this is at most leading"
    return (
        f"restarts: {restarts} against {control_restarts};"
        " trials of one restart share its luck, so counts alone are at most leading"
    )


def again(against: str) -> str:
    """What a separated difference still needs."""
    return f"the same on fresh restarts, alternating with {against}"


def _still_needed(arms: _Arms, expect: Expect) -> str:
    """What would settle counts that are not separated."""
    trials = trials_to_settle(*arms.four)
    if trials is None or expect is Expect.SAME:
        interval = newcombe(*arms.four)
        apart = share_text(max(-interval.low, interval.high)).rstrip("%")
        needed = f"the rates may still differ by up to {apart} points"
    else:
        needed = (
            f"about {trials} trials an arm would settle it four times in five"
            " if these rates are true"
        )
    return f"{needed}; more restarts tell more than more trials"


def _censored_reasons(arms: _Arms) -> tuple[str, ...]:
    sides = (("the treatment", arms.treatment), (arms.against, arms.control))
    return tuple(
        f"{counts.censored} of {counts.total} trials of {name} were cut short:"
        f" more than {CENSORED_LIMIT:.0%}"
        for name, counts in sides
        if counts.censored > CENSORED_LIMIT * counts.total
    )


def cautioned(
    verdict: Verdict,
    treatment: Sequence[Observation],
    control: Sequence[Observation],
    against: str,
) -> Verdict:
    """With how a rule stopped either side, and without a lead that rests on such a stop.

    Fisher's p is for a number of trials that was fixed before. Stopping at failures favours
    them; only an e-value that was reached stands however often it is looked at.
    """
    own = [one.stop for one in treatment if one.stop]
    theirs = [one.stop for one in control if one.stop and not one.stop.stands]
    told = dict.fromkeys(f"stopping rule {one.told}" for one in own)
    told |= dict.fromkeys(f"{against}: stopping rule {one.told}" for one in theirs)
    verdict = replace(verdict, reasons=(*verdict.reasons, *told))
    if verdict.qualifier != Qualifier.LEADING or all(one.stands for one in (*own, *theirs)):
        return verdict
    why = "p is for a fixed number of trials, and here a rule decided it: no lead by counts alone"
    return replace(verdict, qualifier="", reasons=(*verdict.reasons, why))


def _rate_numbers(arms: _Arms) -> dict[str, float | int | str]:
    treatment, control = arms.treatment, arms.control
    rate, control_rate = (wilson(one.fail, one.n) for one in (treatment, control))
    difference = newcombe(*arms.four)
    return {
        "fail": treatment.fail,
        "n": treatment.n,
        "censored": treatment.censored,
        "restarts": arms.restarts,
        "rate_low": rate.low,
        "rate_high": rate.high,
        "against": arms.against,
        "control_fail": control.fail,
        "control_n": control.n,
        "control_censored": control.censored,
        "control_restarts": arms.control_restarts,
        "control_rate_low": control_rate.low,
        "control_rate_high": control_rate.high,
        "difference_low": difference.low,
        "difference_high": difference.high,
        "fisher_p": fisher(*arms.four),
    }


def restarts_of(side: Sequence[Observation]) -> int:
    """How many restarts the observations belong to."""
    return len({one.restart for one in side})
