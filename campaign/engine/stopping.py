"""Early stops: the rule is fixed in the plan, followed trial by trial, and told in the verdict."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from campaign.engine.conditions import conditions
from campaign.ledger.reads import Ledger
from hypotheses.observation import Result, Trial
from hypotheses.sequential import Failures, Rule, Sequential
from hypotheses.verdict import Qualifier, Verdict
from playbooks.plan import Boot, Plan, PlanError
from playbooks.playbook import Playbook, RateRule, Reproduce, Step
from playbooks.system import System
from playbooks.templates import render


@dataclass(frozen=True)
class RuleEnd:
    """How a reproduction under a rule ended: `reached` says why it was stopped, None: it was not.

    `trials` is how many there were at that point.
    """

    rule: Rule
    reached: str | None
    trials: int

    def __str__(self) -> str:
        how = f"{self.reached} after {self.trials} trials" if self.reached else "not reached"
        return f"{self.rule}: {how}"


class Watch:
    """Follows a rule; its `is_set` turns true when the rule, or who asked, ends the reproducer."""

    def __init__(self, rule: Rule | None, asked: threading.Event) -> None:
        self.rule = rule
        self._asked = asked
        self._outcomes: list[bool] = []
        self._reached: str | None = None

    def see(self, trials: Iterable[Trial]) -> None:
        """Takes note of trials, in order. What comes after the stop changes nothing about it."""
        if self.rule is None:
            return
        for trial in trials:
            if self._reached is not None or trial.result is Result.CENSORED:
                continue
            self._outcomes.append(trial.result is Result.FAIL)
            if len(self._outcomes) < self.rule.at_most:
                self._reached = self.rule.stop(self._outcomes)

    def is_set(self) -> bool:
        return self._reached is not None or self._asked.is_set()

    @property
    def aborted(self) -> bool:
        """Whether somebody asked the run to stop: then the rule has no say."""
        return self._asked.is_set()

    @property
    def end(self) -> RuleEnd | None:
        """How the rule ended it; None where there is none."""
        if self.rule is None:
            return None
        return RuleEnd(self.rule, self._reached, len(self._outcomes))


def with_rules(plan: Plan, system: System, ledger: Ledger | None) -> Plan:
    """The plan with the rule of each reproduction that may stop early. Errors: PlanError."""
    return replace(plan, boots=tuple(_ruled(boot, system, ledger) for boot in plan.boots))


def _ruled(boot: Boot, system: System, ledger: Ledger | None) -> Boot:
    if boot.playbook is None:
        return boot
    measures = tuple(_step(step, boot.playbook, system, ledger) for step in boot.measures)
    return replace(boot, measures=measures)


def _step(step: Step, playbook: Playbook, system: System, ledger: Ledger | None) -> Step:
    action = step.action
    if not isinstance(action, Reproduce) or action.stop.kind == "fixed":
        return step
    variables = {**playbook.vars, **action.vars}
    at_most = int(render(system.reproducers[action.use].trials or "", variables, step.where))
    rule: Rule
    if action.stop.kind == "sequential":
        rule = Sequential(_reference(step, action, playbook, system, ledger), at_most)
    else:
        rule = Failures(action.stop.failures, at_most)
    return replace(step, action=replace(action, rule=rule))


def _reference(
    step: Step, action: Reproduce, playbook: Playbook, system: System, ledger: Ledger | None
) -> tuple[bool, ...]:
    """The outcomes that the e-process pairs with, oldest first."""
    against = playbook.verdict.against if isinstance(playbook.verdict, RateRule) else "baseline"
    reproducer = system.reproducers[action.use]
    alike = conditions(
        reproducer, {**playbook.vars, **action.vars}, action.timeout_s or reproducer.timeout_s
    )
    found = ledger.outcomes_of(against, alike) if ledger is not None else ()
    if not found:
        raise PlanError(
            f"{step.where}: stop: sequential needs trials of {against} under the same conditions, "
            f"and there are none; run {against} first"
        )
    return found


def cautioned(verdict: Verdict, ends: Sequence[RuleEnd]) -> Verdict:
    """The verdict with how its reproductions were stopped, and without a lead that rests on it.

    Fisher's p is for a number of trials that was fixed before. Stopping at failures favours
    them; only an e-value that was reached stands however often it is looked at.
    """
    verdict = replace(verdict, reasons=(*verdict.reasons, *_told(ends)))
    if verdict.qualifier != Qualifier.LEADING or all(map(_stands, ends)):
        return verdict
    why = "p is for a fixed number of trials, and here a rule decided it: no lead by counts alone"
    return replace(verdict, qualifier="", reasons=(*verdict.reasons, why))


def _told(ends: Iterable[RuleEnd]) -> Iterator[str]:
    yield from dict.fromkeys(f"stopping rule {one}" for one in ends)


def _stands(end: RuleEnd) -> bool:
    """Whether the trials' number tells nothing about their outcomes, or the rule allows for it."""
    return (end.reached is not None) == isinstance(end.rule, Sequential)
