"""power: what a playbook's planned trials can and cannot show, before any downtime."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from campaign.engine.belief import MOST_TRIALS, believe
from campaign.engine.conditions import first_conditions
from campaign.engine.control import Controls
from campaign.errors import CampaignError, Exit
from campaign.ledger.conditions import KEPT
from campaign.ledger.reads import Ledger
from campaign.operations.desk import leads_back
from campaign.operations.plan import Request, load
from campaign.operations.prices import Prices
from campaign.operations.showing import planned_trials
from campaign.workspace import Workspace
from hypotheses.assumptions import Settings
from hypotheses.by_time import exposure_of
from hypotheses.exposure import Exposure, clean_needed, clean_to_separate
from hypotheses.observation import Counts, Observation, pooled
from hypotheses.outlook import outlook
from hypotheses.planner import trials_to_reproduce
from hypotheses.prospects import Prospect, needed, prospects, trials_to_halve, weight
from hypotheses.rates import chance_of_at_least, trials_for_yield
from hypotheses.verdict import Expect
from playbooks.combination import JOINED_BY, in_arm, removes
from playbooks.playbook import MismatchRule, Playbook, RateRule

FAILURES = 3
"""Failing trials that a look into a mechanism needs."""


class ByRate(Struct, frozen=True):
    """What the counts can show: separated only with so many failures (None: never)."""

    expect: str
    separated: str | None
    prospects: tuple[Prospect, ...]
    trials_to_halve: int | None


class ByMismatch(Struct, frozen=True):
    """The chance that enough trials fail to be looked into, and the trials that it takes."""

    failures: int
    chance: float
    trials: int


class ByTime(Struct, frozen=True):
    """What time, or attempts (`unit`), without a failure shows; `control` is what failed in what.

    `gone` shows that the control's rate is gone, at 95%; `separated` is separated from what was
    seen of it (None: nothing would be).
    """

    unit: str
    control: Exposure
    gone: float
    separated: float | None


class Settling(Struct, frozen=True):
    """What restarts like it settle of its suspected causes, with those of the ledger.

    `chance` is that of one restart; `restarts` settle it four times in five (None: not even 12).
    """

    toggles: tuple[str, ...]
    chance: float
    restarts: int | None


class Side(Struct, frozen=True):
    """One side of a comparison of a run's own arms: its trials in all, after so many restarts."""

    trials: int
    restarts: int


class Power(Struct, frozen=True):
    """What `trials` after `restarts` can show against `control`; `weight` as how many they count.

    Of a run that compares its own arms all blocks count: `own` is the side of its control, which
    is taken to fail as the baseline does.

    `trials` is 0 where only time counts and nobody said how many. `reproduce` is set where the
    control has not failed: the trials to try before anything else. `unlike` says which conditions
    the control was seen under instead, and `remedy` what makes it comparable.
    """

    playbook: str
    trials: int
    restarts: int
    weight: float
    against: str
    control: Counts
    seconds: float | None
    own: Side | None = None
    unlike: str = ""
    remedy: str = ""
    reproduce: int | None = None
    by_rate: ByRate | None = None
    by_mismatch: ByMismatch | None = None
    by_time: ByTime | None = None
    settling: Settling | None = None


def power(workspace: Workspace, name: str, variables: Mapping[str, str]) -> Power:
    """What a playbook's planned trials can show by the ledger so far. Asks no host.

    Errors: LoadError; CampaignError (USAGE where it plans no trials, REFUSED without a ledger).
    """
    with Ledger.open(workspace.ledger) as ledger:
        system, (playbook,) = load(workspace, Request((name,), variables))
        trials = planned_trials(system, playbook) or 0
        if not trials and not _is_timed(playbook.verdict):
            raise CampaignError(
                Exit.USAGE,
                f"{playbook.name} does not say how many trials it plans",
                "give its reproducer in campaign.yaml a `trials:`",
            )
        controls = Controls(system, ledger, (playbook,))
        differs = controls.of(playbook, "baseline").differs
        planned = {**first_conditions(system, playbook), KEPT: ledger.kept_condition()}
        alike = {one: value for one, value in planned.items() if one not in differs}
        return _Desk(ledger, controls, system.statistics, alike).power(playbook, trials)


