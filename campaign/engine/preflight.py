"""What must hold on the hosts before a plan may run."""

import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from campaign.engine.cycle import process_named, way_to_free
from campaign.engine.guards import broken
from campaign.engine.hosts import Hosts
from campaign.engine.origin import origin
from campaign.engine.together import Beside, all_at_once, by_name
from campaign.errors import CampaignError, Exit
from playbooks.edits import FileEdit
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import ServiceState
from playbooks.hosts.specs import UnitSpec, spec_of
from playbooks.hosts.survey import Runnable
from playbooks.hosts.unitfacts import HIDDEN, HIDDEN_FIX
from playbooks.plan import Boot, Plan
from playbooks.playbook import Command, Reproduce, Step, logs_of
from playbooks.rollout import with_groups
from playbooks.sessions.job import lacking
from playbooks.sessions.spec import Sessions
from playbooks.system import Guard, LogProbe, Reproducer, Service, System
from playbooks.templates import render

NO_BYTES = 1 << 20
"""With less than this, a change of a few files is refused for want of room for the journal."""

States = Mapping[str, ServiceState]


def refuse_outstanding(hosts: Hosts) -> None:
    """Errors: CampaignError (REFUSED) where a host still has changes of an earlier run."""
    hosts.look()
    for name in hosts.names():
        if hosts.peek(name).greeting.outstanding:
            left = hosts.peek(name).journal()
            names = [one.path for one in left.entries]
            names += [f"the effect of `{shlex.join(one.do)}`" for one in left.commands]
            what = ", ".join(names) or "a restart that is due"
            run = origin(hosts.workspace.ledger, left.run)
            if not left.outstanding:
                run, what = "a run", "it was interrupted while they were being kept, or put back"
            raise CampaignError(
                Exit.REFUSED,
                f"host {name} has changes outstanding of {run}: {what}",
                _way_out(hosts.peek(name)),
            )


def _way_out(host: Host) -> str:
    """What to do about changes that are outstanding: somebody may be about to put them back."""
    holder = host.survey().holder
    if holder is None or holder.pid == host.greeting.pid or holder.waits_until is not None:
        return "put them back first: campaign recover"
    return f"{holder.who} works on it: wait for it to end"


def refuse_unready(plan: Plan, system: System, hosts: Hosts) -> None:
    """Errors: CampaignError (REFUSED, USAGE) for what would make the plan's first restart, or any

    later one, a wasted one: seen now, it costs no downtime.
    """
    _refuse_two_names(plan, system)
    names = dict.fromkeys(name for boot in plan.boots for name in boot.services)
    services = [system.services[name] for name in names]
    changed = dict.fromkeys(edit.host for boot in plan.boots for edit in boot.edits)
    with (  # all is asked at once; of several obstacles it is always the same that is told
        _beside(partial(_refuse_unusable, one, plan, hosts) for one in services) as usable,
        _beside(partial(_refuse_missing, one, system, hosts) for one in plan.measured) as startable,
        _beside(partial(_refuse_full, name, hosts) for name in changed) as roomy,
        _beside(partial(_refuse_broken, one, hosts) for one in system.guards) as guarded,
    ):
        states = by_name({one.name: partial(_state, one, hosts) for one in services})
        usable.result()
        for boot in plan.measured:
            _refuse_newer(boot, system, states)
        startable.result()
        _refuse_half_down(services, system, states)
        all_at_once(partial(_refuse_held, one, hosts, states[one.name]) for one in services)
        roomy.result()
        guarded.result()


def _refuse_two_names(plan: Plan, system: System) -> None:
    """Errors: CampaignError (USAGE) for a file of this machine that two of its names change."""
    owners: dict[str, str] = {}
    for edit in (edit for boot in plan.boots for edit in boot.edits):
        local = system.hosts[edit.host].local
        if local and owners.setdefault(edit.where, edit.host) != edit.host:
            raise CampaignError(
                Exit.USAGE,
                f"{edit.where} would be changed as {owners[edit.where]}'s and as {edit.host}'s, "
                "and both are this machine",
                "give each a path of its own: {{ host }} is the host's name",
            )


def _beside(work: Iterable[Callable[[], object]]) -> Beside[None]:
    return Beside(partial(all_at_once, list(work)))


def foreign_holders(service: Service, host: Host, state: ServiceState) -> Iterator[tuple[int, str]]:
    """The ports that the service needs and another process holds, with that process in words.

    Nothing is told of a running service whose processes nobody can name. Errors: HostError.
    """
    own = {one.pid for one in state.processes}
    if not service.ports or (state.running and not own):
        return
    for port, pids in host.listening(service.ports).items():
        others = [pid for pid in pids if pid not in own and (pid or not state.running)]
        if others:
            yield port, process_named(host, others[0])


def _refuse_broken(guard: Guard, hosts: Hosts) -> None:
    """A guard that does not hold now would stop the run at once."""
    why = broken(hosts.peek, guard)
    if why:
        what = f"guard on {guard.on} does not hold: {why}"
        raise CampaignError(
            Exit.REFUSED, what, "see to that first, or correct guard: in campaign.yaml"
        )


