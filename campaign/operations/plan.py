"""check and plan: what the files say, and what a run of them would do."""

import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from campaign.engine.conditions import planned_conditions
from campaign.engine.session import Hosts
from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.workspace import Workspace
from hypotheses.by_time import exposure_of
from hypotheses.exposure import amount_text, clean_needed, clean_to_separate, rate_interval
from hypotheses.model import Restart
from hypotheses.observation import Observation, pooled
from hypotheses.planner import trials_to_reproduce
from hypotheses.rates import largest_separating, smallest_separating_above
from hypotheses.tally import tally
from hypotheses.verdict import Expect
from playbooks.combination import JOINED_BY, combine
from playbooks.edits import FileState
from playbooks.hosts.connection import HostError
from playbooks.hosts.specs import UnitSpec, spec_of
from playbooks.hosts.unitfacts import UnitFacts
from playbooks.plan import Boot, Plan, PlanError, make
from playbooks.playbook import Command, Kind, Playbook, RateRule, Reproduce, Step
from playbooks.schedule import Schedule
from playbooks.system import Service, System
from playbooks.templates import render

SEEDS = 1_000_000
"""Seeds are drawn below this: as good as any, and short enough to be typed."""


@dataclass(frozen=True)
class Request:
    """What is to be planned or run: playbooks by name or path, and variables by name.

    `accepted` names the conditions that may differ in a comparison.
    """

    playbooks: tuple[str, ...]
    variables: Mapping[str, str]
    accepted: tuple[str, ...] = ()


@dataclass(frozen=True)
class Planned:
    """A plan and what it was made from. `can_show` is one sentence for each boot that is judged;

    `without_undo` names the steps that cannot be taken back.
    """

    system: System
    playbooks: tuple[Playbook, ...]
    plan: Plan
    can_show: tuple[str, ...]
    without_undo: tuple[str, ...]


def check(workspace: Workspace, request: Request) -> tuple[System, tuple[Playbook, ...]]:
    """Loads and checks the files; hypotheses only where there is a ledger to know them.

    Errors: LoadError, CampaignError.
    """
    system = workspace.load_system()
    slugs = _slugs(workspace) if workspace.ledger.exists() else None
    return system, _load(workspace, request, system, slugs)


def load(workspace: Workspace, request: Request) -> tuple[System, tuple[Playbook, ...]]:
    """As `check`, for a run: its hypotheses must be there. Errors: LoadError, CampaignError."""
    system = workspace.load_system()
    slugs = _slugs(workspace) if workspace.ledger.exists() else ()
    return system, _load(workspace, request, system, slugs)


def _load(
    workspace: Workspace, request: Request, system: System, slugs: Collection[str] | None
) -> tuple[Playbook, ...]:
    """Each playbook by its name or path; names joined by + are one restart."""
    groups = [_parts(workspace, name) for name in request.playbooks]
    names = [name for group in groups for name in group]
    loaded = iter(workspace.load_playbooks(names, system, slugs, request.variables))
    try:
        return tuple(_joined([next(loaded) for _ in group]) for group in groups)
    except PlanError as error:
        raise CampaignError(Exit.USAGE, str(error)) from error


def _parts(workspace: Workspace, name: str) -> list[str]:
    parts = name.split(JOINED_BY)
    return parts if all(one in workspace.playbook_names() for one in parts) else [name]


def _joined(playbooks: Sequence[Playbook]) -> Playbook:
    return playbooks[0] if len(playbooks) == 1 else combine(playbooks)


def _slugs(workspace: Workspace) -> tuple[str, ...]:
    with Ledger.open(workspace.ledger) as ledger:
        return tuple(one.slug for one in ledger.hypotheses())


def plan(workspace: Workspace, request: Request) -> Planned:
    """Plans a run, changing nothing; hosts are opened for reading only.

    Errors: LoadError; those of `plan_on`.
    """
    system, playbooks = load(workspace, request)
    with open_hosts(workspace, system, "plan") as hosts:
        return plan_on(hosts, workspace, system, playbooks, request.accepted)


def open_hosts(workspace: Workspace, system: System, run: str) -> Hosts:
    """The campaign's hosts, not dialled yet."""
    return Hosts(workspace, system.hosts, run)


def plan_on(
    hosts: Hosts,
    workspace: Workspace,
    system: System,
    playbooks: Sequence[Playbook],
    accepted: tuple[str, ...],
) -> Planned:
    """Plans a run of `playbooks`, changing nothing.

    Errors: CampaignError (USAGE for a plan that does not fit the hosts, REFUSED where something
    stands in the way, UNREACHABLE).
    """
    from campaign.engine.preflight import refuse_outstanding, refuse_unready
    from campaign.engine.rules import with_rules

    refuse_outstanding(hosts)
    playbooks = tuple(map(_seeded, playbooks))
    with _History.open(workspace, playbooks) as history:
        try:
            seen = _Seen(hosts)
            made = make(system, playbooks, seen.read, history, seen.facts)
            made = with_rules(made, system, history.ledger, accepted)
        except PlanError as error:
            raise CampaignError(Exit.USAGE, str(error)) from error
        refuse_unready(made, system, hosts)
        _refuse_unreproduced(system, playbooks, history)
        shows = tuple(_can_show(system, made, history))
    return Planned(system, playbooks, made, shows, tuple(_without_undo(made)))


