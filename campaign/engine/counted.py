"""A run's trials against those they are compared with: the same conditions, then the counts."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from campaign.engine.conditions import accepts
from campaign.ledger.reads import Ledger
from campaign.ledger.records import ARM
from hypotheses.by_rate import differences, judge_rate
from hypotheses.by_time import judge_time
from hypotheses.observation import Observation
from hypotheses.verdict import Effect, Verdict
from playbooks.playbook import RateRule


def judge_by_counts(
    ledger: Ledger,
    run: str,
    rule: RateRule,
    effect: Effect,
    patterns: Sequence[str],
    until: float | None = None,
) -> Verdict:
    """The verdict of a run's own trials against those they are to be compared with.

    `patterns` are the conditions that may differ; what began after `until` is left out.
    """
    treatment, control = _beyond_the_arms(*_sides(ledger, run, rule.against, until))
    accepted = _accepted(patterns, (*treatment, *control))
    control = _comparable(treatment, control, accepted)
    judge = judge_time if rule.kind == "time" else judge_rate
    verdict = judge(
        treatment,
        control,
        expect=rule.expect,
        effect=effect,
        against=rule.against,
        accepted=accepted,
    )
    verdict = replace(verdict, reasons=(*verdict.reasons, *_differ(treatment, control, accepted)))
    return replace(verdict, numbers={**verdict.numbers, "expect": rule.expect.value})


def unlike(
    ours: Mapping[str, str], theirs: Mapping[str, str], patterns: Sequence[str]
) -> tuple[str, ...]:
    """What keeps two sides' trials from being compared: conditions that differ, in words.

    Neither what an arm of either side sets nor what `patterns` accept.
    """
    own = {name for side in (ours, theirs) for name, value in side.items() if value == ARM}

    def kept(side: Mapping[str, str]) -> dict[str, str]:
        return {name: value for name, value in side.items()
                if name not in own and not accepts(patterns, name)}  # fmt: skip

    return differences(kept(ours), kept(theirs))


def _sides(
    ledger: Ledger, run: str, against: str, until: float | None
) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
    """The run's own observations, and those of an arm, the baseline or another playbook."""
    own = ledger.observations_of(run=run)
    treatment = tuple(one for one in own if one.arm != against)
    arm = tuple(one for one in own if one.arm == against)
    if arm:
        return treatment, arm
    if against == "baseline":
        found = ledger.observations_of(kind="baseline", until=until)
    else:
        found = ledger.observations_of(playbook=against, until=until)
    return treatment, tuple(one for one in found if one.run != run)


def _beyond_the_arms(
    treatment: Sequence[Observation], control: Sequence[Observation]
) -> tuple[tuple[Observation, ...], tuple[Observation, ...]]:
    """Without the conditions that an arm of either side sets: these are what is compared."""
    own = {
        name
        for one in (*treatment, *control)
        for name, value in one.conditions.items()
        if value == ARM
    }

    return _without(treatment, own), _without(control, own)


def _without(side: Iterable[Observation], names: Collection[str]) -> tuple[Observation, ...]:
    return tuple(
        replace(one, conditions={k: v for k, v in one.conditions.items() if k not in names})
        for one in side
    )


def _accepted(patterns: Sequence[str], both: Iterable[Observation]) -> frozenset[str]:
    """The conditions that an operator's patterns name."""
    names = {name for one in both for name in one.conditions}
    return frozenset(name for name in names if accepts(patterns, name))


def _differ(
    treatment: Sequence[Observation], control: Sequence[Observation], accepted: Collection[str]
) -> Iterator[str]:
    """What differs, and was accepted, each once."""
    found = {
        one: None
        for left in treatment
        for right in control
        for one in differences(
            {name: value for name, value in left.conditions.items() if name in accepted},
            {name: value for name, value in right.conditions.items() if name in accepted},
        )
    }
    yield from (f"accepted difference: {one}" for one in found)


def _comparable(
    treatment: Sequence[Observation],
    control: Sequence[Observation],
    accepted: Collection[str] = (),
) -> tuple[Observation, ...]:
    """The controls under the treatment's conditions; where there are none, the nearest one,

    so that the verdict names what differs.
    """
    own = _without(treatment, accepted)
    apart = [
        sum(len(differences(mine.conditions, kept.conditions)) for mine in own)
        for kept in _without(control, accepted)
    ]
    same = tuple(one for one, number in zip(control, apart, strict=True) if not number)
    if same or not control:
        return same
    nearest = min(range(len(control)), key=lambda index: (apart[index], -index))
    return (control[nearest],)