def _refuse_unusable(service: Service, plan: Plan, hosts: Hosts) -> None:
    """Errors: CampaignError (REFUSED) for a unit that systemd cannot start, or has to reread, or

    whose log the plan needs and cannot have.
    """
    spec = spec_of(service)
    if not isinstance(spec, UnitSpec):
        return
    try:
        facts = hosts.peek(service.host).unit_facts(spec)
    except HostError as error:
        raise CampaignError(Exit.REFUSED, f"service {service.name}: {error}") from error
    if facts.need_reload:
        raise CampaignError(
            Exit.REFUSED,
            f"the files of {spec.unit} were changed and systemd has not read them again",
            f"see systemctl cat {spec.unit}; then systemctl daemon-reload, and restart it",
        )
    if facts.log_hidden and _reads_log(plan, service):
        what = f"the log of {service.name} is needed, and {HIDDEN}"
        raise CampaignError(Exit.REFUSED, what, HIDDEN_FIX)


def _reads_log(plan: Plan, service: Service) -> bool:
    """Whether a probe or a step needs what the service logs."""
    probes = (*(one.probe for one in service.health), *service.proof.values())
    if any(isinstance(one, LogProbe) for one in probes):
        return True
    steps = (step.action for boot in plan.measured for step in (*boot.before, *boot.measures))
    return any(service.name in logs_of(action) for action in steps)


def _state(service: Service, hosts: Hosts) -> ServiceState:
    try:
        return hosts.peek(service.host).service_state(spec_of(service))
    except HostError as error:
        raise CampaignError(Exit.REFUSED, f"service {service.name}: {error}") from error


def _refuse_newer(boot: Boot, system: System, states: States) -> None:
    """Where a file that the boot changes was changed by someone after the service that runs it

    started, what runs is not what it says.
    """
    for edit in boot.edits:
        for name in boot.services:
            state = states[name]
            if boot.reload or edit.before.sha256 is None or not state.running:
                continue
            if not _concerns(edit, system.services[name], system):
                continue
            if (
                state.started_at is not None
                and edit.before.mtime_ns / 1e9 > state.started_at + 0.01
            ):
                raise CampaignError(
                    Exit.REFUSED,
                    f"{edit.where} was changed after {name} started",
                    f"restart it first (campaign services restart {name}), then run again",
                )


def _concerns(edit: FileEdit, service: Service, system: System) -> bool:
    """Whether a service may run what a file holds: not where that is the env file of others."""
    if edit.host != service.host:
        return False
    owners = [
        one.name
        for one in system.services.values()
        if one.env is not None and (one.host, one.env.path) == (edit.host, edit.where)
    ]
    return not owners or service.name in owners


def _refuse_half_down(services: Sequence[Service], system: System, states: States) -> None:
    """A group that is partly down was broken before: after a restart nobody could say by what."""
    for service in services:
        group = with_groups([service.name], tuple(system.services), system.restart_groups)
        up = [name for name in group if states[name].running]
        if up and not states[service.name].running:
            word = states[service.name].word
            raise CampaignError(
                Exit.REFUSED,
                f"{service.name} does not run{f', {word}' if word else ''}, and {', '.join(up)}, "
                "which restarts with it, does",
                f"start it first: campaign services start {service.name}",
            )


def _refuse_held(service: Service, hosts: Hosts, state: ServiceState) -> None:
    for port, holder in foreign_holders(service, hosts.peek(service.host), state):
        raise CampaignError(
            Exit.REFUSED,
            f"port {port} of {service.name} is held by {holder}, which is no process of it",
            way_to_free(holder),
        )


def _refuse_missing(boot: Boot, system: System, hosts: Hosts) -> None:
    """A reproducer that cannot start; one that a step of the boot could have made is believed."""
    made = {(edit.host, edit.where) for edit in boot.edits}
    for reproducer, argv in _reproductions((*boot.before, *boot.measures), boot, system):
        if reproducer.sessions:
            _refuse_undriven(reproducer.name, reproducer.sessions)
            continue
        runnable = Runnable(argv, reproducer.cwd, reproducer.env.get("PATH"))
        (lacks,) = hosts.peek(reproducer.on).lacking([runnable])
        if lacks is not None and (reproducer.on, lacks.path) not in made:
            raise CampaignError(
                Exit.USAGE,
                f"reproducer {reproducer.name!r} cannot run on host {reproducer.on}: {lacks.why}",
                "correct its command: or cwd: in campaign.yaml",
            )


def _refuse_undriven(name: str, sessions: Sessions) -> None:
    missing = lacking(sessions)
    if missing:
        raise CampaignError(Exit.USAGE, f"reproducer {name!r} {missing.what}", missing.fix)


def _reproductions(
    steps: Sequence[Step], boot: Boot, system: System
) -> Iterator[tuple[Reproducer, tuple[str, ...]]]:
    """Each reproducer with its command, up to the first command step: that may make the others."""
    given = boot.playbook.vars if boot.playbook else {}
    for step in steps:
        if isinstance(step.action, Command):
            return
        if isinstance(step.action, Reproduce):
            reproducer = system.reproducers[step.action.use]
            variables = {**given, **step.action.vars}
            where = f"reproducer {reproducer.name!r}"
            yield reproducer, tuple(render(one, variables, where) for one in reproducer.command)


def _refuse_full(name: str, hosts: Hosts) -> None:
    found = hosts.peek(name).survey()
    if found.obstacle:
        what = f"host {name}: no journal can be kept in {found.state_dir}: {found.obstacle}"
        raise CampaignError(Exit.REFUSED, what, "name another folder, state_dir:, or use sudo")
    if found.free_bytes < NO_BYTES or found.free_files == 0:
        what = f"host {name}: no room is left for the journal in {found.state_dir}"
        raise CampaignError(Exit.REFUSED, what, "make room on that disk")
