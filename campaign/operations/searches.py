"""Restarts that tell suspects apart: toggles and fixes, alone, together, or as arms of a run."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import prod

from msgspec import Struct

from campaign.engine.budget import Price
from campaign.operations.desk import Desk, driven, leads_back, one_way
from campaign.operations.options import Option, listed
from hypotheses.fixed_restart import rank_fixed
from hypotheses.model import Posterior
from hypotheses.planner import Candidate, Choice, Purpose, toggle_sets
from playbooks.combination import combine, in_arm, removes, share_a_file, unfit
from playbooks.plan import PlanError
from playbooks.playbook import Kind, Playbook, Restart

MOST_TRIALS = 1000
"""With more trials than this a restart is reckoned as if it had so many."""


class _Arm(Struct, frozen=True):
    """Restarts of a run that remove the same, with so many trials each; none of them a control."""

    toggles: frozenset[str]
    trials: int
    boots: int


class _Experiment(Struct, frozen=True):
    """A run that could be next, by its name; `price` is of all its restarts, controls too."""

    name: str
    arms: tuple[_Arm, ...]
    price: Price
    one_way: bool


def searches(desk: Desk, purpose: Purpose = Purpose.SEARCH) -> list[Option]:
    """All that the workspace's playbooks make possible, the most bits a second first."""
    fit = [
        one for one in desk.playbooks if one.kind is not Kind.DETECTOR and not unsuited(desk, one)
    ]
    groups = [[one] for one in fit]
    groups += _combined([one for one in fit if not unfit(one)], desk.belief)
    experiments = _cheapest(_experiment(desk, group) for group in groups)
    choices = _choices(desk.belief, experiments)
    options = [_option(desk.belief, one, choices, purpose) for one in experiments]
    return sorted(options, key=lambda one: -one.worth)


def unsuited(desk: Desk, playbook: Playbook) -> str | None:
    """Why a playbook cannot be chosen among; None where it can."""
    if not removes(playbook):
        return "none of its steps says what it removes"
    if driven(playbook) is None:
        return "it drives no trials"
    strangers = sorted(removes(playbook) - {*desk.belief.causes})
    return f"{', '.join(strangers)} is abandoned" if strangers else desk.differs(playbook)


def _experiment(desk: Desk, group: Sequence[Playbook]) -> _Experiment:
    """Of several playbooks the first one's trials are driven."""
    first = group[0]
    together = frozenset[str]().union(*map(removes, group))
    arms = [_arm(desk, first, arm) for arm in first.arms or ("",)]
    boots, trials = sum(one.boots for one in arms), sum(one.boots * one.trials for one in arms)
    told = tuple(one for one in arms if one.toggles) if first.arms else ()
    return _Experiment(
        "+".join(one.name for one in group),
        told or (_Arm(together, arms[0].trials, arms[0].boots),),
        desk.prices.of([one.name for one in group], trials, boots, max(map(leads_back, group))),
        any(map(one_way, group)),
    )


def _arm(desk: Desk, playbook: Playbook, arm: str) -> _Arm:
    own = in_arm(playbook, arm)
    restarts = sum(isinstance(step.action, Restart) for step in own.steps)
    boots = sum(block.count(arm) for block in playbook.order) * max(1, restarts)
    return _Arm(removes(own), desk.trials(own), boots)


def _cheapest(experiments: Iterable[_Experiment]) -> list[_Experiment]:
    """Of those that ask the same the cheapest."""
    dearest_first = sorted(experiments, key=lambda one: -one.price.seconds)
    return [*{one.arms: one for one in dearest_first}.values()]


_Choices = dict[tuple[frozenset[str], int, float], Choice]
"""What one restart teaches, by what it removes, its trials, and the seconds it is given."""


def _choices(belief: Posterior, experiments: Sequence[_Experiment]) -> _Choices:
    found: _Choices = {}
    for trials in sorted({arm.trials for one in experiments for arm in one.arms}):
        candidates = dict.fromkeys(
            Candidate(arm.toggles, one.price.seconds)
            for one in experiments
            for arm in one.arms
            if arm.trials == trials
        )
        for choice in rank_fixed(belief, [*candidates], min(trials, MOST_TRIALS)):
            found[choice.toggles, trials, choice.seconds] = choice
    return found


def _option(
    belief: Posterior, experiment: _Experiment, choices: _Choices, purpose: Purpose
) -> Option:
    """The figures of its most telling arm; the bits are of all its restarts."""
    own = [
        (choices[arm.toggles, arm.trials, experiment.price.seconds], arm) for arm in experiment.arms
    ]
    best, arm = max(own, key=lambda one: one[0].bits)
    bits = _together(belief, own)
    return Option(
        name=experiment.name,
        purpose=purpose,
        teaches=f"whether removing {_any(one.toggles for one in experiment.arms)} ends the failure",
        toggles=tuple(sorted(best.toggles)),
        trials=arm.trials,
        price=experiment.price,
        arms=len(experiment.arms),
        bits=bits,
        worth=best.worth * bits / best.bits if best.bits else best.worth,
        decides=best.decides,
        chance=best.removes,
        if_yes=best.if_gone,
        if_no=best.if_there,
        one_way=experiment.one_way,
    )


def _any(sets: Iterable[frozenset[str]]) -> str:
    return " or ".join(listed(sorted(one)) for one in sets)


def _together(belief: Posterior, own: Sequence[tuple[Choice, _Arm]]) -> float:
    """The bits of all restarts of a run: each is taken to tell its share of what is not known yet.

    One restart tells what it tells.
    """
    if len(own) == 1 and own[0][1].boots == 1:
        return own[0][0].bits
    unknown = belief.entropy
    if not unknown:
        return 0.0
    return unknown * (1 - prod((1 - min(1.0, one.bits / unknown)) ** arm.boots for one, arm in own))


def _combined(parts: Sequence[Playbook], belief: Posterior) -> list[list[Playbook]]:
    """All pairs that go together, and what comes nearest to the planner's own toggle sets."""
    together = {
        frozenset((one.name, other.name))
        for one, other in combinations(parts, 2)
        if _go_together(one, other)
    }
    found = [[one, other] for one, other in combinations(parts, 2)]
    found += [_filled(parts, wanted.toggles, together) for wanted in toggle_sets(belief)]
    return [
        group
        for group in found
        if len(group) > 1
        and all(frozenset((a.name, b.name)) in together for a, b in combinations(group, 2))
    ]


def _filled(
    parts: Sequence[Playbook], wanted: frozenset[str], together: set[frozenset[str]]
) -> list[Playbook]:
    chosen: list[Playbook] = []
    for one in parts:
        fits = all(frozenset((one.name, other.name)) in together for other in chosen)
        new = removes(one) - frozenset().union(*map(removes, chosen))
        if fits and new and removes(one) <= wanted:
            chosen.append(one)
    return chosen


def _go_together(one: Playbook, other: Playbook) -> bool:
    if share_a_file(one, other) or removes(one) & removes(other):
        return False
    try:
        combine([one, other])
    except PlanError:
        return False
    return True


def left_out(desk: Desk) -> Iterator[str]:
    """The toggles and fixes that cannot be chosen among, and why."""
    for one in desk.playbooks:
        if one.kind in (Kind.TOGGLE, Kind.FIX) and (why := unsuited(desk, one)):
            yield f"{one.name}: {why}"
