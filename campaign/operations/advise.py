"""next: the restarts that the workspace's playbooks make possible, the most telling first."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, groupby, pairwise

from campaign.engine.belief import believe
from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.operations.plan import Request, load, planned_trials
from campaign.workspace import Workspace
from hypotheses.by_model import judge, record
from hypotheses.fixed_restart import rank_fixed
from hypotheses.model import Posterior
from hypotheses.planner import (
    Candidate,
    Choice,
    Purpose,
    control,
    control_due,
    decided,
    toggle_sets,
)
from hypotheses.verdict import Word
from playbooks.combination import combine, removes, share_a_file, unfit
from playbooks.plan import GUESSED_DOWNTIME_S, GUESSED_MEASURE_S, PlanError
from playbooks.playbook import Env, Kind, Patch, Playbook, Reproduce
from playbooks.system import System

MOST_TRIALS = 1000
"""With more trials than this a restart is reckoned as if it had so many."""
SHOWN = 12
"""As many options are listed at most."""


@dataclass(frozen=True)
class Option:
    """A restart that could be next; `name` is what `campaign run` takes.

    All its `trials` are driven, in `seconds` with the restart and the way back, which cost
    `money` (`guessed` where the ledger has nothing to go by). `bits` are expected, `decides` is
    the chance that it decides the search; `removes` is the probability that the failure goes,
    and what that becomes as the counts speak for it or against it.
    """

    name: str
    purpose: str
    toggles: tuple[str, ...]
    trials: int
    seconds: float
    money: float
    guessed: bool
    bits: float = 0.0
    worth: float = 0.0
    decides: float = 0.0
    removes: float = 0.0
    if_gone: float = 0.0
    if_there: float = 0.0


@dataclass(frozen=True)
class Advice:
    """What is believed after `restarts`, and what could be next, the best option first.

    `parts` is each hypothesis's probability to be part of the cause, `none` that none of them is;
    `notes` say what stands out, `left_out` which playbooks cannot be chosen among, and why.
    `epochs` are the runs with which the baseline's rate moved.
    """

    campaign: str
    currency: str
    restarts: int
    parts: Mapping[str, float]
    none: float
    options: tuple[Option, ...]
    notes: tuple[str, ...]
    left_out: tuple[str, ...]
    epochs: tuple[str, ...]


def advise(workspace: Workspace) -> Advice:
    """Ranks what could be next. Changes nothing, and asks no host.

    Errors: LoadError; CampaignError (REFUSED without a ledger, USAGE without hypotheses).
    """
    with Ledger.open(workspace.ledger) as ledger:
        system, playbooks = load(workspace, Request(workspace.playbook_names(), {}))
        belief = believe(ledger, system.statistics)
        if belief is None:
            raise CampaignError(
                Exit.USAGE,
                "there are no hypotheses to choose among",
                "add one: campaign hypothesis add SLUG --claim '...'",
            )
        desk = _Desk(system, ledger, belief, playbooks)
        options, notes = desk.advise()
    return Advice(
        campaign=system.campaign,
        currency=system.cost.currency,
        restarts=len(belief.restarts),
        parts={slug: belief.part(slug) for slug in belief.causes},
        none=belief.none,
        options=tuple(options[:SHOWN]),
        notes=tuple(notes),
        left_out=tuple(desk.left_out()),
        epochs=tuple(new.run for old, new in pairwise(belief.restarts) if new.epoch > old.epoch),
    )


@dataclass(frozen=True)
class _Desk:
    """What the ranking works with."""

    system: System
    ledger: Ledger
    belief: Posterior
    playbooks: Sequence[Playbook]

    def advise(self) -> tuple[list[Option], list[str]]:
        state = decided(self.belief)
        if state is not None:
            return self._to_show(state)
        due = control_due(self.belief)
        if due is None:
            return self._searches(), []
        controls, notes = self._controls(due)
        return controls + ([] if due is Purpose.REPRODUCE else self._searches()), notes

    def left_out(self) -> Iterator[str]:
        for one in self.playbooks:
            if one.kind in (Kind.TOGGLE, Kind.FIX) and (why := self._unsuited(one)):
                yield f"{one.name}: {why}"

    def _unsuited(self, playbook: Playbook) -> str | None:
        if playbook.arms:
            return "it has arms"
        if not removes(playbook):
            return "none of its steps says what it removes"
        if not _drives(playbook):
            return "it drives no trials"
        strangers = sorted(removes(playbook) - {*self.belief.causes})
        return f"{', '.join(strangers)} is abandoned" if strangers else None

    def _to_show(self, state: frozenset[str]) -> tuple[list[Option], list[str]]:
        """The search is decided: what a claim still lacks is the only thing left to do."""
        if not state:
            return [], ["none of the listed hypotheses is the cause: add new ones"]
        verdict = judge(self.belief, min(state))
        notes = [*verdict.reasons[:1]]
        if verdict.word is Word.SUPPORTED:
            return [], [*notes, "the search is decided, and the restarts show it"]
        notes.append(f"still needed: {verdict.still_needed}")
        told = record(self.belief, state)
        just_off = self.belief.restarts[-1].toggles == state
        if told.clean and (just_off or not told.returned):
            return self._controls(Purpose.CONTROL)[0], notes
        return [one for one in self._searches() if {*one.toggles} == state], notes

    def _controls(self, purpose: Purpose) -> tuple[list[Option], list[str]]:
        """The baselines of the workspace, and how many trials a control should have."""
        options = [
            self._control(one, purpose)
            for one in sorted(self.playbooks, key=lambda one: bool(one.hypotheses))
            if one.kind is Kind.BASELINE and not one.arms and not _changes(one) and _drives(one)
        ]
        rule = control(self.belief, purpose, 1.0, 1.0).rule
        why = (
            "no control has failed yet, so nothing could be seen to vanish"
            if purpose is Purpose.REPRODUCE
            else "a control is due"
        )
        notes = [f"{why}: try {rule.at_most} trials with nothing off"]
        return options, notes if options else [*notes, "no playbook of kind baseline does that"]

    def _control(self, playbook: Playbook, purpose: Purpose) -> Option:
        trials = self._trials(playbook)
        restart_s, _back_s, trial_s, guessed = self._pace([playbook], trials)
        seconds = restart_s + trials * trial_s
        money = self.system.cost.money(restart_s, seconds)
        return Option(playbook.name, purpose, (), trials, seconds, money, guessed)

    def _searches(self) -> list[Option]:
        singles = [
            one
            for one in self.playbooks
            if one.kind is not Kind.DETECTOR and not self._unsuited(one)
        ]
        groups = [[one] for one in singles]
        groups += _combined([one for one in singles if not unfit(one)], self.belief)
        by_trials = sorted(map(self._priced, groups), key=lambda one: one.trials)
        options = [
            option
            for trials, some in groupby(by_trials, key=lambda one: one.trials)
            for option in self._ranked(trials, list(some))
        ]
        return sorted(options, key=lambda one: -one.worth)

    def _priced(self, group: Sequence[Playbook]) -> Option:
        trials = self._trials(group[0])
        restart_s, back_s, trial_s, guessed = self._pace(group, trials)
        seconds = restart_s + back_s + trials * trial_s
        return Option(
            name="+".join(one.name for one in group),
            purpose=Purpose.SEARCH,
            toggles=tuple(sorted(frozenset().union(*map(removes, group)))),
            trials=trials,
            seconds=seconds,
            money=self.system.cost.money(restart_s + back_s, seconds),
            guessed=guessed,
        )

    def _ranked(self, trials: int, options: Iterable[Option]) -> Iterator[Option]:
        """Of options that remove the same the cheapest, each with what it is expected to teach."""
        cheapest = {
            frozenset(one.toggles): one for one in sorted(options, key=lambda one: -one.seconds)
        }
        candidates = [Candidate(some, one.seconds) for some, one in cheapest.items()]
        for choice in rank_fixed(self.belief, candidates, min(trials, MOST_TRIALS)):
            yield _taught(cheapest[choice.toggles], choice)

    def _trials(self, playbook: Playbook) -> int:
        planned = planned_trials(self.system, playbook)
        return planned or self.belief.settings.max_trials

    def _pace(self, group: Sequence[Playbook], trials: int) -> tuple[float, float, float, bool]:
        """Seconds of the restart, of the way back and of a trial, and whether they are guessed."""
        own = [pace for one in group if (pace := self.ledger.pace(one.name))]
        pace = max(own, key=lambda one: one.restart_s) if own else self.ledger.pace()
        if pace is None:
            return GUESSED_DOWNTIME_S, GUESSED_DOWNTIME_S, GUESSED_MEASURE_S / trials, True
        return pace.restart_s, pace.back_s or pace.restart_s, pace.trial_s, False


def _taught(option: Option, choice: Choice) -> Option:
    return replace(
        option,
        bits=choice.bits,
        worth=choice.worth,
        decides=choice.decides,
        removes=choice.removes,
        if_gone=choice.if_gone,
        if_there=choice.if_there,
    )


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


def _drives(playbook: Playbook) -> bool:
    return any(isinstance(step.action, Reproduce) for step in playbook.steps)


def _changes(playbook: Playbook) -> bool:
    return any(isinstance(step.action, Patch | Env) for step in playbook.steps)
