"""What a plan's trials can show, by what they will be compared with."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from msgspec import Struct

from campaign.engine.conditions import accepts, first_conditions
from campaign.engine.control import Control, Controls
from campaign.errors import CampaignError, Exit
from campaign.ledger.conditions import KEPT
from campaign.ledger.reads import Ledger
from hypotheses.by_time import exposure_of
from hypotheses.exposure import amount_text, clean_needed, clean_to_separate, rate_interval
from hypotheses.model import Restart
from hypotheses.observation import Observation, pooled
from hypotheses.planner import trials_to_reproduce
from hypotheses.rates import largest_separating, smallest_separating_above
from hypotheses.tally import tally
from hypotheses.verdict import Expect
from playbooks.language.problems import meant
from playbooks.plan import Boot, Plan
from playbooks.playbook import Kind, Playbook, RateRule, Reproduce
from playbooks.system import System
from playbooks.templates import render


class Unlike(Struct, frozen=True):
    """A playbook with what makes its trials incomparable, and what to do about it."""

    what: str
    fix: str


def can_show(controls: Controls, plan: Plan) -> Iterator[str]:
    """What the trials of each boot that is judged can show, in a sentence."""
    system = controls.system
    for _, group in groupby(plan.measured, key=lambda boot: boot.run):
        boots = tuple(group)
        playbook = boots[0].playbook
        rule = playbook.verdict if playbook else None
        if playbook is None or not isinstance(rule, RateRule):
            continue
        if rule.against in playbook.arms:
            yield f"{playbook.name}: {_own_control(system, boots, rule.against)}"
            continue
        for boot in boots:
            trials = trials_of(system, boot)
            control = controls.of(playbook, rule.against)
            if control.unlike or (control.ahead and not control.seen):
                yield f"{boot.title}: {_not_yet(control, trials)}"
            elif rule.kind == "time":
                yield f"{boot.title}: {_in_time(control.seen, rule)}"
            elif trials is not None:
                yield f"{boot.title}: {_sentence(trials, control.seen, rule)}"


def _own_control(system: System, boots: Sequence[Boot], against: str) -> str:
    """What a comparison of a run's own arms rests on."""
    sides = [
        (f"{against}", [boot for boot in boots if boot.arm == against]),
        ("the other arms", [boot for boot in boots if boot.arm != against]),
    ]
    said = []
    for name, side in sides:
        trials = sum(trials_of(system, boot) or 0 for boot in side)
        restarts = sum(1 for boot in side if boot.services)
        said.append(f"{trials} trials of {name} in {restarts} restart{'s' * (restarts != 1)}")
    return " against ".join(reversed(said))


def _not_yet(control: Control, trials: int | None) -> str:
    """What is said before there is anything to compare with."""
    planned = f"{trials} trials; " if trials is not None else ""
    if not control.unlike:
        return f"{planned}{control.against} is measured before them"
    seen = f"{control.against} {tally(control.other)}"
    return f"{planned}{seen} was seen under other conditions: {control.unlike}; {control.remedy}"


def _sentence(planned: int, seen: Sequence[Observation], rule: RateRule) -> str:
    control = pooled(seen)
    if control.n == 0:
        return f"{planned} trials; {rule.against} has no trials yet to compare them with"
    against = f"{planned} trials against {rule.against} {tally(seen)}"
    if control.fail == 0 and rule.expect is Expect.DROP:
        return f"{against}: it has not failed, so nothing can be seen to vanish; reproduce it first"
    if rule.expect is Expect.RISE:
        least = smallest_separating_above(planned, control.fail, control.n)
        separated = None if least is None else f"at {least}/{planned} or more"
    else:
        most = largest_separating(planned, control.fail, control.n)
        separated = None if most is None else f"at {most}/{planned} or fewer"
    if separated is None:
        return f"{against}: too few to be separated, whatever they show"
    return f"{against}: separated from it only {separated}"


