"""The rule of each reproduction that may stop early: made for the plan, from what is known then."""

from msgspec import Struct
from msgspec.structs import replace

from campaign.engine.belief import MOST_TRIALS, believe
from campaign.engine.conditions import accepts, planned_conditions
from campaign.engine.transition import removes
from campaign.ledger.conditions import KEPT, NOTHING_KEPT
from campaign.ledger.reads import Ledger
from hypotheses.by_model import chance_text
from hypotheses.model import Posterior
from hypotheses.planner import (
    Candidate,
    Purpose,
    control_due,
    decided,
    rank,
    trials_to_reproduce,
)
from hypotheses.sequential import Failures, Fixed, Rule, Sequential
from playbooks.plan import GUESSED_DOWNTIME_S, GUESSED_MEASURE_S, Boot, Plan, PlanError
from playbooks.playbook import Playbook, RateRule, Reproduce, Step
from playbooks.system import System
from playbooks.templates import render


class _Missing(Exception):  # noqa: N818 - it says what is missing
    """What a rule needs and there is not; the end of a sentence."""


def with_rules(
    plan: Plan,
    system: System,
    ledger: Ledger | None,
    accepted: tuple[str, ...] = (),
    kept: str = NOTHING_KEPT,
) -> Plan:
    """The plan with the rule of each reproduction that may stop early. Errors: PlanError.

    `accepted` are the patterns of conditions that may differ from those of earlier trials; `kept`
    is what earlier runs keep changed, as a condition.
    """
    maker = _Maker(system, ledger, accepted, kept)
    return replace(plan, boots=tuple(map(maker.ruled, plan.boots)))


class _Maker(Struct, frozen=True):
    system: System
    ledger: Ledger | None
    accepted: tuple[str, ...]
    kept: str

    def ruled(self, boot: Boot) -> Boot:
        if boot.playbook is None:
            return boot
        toggles = frozenset(removes(boot))
        measures = tuple(self._step(one, boot.playbook, toggles) for one in boot.measures)
        return replace(boot, measures=measures)

    def _step(self, step: Step, playbook: Playbook, toggles: frozenset[str]) -> Step:
        action = step.action
        if not isinstance(action, Reproduce) or action.stop.kind == "fixed":
            return step
        variables = {**playbook.vars, **action.vars}
        at_most = int(render(self.system.reproducers[action.use].trials or "", variables, ""))
        try:
            rule = self._rule(action, playbook, toggles, at_most)
        except _Missing as missing:
            rule = _instead(step, action, at_most, str(missing))
        return replace(step, action=replace(action, rule=rule))

    def _rule(
        self, action: Reproduce, playbook: Playbook, toggles: frozenset[str], at_most: int
    ) -> Rule:
        if action.stop.kind == "failures":
            return Failures(action.stop.failures, at_most)
        alike = self._alike(action, playbook)
        if action.stop.kind == "sequential":
            return Sequential(self._reference(playbook, alike), at_most)
        if not toggles:
            return Fixed(at_most, "nothing is removed here")
        return self._when_decided(playbook, toggles, alike, at_most)

    def _alike(self, action: Reproduce, playbook: Playbook) -> dict[str, str]:
        """The conditions that earlier trials must have had, as far as the plan knows them."""
        ahead = {**planned_conditions(self.system, playbook, action), KEPT: self.kept}
        return {name: one for name, one in ahead.items() if not accepts(self.accepted, name)}

    def _reference(self, playbook: Playbook, alike: dict[str, str]) -> tuple[bool, ...]:
        """The outcomes that the e-process pairs with, oldest first."""
        against = playbook.verdict.against if isinstance(playbook.verdict, RateRule) else "baseline"
        found = self.ledger.outcomes_of(against, alike) if self.ledger is not None else ()
        if not found:
            raise _Missing(f"trials of {against} under the same conditions; run {against} first")
        return found

    def _when_decided(
        self, playbook: Playbook, toggles: frozenset[str], alike: dict[str, str], at_most: int
    ) -> Rule:
        """The planner's own rule for a restart with these causes removed, at this ledger's pace."""
        if at_most > MOST_TRIALS:
            raise _Missing(f"{MOST_TRIALS} trials or fewer a restart, and {at_most} are planned")
        belief = self._weighed(toggles, alike)
        state = decided(belief)
        if state is not None:
            found = " and ".join(sorted(state)) or "none of the listed causes"
            chance = chance_text(belief.probability(state))
            return Fixed(at_most, f"the search is decided: {found}, {chance}")
        belief = replace(belief, settings=replace(belief.settings, max_trials=at_most))
        seconds = self._seconds(playbook, at_most)
        return rank(belief, [Candidate(toggles)], *seconds)[0].rule

    def _weighed(self, toggles: frozenset[str], alike: dict[str, str]) -> Posterior:
        settings = self.system.statistics
        belief = None if self.ledger is None else believe(self.ledger, settings, alike=alike)
        if belief is None or control_due(belief) is Purpose.REPRODUCE:
            trials = trials_to_reproduce(belief.restarts if belief else ())
            raise _Missing(
                "a baseline that has failed under the same conditions;"
                f" run baseline first, with {trials} trials or more"
            )
        if strangers := sorted(toggles - {*belief.causes}):
            raise _Missing(f"suspects to weigh, and {', '.join(strangers)} is abandoned")
        return belief

    def _seconds(self, playbook: Playbook, trials: int) -> tuple[float, float]:
        """Seconds of a restart with its way back and of a trial; a guess before the first."""
        pace = None
        if self.ledger is not None:
            pace = self.ledger.pace(playbook.name) or self.ledger.pace()
        if pace is None:
            return 2 * GUESSED_DOWNTIME_S, GUESSED_MEASURE_S / trials
        return pace.restart_s + pace.back_s, pace.trial_s


def _instead(step: Step, action: Reproduce, at_most: int, missing: str) -> Fixed:
    """What the playbook asks for where its rule cannot be had. Errors: PlanError."""
    kind = action.stop.kind
    if action.stop.otherwise_fixed:
        return Fixed(at_most, f"{kind} needs {missing}")
    raise PlanError(
        f"{step.where}: stop: {kind} needs {missing};"
        f" or drive all trials where it cannot: stop: {{rule: {kind}, otherwise: fixed}}"
    )
