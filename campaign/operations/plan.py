"""check and plan: what the files say, and what a run of them would do."""

import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from campaign.engine.budget import allowed, price_of
from campaign.engine.control import Controls
from campaign.engine.dialling import NOBODY, Ahead
from campaign.engine.hosts import Hosts
from campaign.errors import CampaignError, Exit
from campaign.ledger.connect import is_there
from campaign.ledger.reads import Ledger
from campaign.operations.prices import Prices
from campaign.operations.showing import (
    Unlike,
    can_show,
    check_accepted,
    incomparable,
    refuse_unreproduced,
)
from campaign.workspace import Workspace
from playbooks.combination import JOINED_BY, combine
from playbooks.edits import FileState
from playbooks.hosts.connection import HostError
from playbooks.hosts.specs import UnitSpec, spec_of
from playbooks.hosts.unitfacts import UnitFacts
from playbooks.plan import Plan, PlanError, make
from playbooks.playbook import Command, Playbook, Step
from playbooks.schedule import Schedule
from playbooks.system import Service, System

if TYPE_CHECKING:
    from campaign.engine.kept import Kept

SEEDS = 1_000_000
"""Seeds are drawn below this: as good as any, and short enough to be typed."""


class Request(Struct, frozen=True):
    """What is to be planned or run: playbooks by name or path, and variables by name.

    `accepted` names the conditions that may differ in a comparison; `*` stands for anything.
    With `keep` what it changes stays on the hosts.
    """

    playbooks: tuple[str, ...]
    variables: Mapping[str, str]
    accepted: tuple[str, ...] = ()
    keep: bool = False


class Planned(Struct, frozen=True):
    """A plan and what it was made from. `can_show` is one sentence for each boot that is judged;

    `unlike` are the playbooks whose trials cannot be compared, with what differs and what to do;
    `without_undo` names the steps that cannot be taken back; `past` says where restart times come
    from that are not this ledger's; `stack` is what earlier runs keep changed on the hosts;
    `beyond` says why the budget does not reach, where a run would be refused for it.
    """

    system: System
    playbooks: tuple[Playbook, ...]
    plan: Plan
    can_show: tuple[str, ...]
    unlike: tuple[Unlike, ...]
    without_undo: tuple[str, ...]
    past: tuple[str, ...] = ()
    stack: "tuple[Kept, ...]" = ()
    beyond: str = ""


def check(workspace: Workspace, request: Request) -> tuple[System, tuple[Playbook, ...]]:
    """Loads and checks the files; hypotheses only where there is a ledger to know them.

    Errors: LoadError, CampaignError.
    """
    system = workspace.load_system()
    slugs = _slugs(workspace) if is_there(workspace.ledger) else None
    return system, _load(workspace, request, system, slugs)


def load(workspace: Workspace, request: Request) -> tuple[System, tuple[Playbook, ...]]:
    """As `check`, for a run: its hypotheses must be there. Errors: LoadError, CampaignError."""
    system = workspace.load_system()
    slugs = _slugs(workspace) if is_there(workspace.ledger) else ()
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


def plan(
    workspace: Workspace,
    request: Request,
    opening: Callable[[Hosts], None] = lambda _: None,
    ahead: Ahead = NOBODY,
) -> Planned:
    """Plans a run, changing nothing; hosts are opened for reading only.

    `opening` gets them before any is asked, so that another thread can give them up; `ahead` has
    those that are dialled already.

    Errors: LoadError; those of `plan_on`.
    """
    system, playbooks = load(workspace, request)
    with open_hosts(workspace, system, "plan", ahead) as hosts:
        opening(hosts)
        return plan_on(hosts, workspace, system, playbooks, request.accepted, request.keep)


def open_hosts(
    workspace: Workspace,
    system: System,
    run: str,
    ahead: Ahead = NOBODY,
    *,
    takes_over: bool = False,
) -> Hosts:
    """The campaign's hosts, dialled when they are first asked for if they are not in `ahead`."""
    lease_s = system.lease_s
    return Hosts(
        workspace,
        system.hosts,
        run,
        lease_s,
        takes_over=takes_over,
        ahead=ahead,
        services=system.services,
        secrets=system.secrets,
    )


def plan_on(
    hosts: Hosts,
    workspace: Workspace,
    system: System,
    playbooks: Sequence[Playbook],
    accepted: tuple[str, ...],
    keep: bool = False,
) -> Planned:
    """Plans a run of `playbooks`, changing nothing. With `keep` its changes are to stay.

    Errors: CampaignError (USAGE for a plan that does not fit the hosts, REFUSED where something
    stands in the way, UNREACHABLE).
    """
    from campaign.engine import keeping, kept
    from campaign.engine.preflight import refuse_outstanding, refuse_unready
    from campaign.engine.rules import with_rules
    from campaign.engine.sides import refuse_unprinted

    refuse_outstanding(hosts)
    stack = kept.kept_on(hosts)
    kept.refuse_meant(playbooks, system, stack)
    playbooks, standing = tuple(map(_seeded, playbooks)), kept.condition(stack)
    with _ledger(workspace) as ledger:
        check_accepted(accepted, system, playbooks, ledger)
        seen, prices = _Seen(hosts), Prices.by(ledger, system, playbooks)
        with _fitting():
            made = make(system, playbooks, seen.read, prices, seen.facts)
            made = with_rules(made, system, ledger, accepted, standing)
            made = keeping.kept_at_the_end(made) if keep else made
        kept.refuse_touching(made, stack)
        kept.refuse_not_as_kept(stack, system, hosts)
        refuse_unprinted(playbooks, ledger, workspace.artifacts)
        refuse_unready(made, system, hosts)
        refuse_unreproduced(controls := Controls(system, ledger, playbooks, accepted, standing))
        shows, unlike = tuple(can_show(controls, made)), tuple(incomparable(controls))
        past = prices.past(boot.services for boot in made.boots)
        beyond = _beyond(system, ledger, made)
    return Planned(
        system, playbooks, made, shows, unlike, tuple(_without_undo(made)), past, stack, beyond
    )


@contextmanager
def _fitting() -> Iterator[None]:
    """Errors: CampaignError (USAGE) for a plan that does not fit the hosts."""
    try:
        yield
    except PlanError as error:
        raise CampaignError(Exit.USAGE, str(error)) from error


def _beyond(system: System, ledger: Ledger | None, made: Plan) -> str:
    limits = allowed(system.budget)
    left = limits if ledger is None else limits.after(ledger.total_cost())
    return left.lacks(price_of(made)) or ""


class _Seen(Struct, frozen=True):
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


@contextmanager
def _ledger(workspace: Workspace) -> Iterator[Ledger | None]:
    """The ledger, where there is one yet."""
    if not is_there(workspace.ledger):
        yield None
        return
    with Ledger.open(workspace.ledger) as ledger:
        yield ledger


def _without_undo(plan: Plan) -> Iterator[str]:
    for boot in plan.measured:
        for step in (*boot.before, *boot.measures):
            if is_one_way(step):
                yield f"{boot.title}: step {step.name!r}"


def is_one_way(step: Step) -> bool:
    """Whether nothing takes the step's effect back."""
    return isinstance(step.action, Command) and step.action.undo is None