@dataclass(frozen=True)
class _Seen:
    """What the hosts have, as a plan asks for it. Errors of its methods: PlanError."""

    hosts: Hosts

    def read(self, host: str, root: str, path: str) -> tuple[FileState, bytes | None]:
        try:
            return self.hosts.peek(host).read(root, path)
        except HostError as error:
            raise PlanError(f"host {host}: {error}") from error

    def facts(self, service: Service) -> UnitFacts | None:
        spec = spec_of(service)
        if not isinstance(spec, UnitSpec):
            return None
        try:
            return self.hosts.peek(service.host).unit_facts(spec)
        except HostError as error:
            raise PlanError(f"service {service.name}: {error}") from error


def _seeded(playbook: Playbook) -> Playbook:
    """The playbook with its order drawn, where that is random and has no seed."""
    if playbook.schedule is not Schedule.RANDOMISED or playbook.seed is not None:
        return playbook
    return replace(playbook, seed=secrets.randbelow(SEEDS))


class _History:
    """What this ledger's past cycles and runs took; knows nothing where there is no ledger."""

    def __init__(self, ledger: Ledger | None, playbooks: Sequence[Playbook]) -> None:
        self.ledger = ledger
        self._uses = {
            one.name: [s.action.use for s in one.steps if isinstance(s.action, Reproduce)]
            for one in playbooks
        }

    @classmethod
    def open(cls, workspace: Workspace, playbooks: Sequence[Playbook]) -> "_History":
        there = workspace.ledger.exists()
        return cls(Ledger.open(workspace.ledger) if there else None, playbooks)

    def __enter__(self) -> "_History":
        return self

    def __exit__(self, *_: object) -> None:
        if self.ledger is not None:
            self.ledger.close()

    def mean_downtime(self, services: Sequence[str]) -> float | None:
        return self.ledger.mean_downtime(services) if self.ledger else None

    def mean_seconds(self, playbook: str) -> float | None:
        """Of the playbook's own past reproductions, else of any playbook's with the same one."""
        uses = self._uses.get(playbook, [])
        if not uses:
            return 0.0
        if self.ledger is None:
            return None
        found = [
            self.ledger.mean_seconds(playbook, use) or self.ledger.mean_seconds(None, use)
            for use in uses
        ]
        known = [seconds for seconds in found if seconds is not None]
        return sum(known) if len(known) == len(found) else None

    def control(self, against: str, planned: Mapping[str, str]) -> tuple[Observation, ...]:
        """What a playbook is compared with, as it was seen under the `planned` conditions."""
        if self.ledger is None:
            return ()
        if against == "baseline":
            found = self.ledger.observations_of(kind="baseline")
        else:
            found = self.ledger.observations_of(playbook=against)
        return tuple(one for one in found if planned.items() <= one.conditions.items())


def _can_show(system: System, plan: Plan, history: _History) -> Iterator[str]:
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
            trials = _trials(system, boot)
            control = history.control(rule.against, first_conditions(system, playbook))
            if rule.kind == "time":
                yield f"{boot.title}: {_in_time(control, rule)}"
            elif trials is not None:
                yield f"{boot.title}: {_sentence(trials, control, rule)}"


def _own_control(system: System, boots: Sequence[Boot], against: str) -> str:
    """What a comparison of a run's own arms rests on."""
    sides = [
        (f"{against}", [boot for boot in boots if boot.arm == against]),
        ("the other arms", [boot for boot in boots if boot.arm != against]),
    ]
    said = []
    for name, side in sides:
        trials = sum(_trials(system, boot) or 0 for boot in side)
        restarts = sum(1 for boot in side if boot.services)
        said.append(f"{trials} trials of {name} in {restarts} restart{'s' * (restarts != 1)}")
    return " against ".join(reversed(said))


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


def _refuse_unreproduced(system: System, playbooks: Sequence[Playbook], history: _History) -> None:
    """Refuses to look for a failure to vanish that the baseline has not shown.

    Unless a baseline comes before in the same run. Errors: CampaignError (REFUSED).
    """
    for playbook in playbooks:
        rule = playbook.verdict
        if playbook.kind is Kind.BASELINE:
            return
        if not isinstance(rule, RateRule) or rule.expect is not Expect.DROP:
            continue
        if rule.against != "baseline" or rule.against in playbook.arms:
            continue
        seen = history.control("baseline", first_conditions(system, playbook))
        control = pooled(seen)
        if control.n and not control.fail:
            raise CampaignError(
                Exit.REFUSED,
                f"{playbook.name}: baseline {tally(seen)}: it has not failed, so nothing could be"
                " seen to vanish",
                f"reproduce it first: {_to_reproduce(seen)} with nothing off",
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


def _trials(system: System, boot: Boot) -> int | None:
    for step in boot.measures:
        if isinstance(step.action, Reproduce):
            text = system.reproducers[step.action.use].trials
            variables = {**(boot.playbook.vars if boot.playbook else {}), **step.action.vars}
            rendered = render(text, variables, step.where) if text else ""
            return int(rendered) if rendered.isdigit() else None
    return None


def first_conditions(system: System, playbook: Playbook) -> dict[str, str]:
    """The conditions of a playbook's first reproduction, as far as its files tell them."""
    for step in playbook.steps:
        if isinstance(step.action, Reproduce):
            return planned_conditions(system, playbook, step.action)
    return {}


def planned_trials(system: System, playbook: Playbook) -> int | None:
    """The trials that a playbook's first reproduction plans; None where nobody can say."""
    return _trials(system, Boot(0, 0, playbook, measures=playbook.steps))


def _without_undo(plan: Plan) -> Iterator[str]:
    for boot in plan.measured:
        for step in (*boot.before, *boot.measures):
            if is_one_way(step):
                yield f"{boot.title}: step {step.name!r}"


def is_one_way(step: Step) -> bool:
    """Whether nothing takes the step's effect back."""
    return isinstance(step.action, Command) and step.action.undo is None
