"""power: what a playbook's planned trials can and cannot show, before any downtime."""

from collections.abc import Mapping
from dataclasses import dataclass

from campaign.engine.belief import MOST_TRIALS, believe
from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.operations.plan import Request, load, planned_trials
from campaign.workspace import Workspace
from hypotheses.assumptions import Settings
from hypotheses.observation import Counts, pooled
from hypotheses.outlook import outlook
from hypotheses.planner import trials_to_reproduce
from hypotheses.prospects import Prospect, needed, prospects, trials_to_halve, weight
from hypotheses.rates import chance_of_at_least, trials_for_yield
from hypotheses.verdict import Expect
from playbooks.combination import removes
from playbooks.playbook import MismatchRule, Playbook, RateRule

FAILURES = 3
"""Failing trials that a look into a mechanism needs."""


@dataclass(frozen=True)
class ByRate:
    """What the counts can show: separated only with so many failures (None: never)."""

    expect: str
    separated: str | None
    prospects: tuple[Prospect, ...]
    trials_to_halve: int | None


@dataclass(frozen=True)
class ByMismatch:
    """The chance that enough trials fail to be looked into, and the trials that it takes."""

    failures: int
    chance: float
    trials: int


@dataclass(frozen=True)
class Settling:
    """What restarts like it settle of its suspected causes, with those of the ledger.

    `chance` is that of one restart; `restarts` settle it four times in five (None: not even 12).
    """

    toggles: tuple[str, ...]
    chance: float
    restarts: int | None


@dataclass(frozen=True)
class Power:
    """What `trials` after one restart can show against `control`; `weight` as how many they count.

    `reproduce` is set where the control has not failed: the trials to try before anything else.
    """

    playbook: str
    trials: int
    weight: float
    against: str
    control: Counts
    seconds: float | None
    reproduce: int | None = None
    by_rate: ByRate | None = None
    by_mismatch: ByMismatch | None = None
    settling: Settling | None = None


def power(workspace: Workspace, name: str, variables: Mapping[str, str]) -> Power:
    """What a playbook's planned trials can show by the ledger so far. Asks no host.

    Errors: LoadError; CampaignError (USAGE where it plans no trials, REFUSED without a ledger).
    """
    with Ledger.open(workspace.ledger) as ledger:
        system, (playbook,) = load(workspace, Request((name,), variables))
        trials = planned_trials(system, playbook)
        if not trials:
            raise CampaignError(
                Exit.USAGE,
                f"{playbook.name} does not say how many trials it plans",
                "give its reproducer in campaign.yaml a `trials:`",
            )
        return _power(ledger, playbook, trials, system.statistics)


def _power(ledger: Ledger, playbook: Playbook, trials: int, settings: Settings) -> Power:
    rule = playbook.verdict
    against = rule.against if isinstance(rule, RateRule) else "baseline"
    control, baseline = _counts(ledger, against), _counts(ledger, "baseline")
    pace = ledger.pace(playbook.name) or ledger.pace()
    return Power(
        playbook=playbook.name,
        trials=trials,
        weight=weight(trials),
        against=against,
        control=control,
        seconds=pace.restart_s + pace.back_s + trials * pace.trial_s if pace else None,
        reproduce=None if baseline.fail else trials_to_reproduce(ledger.restarts()),
        by_rate=_by_rate(rule, trials, control, baseline) if isinstance(rule, RateRule) else None,
        by_mismatch=_by_mismatch(trials, baseline) if isinstance(rule, MismatchRule) else None,
        settling=_settling(ledger, playbook, trials, settings) if baseline.fail else None,
    )


def _counts(ledger: Ledger, against: str) -> Counts:
    if against == "baseline":
        return pooled(ledger.observations_of(kind="baseline"))
    return pooled(ledger.observations_of(playbook=against))


def _by_rate(rule: RateRule, trials: int, control: Counts, baseline: Counts) -> ByRate | None:
    """None where there is nothing to compare with, or nothing that could vanish or return."""
    if not control.n or not baseline.fail or rule.expect is Expect.SAME:
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
        needed(trials, control, rule.expect),
        prospects(trials, control, rule.expect, cases),
        trials_to_halve(baseline),
    )


def _by_mismatch(trials: int, baseline: Counts) -> ByMismatch | None:
    if not baseline.fail:
        return None
    rate = baseline.fail / baseline.n
    return ByMismatch(
        FAILURES, chance_of_at_least(FAILURES, trials, rate), trials_for_yield(FAILURES, rate)
    )


def _settling(
    ledger: Ledger, playbook: Playbook, trials: int, settings: Settings
) -> Settling | None:
    belief = believe(ledger, settings)
    toggles = removes(playbook)
    if belief is None or not toggles or not toggles <= {*belief.causes}:
        return None
    ahead = outlook(belief, toggles, min(trials, MOST_TRIALS))
    return Settling(tuple(sorted(toggles)), ahead.chances[0], ahead.restarts())