class _Desk(Struct, frozen=True):
    """What the ledger has to go by, for one playbook."""

    ledger: Ledger
    controls: Controls
    settings: Settings
    alike: Mapping[str, str]

    def power(self, playbook: Playbook, trials: int) -> Power:
        rule = playbook.verdict
        against = rule.against if isinstance(rule, RateRule) else "baseline"
        arms = against in playbook.arms
        compared = self.controls.of(playbook, "baseline" if arms else against)
        seen = compared.seen or compared.other
        control, baseline = pooled(seen), pooled(self._baseline(playbook))
        treated, own = Side(trials, 1), None
        if arms:
            own = self._side(playbook, {against})
            treated = self._side(playbook, {*playbook.arms} - {against})
            control = _as_often(baseline, own.trials)
        return Power(
            playbook=playbook.name,
            trials=treated.trials,
            restarts=treated.restarts,
            weight=treated.restarts * weight(trials) if trials else 0.0,
            against=against,
            control=control,
            seconds=self._seconds(playbook, treated, own),
            own=own,
            unlike=compared.unlike,
            remedy=compared.remedy if compared.unlike else "",
            reproduce=None if baseline.fail else self._to_reproduce(),
            by_rate=_by_rate(rule, treated, control, baseline)
            if isinstance(rule, RateRule)
            else None,
            by_mismatch=_by_mismatch(trials, baseline) if isinstance(rule, MismatchRule) else None,
            by_time=_by_time(seen) if _is_timed(rule) else None,
            settling=self._settling(playbook, trials) if baseline.fail and trials else None,
        )

    def _side(self, playbook: Playbook, arms: Collection[str]) -> Side:
        boots = [arm for block in playbook.order for arm in block if arm in arms]
        trials = (planned_trials(self.controls.system, in_arm(playbook, one)) for one in boots)
        return Side(sum(one or 0 for one in trials), len(boots))

    def _seconds(self, playbook: Playbook, treated: Side, own: Side | None) -> float | None:
        """With the way back; None where no past run tells."""
        sides = [treated, *([own] if own else [])]
        prices = Prices.by(self.ledger, self.controls.system, (playbook,))
        price = prices.of(
            playbook.name.split(JOINED_BY),
            sum(one.trials for one in sides),
            sum(one.restarts for one in sides),
            leads_back(playbook),
        )
        return None if price.guessed else price.seconds

    def _baseline(self, playbook: Playbook) -> tuple[Observation, ...]:
        found = self.controls.of(playbook, "baseline")
        return found.seen or found.other

    def _to_reproduce(self) -> int:
        return trials_to_reproduce(self.ledger.restarts(alike=self.alike))

    def _settling(self, playbook: Playbook, trials: int) -> Settling | None:
        belief = believe(self.ledger, self.settings, alike=self.alike)
        toggles = removes(playbook)
        if belief is None or not toggles or not toggles <= {*belief.causes}:
            return None
        ahead = outlook(belief, toggles, min(trials, MOST_TRIALS))
        return Settling(tuple(sorted(toggles)), ahead.chances[0], ahead.restarts())


def _as_often(baseline: Counts, trials: int) -> Counts:
    """So many trials that fail as the baseline does; none where it was not measured."""
    if not baseline.n:
        return Counts()
    fail = round(trials * baseline.fail / baseline.n)
    return Counts(fail, trials - fail)


def _is_timed(rule: RateRule | MismatchRule | None) -> bool:
    return isinstance(rule, RateRule) and rule.kind == "time"


def _by_time(seen: Sequence[Observation]) -> ByTime | None:
    """None where the control has not failed, or measures no time."""
    control = exposure_of(seen)
    if not control.rate:
        return None
    return ByTime(seen[0].unit, control, clean_needed(control.rate), clean_to_separate(control))


def _by_rate(rule: RateRule, treated: Side, control: Counts, baseline: Counts) -> ByRate | None:
    """None where there is nothing to compare with, or nothing that could vanish or return."""
    if _is_timed(rule) or not control.n or not baseline.fail or rule.expect is Expect.SAME:
        return None
    rate = baseline.fail / baseline.n
    cases = {
        Expect.DROP: (
            ("the failure is gone", 0.0),
            ("a quarter of it is left", rate / 4),
            ("half of it is left", rate / 2),
            ("nothing changes", rate),
        ),
        Expect.RISE: (
            ("it fails as the baseline does", rate),
            ("it fails half as often", rate / 2),
            ("nothing changes", control.fail / control.n),
        ),
    }[rule.expect]
    return ByRate(
        rule.expect.value,
        needed(treated.trials, control, rule.expect),
        prospects(treated.trials, control, rule.expect, cases, treated.restarts),
        trials_to_halve(baseline),
    )


def _by_mismatch(trials: int, baseline: Counts) -> ByMismatch | None:
    if not baseline.fail:
        return None
    rate = baseline.fail / baseline.n
    return ByMismatch(
        FAILURES, chance_of_at_least(FAILURES, trials, rate), trials_for_yield(FAILURES, rate)
    )
