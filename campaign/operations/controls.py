"""Controls: restarts with nothing off, and when one must come first."""

from collections.abc import Sequence

from campaign.operations.desk import Desk, changes, driven, one_way
from campaign.operations.options import Option
from hypotheses.model import Posterior
from hypotheses.planner import Purpose, control, control_due
from playbooks.playbook import Kind, Playbook

_WHY = {
    Purpose.REPRODUCE: "no control has failed yet, so nothing could be seen to vanish",
    Purpose.CONTROL: "a control is due",
    Purpose.DRIFT: "the baseline's rate has moved, and one restart has seen the new one",
    Purpose.SHOW: "a control is needed",
}


def due(belief: Posterior) -> Purpose | None:
    """Whether the next restart should be a control, and why.

    A rate that moved is known by two restarts, and by one that failed, before it is built on.
    """
    epoch = belief.restarts[-1].epoch if belief.restarts else 0
    own = [one for one in belief.restarts if one.epoch == epoch and one.n and not one.toggles]
    if epoch and not any(one.fail for one in own):
        return Purpose.REPRODUCE
    if epoch and len(own) == 1:
        return Purpose.DRIFT
    return control_due(belief)


def controls(desk: Desk, purpose: Purpose) -> tuple[list[Option], list[str]]:
    """The baselines of the workspace, and why one is wanted with how many trials."""
    options = [
        _option(desk, one, purpose)
        for one in sorted(desk.of(Kind.BASELINE), key=lambda one: bool(one.hypotheses))
        if not one.arms and not changes(one) and driven(one)
        if purpose is Purpose.REPRODUCE or not desk.differs(one)
    ]
    notes = [_wanted(desk.belief, purpose, options)]
    return options, notes if options else [*notes, "no playbook of kind baseline does that"]


def _wanted(belief: Posterior, purpose: Purpose, options: Sequence[Option]) -> str:
    """Why, and how many trials it takes, where the playbook does not plan them anyway."""
    trials = control(belief, purpose, 1.0, 1.0).rule.at_most
    if purpose is Purpose.REPRODUCE:
        return f"{_WHY[purpose]}: try {trials} trials with nothing off"
    if options and options[0].trials < trials:
        few = f"{options[0].name} drives {options[0].trials}"
        return f"{_WHY[purpose]}; {few}, and {trials} would bring a failure 99 times in 100"
    return _WHY[purpose]


def _option(desk: Desk, playbook: Playbook, purpose: Purpose) -> Option:
    trials = desk.trials(playbook)
    return Option(
        name=playbook.name,
        purpose=purpose,
        teaches="how often it fails with nothing off",
        toggles=(),
        trials=trials,
        price=desk.prices.of([playbook.name], trials, back=0),
        one_way=one_way(playbook),
    )