def refuse_unreproduced(controls: Controls) -> None:
    """Refuses to look for a failure to vanish that the baseline has not shown.

    Unless a baseline comes before in the same run. Errors: CampaignError (REFUSED).
    """
    for playbook in controls.playbooks:
        rule = playbook.verdict
        if playbook.kind is Kind.BASELINE:
            return
        if not isinstance(rule, RateRule) or rule.expect is not Expect.DROP:
            continue
        if rule.against != "baseline" or rule.against in playbook.arms:
            continue
        seen = controls.of(playbook, "baseline").seen
        control = pooled(seen)
        if control.n and not control.fail:
            raise CampaignError(
                Exit.REFUSED,
                f"{playbook.name}: baseline {tally(seen)}: it has not failed, so nothing could be"
                " seen to vanish",
                f"reproduce it first: {_to_reproduce(seen)} with nothing off",
            )


def incomparable(controls: Controls) -> Iterator[Unlike]:
    """The playbooks whose verdict would be invalid, whatever their trials show."""
    for playbook in controls.playbooks:
        rule = playbook.verdict
        if not isinstance(rule, RateRule) or rule.against in playbook.arms:
            continue
        control = controls.of(playbook, rule.against)
        if control.unlike:
            seen = f"{rule.against} {tally(control.other)}"
            what = f"{playbook.name}: {seen} was seen under other conditions: {control.unlike}"
            yield Unlike(what, control.remedy)


def check_accepted(
    patterns: Sequence[str],
    system: System,
    playbooks: Sequence[Playbook],
    ledger: Ledger | None,
) -> None:
    """Refuses a pattern that fits no condition of either side. Errors: CampaignError (USAGE)."""
    if not patterns:
        return
    known = ledger.condition_names() if ledger is not None else frozenset[str]()
    known |= {name for one in playbooks for name in first_conditions(system, one)}
    known |= {KEPT, *(f"version.{name}" for name in system.versions)}
    services = {f"env.{name}." for name in system.services}
    for pattern in patterns:
        if not any(accepts([pattern], name) for name in (*known, *services)):
            few = sorted(name for name in known if not name.startswith("env."))
            hint = meant(pattern, known) or f"; the conditions are: {', '.join(few)}, env.*"
            raise CampaignError(
                Exit.USAGE, f"--accept-difference {pattern}: there is no such condition{hint}"
            )


def _to_reproduce(seen: Sequence[Observation]) -> str:
    """What would bring a failure 19 times in 20 at the highest rate that the trials allow."""
    exposure = exposure_of(seen)
    if exposure.amount:
        return amount_text(clean_needed(rate_interval(exposure).high), seen[0].unit)
    counts = pooled(seen)
    return f"{trials_to_reproduce([Restart(frozenset(), counts.fail, counts.n)])} trials"


def _in_time(seen: Sequence[Observation], rule: RateRule) -> str:
    """What time, or attempts, without a failure would show."""
    control = exposure_of(seen)
    if not control.amount:
        return f"{rule.against} has not been measured yet: nothing to compare with"
    against = f"against {rule.against} {tally(seen)}"
    clean = clean_to_separate(control)
    if clean is None:
        return f"{against}: it has not failed enough for anything to be separated from it"
    return (
        f"{against}: separated from it after {amount_text(clean, seen[0].unit)} without a failure"
    )


def trials_of(system: System, boot: Boot) -> int | None:
    """The trials that a boot's first reproduction plans; None where nobody can say."""
    for step in boot.measures:
        if isinstance(step.action, Reproduce):
            text = system.reproducers[step.action.use].trials
            variables = {**(boot.playbook.vars if boot.playbook else {}), **step.action.vars}
            rendered = render(text, variables, step.where) if text else ""
            return int(rendered) if rendered.isdigit() else None
    return None


def planned_trials(system: System, playbook: Playbook) -> int | None:
    """The trials that a playbook's first reproduction plans; None where nobody can say."""
    return trials_of(system, Boot(0, 0, playbook, measures=playbook.steps))
