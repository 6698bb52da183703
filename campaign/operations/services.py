"""services: the services outside of any run."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct
from msgspec.structs import replace

from campaign.engine import cycle
from campaign.engine.hosts import Hosts
from campaign.engine.lived import CycleFailed
from campaign.engine.preflight import refuse_outstanding
from campaign.engine.stop import Stop
from campaign.errors import CampaignError, Exit
from campaign.operations.plan import open_hosts
from campaign.workspace import Workspace
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import ServiceState
from playbooks.hosts.specs import UnitSpec, spec_of
from playbooks.rollout import Batches, batches, expand
from playbooks.services.specs import Groups
from playbooks.system import CommandSpec, ProcessSpec, Service, System, SystemdSpec


class Listed(Struct, frozen=True):
    """A service as its host sees it; `started_at` and `pid` are None where it does not run.

    `declared`: whether campaign.yaml names it, as it is now; one that runs on can be stopped.
    """

    name: str
    running: bool
    pid: int | None
    started_at: float | None
    processes: int
    log: str
    declared: bool = True


def listed(workspace: Workspace) -> tuple[Listed, ...]:
    """Every service's state. Errors: LoadError, CampaignError."""
    system = workspace.load_system(secrets=False)
    with open_hosts(workspace, system, "services") as hosts:
        hosts.look()
        found = [_listed(workspace, hosts, service) for service in system.services.values()]
        strays = [_listed(workspace, hosts, service) for service in _strays(system, hosts)]
        return (*found, *(replace(one, declared=False) for one in strays))


def _strays(system: System, hosts: Hosts) -> Iterator[Service]:
    """What runs on, embedded, although campaign.yaml does not name it there any more."""
    for host in hosts.names():
        for name in hosts.peek(host).services_running():
            known = system.services.get(name)
            if known is None or known.host != host or not isinstance(known.manager, ProcessSpec):
                yield Service(name, host, ProcessSpec((), "/"))


def _state(hosts: Hosts, service: Service) -> ServiceState:
    """Errors: CampaignError where its manager has no answer."""
    try:
        return hosts.peek(service.host).service_state(spec_of(service))
    except HostError as error:
        raise CampaignError(Exit.STEP_FAILED, f"service {service.name}: {error}") from error


def _running(hosts: Hosts, service: Service) -> bool:
    return _state(hosts, service).running


def _listed(workspace: Workspace, hosts: Hosts, service: Service) -> Listed:
    state = _state(hosts, service)
    return Listed(
        service.name,
        state.running,
        state.pid if state.running else None,
        state.started_at if state.running else None,
        len(state.processes),
        _log_of(workspace, hosts, service),
    )


def _log_of(workspace: Workspace, hosts: Hosts, service: Service) -> str:
    """Where a person finds its log: a path, or the command that shows it."""
    state_dir = hosts.machine(service.host).state_dir or workspace.host_state
    folder = state_dir / "services" / service.name
    match service.manager:
        case SystemdSpec() as unit:
            return unit.log or _journalctl(unit, hosts.peek(service.host))
        case CommandSpec(log=log):
            return log or str(folder / "commands.log")
        case ProcessSpec():
            return str(folder / "log")


def _journalctl(unit: SystemdSpec, host: Host) -> str:
    """The command that shows a unit's log."""
    words = ["journalctl", f"{'--user-unit' if unit.user else '--unit'}={unit.unit}"]
    with suppress(HostError):  # it is masked: what it said before is still there
        namespace = host.unit_facts(UnitSpec("", unit.unit, unit.user)).namespace
        words[1:1] = [f"--namespace={namespace}"] if namespace else []
    return " ".join(words)


def start(workspace: Workspace, names: Sequence[str]) -> tuple[str, ...]:
    """Starts those of `names` (none: all) that do not run, and waits until they are healthy."""
    with _locked(workspace) as (system, hosts):
        wanted = [one for one in _chosen(system, names) if not _running(hosts, one)]
        if wanted:
            _cycle(wanted, hosts, system.restart_groups)
        return tuple(one.name for one in wanted)


def restart(workspace: Workspace, names: Sequence[str], batch: int = 0) -> tuple[str, ...]:
    """Restarts `names` (none: all) with their groups, and waits until they are healthy.

    By `batch` replicas of a service at a time; 0: all at once.
    """
    with _locked(workspace) as (system, hosts):
        wanted = expand(system, [one.name for one in _chosen(system, names)])
        turns = batches(wanted, system.restart_groups, batch)
        _cycle([system.services[name] for name in wanted], hosts, system.restart_groups, turns)
        return wanted


def stop(workspace: Workspace, names: Sequence[str]) -> tuple[str, ...]:
    """Stops those of `names` (none: all) that run, in reverse order."""
    with _locked(workspace) as (system, hosts):
        running = _to_stop(system, hosts, names)
        for service in reversed(running):
            try:
                hosts[service.host].service_stop(spec_of(service), service.stop_timeout_s)
            except HostError as error:
                raise CampaignError(Exit.STEP_FAILED, f"{service.name}: {error}") from error
        return tuple(one.name for one in running)


def _to_stop(system: System, hosts: Hosts, names: Sequence[str]) -> list[Service]:
    """What runs of `names` (none: of all), in start order; strays come last, and go first."""
    strays = [one for one in _strays(system, hosts) if not names or one.name in names]
    declared = [one for one in names if one not in {stray.name for stray in strays}]
    chosen = _chosen(system, declared) if declared or not names else ()
    return [*(one for one in chosen if _running(hosts, one)), *strays]


@contextmanager
def _locked(workspace: Workspace) -> Iterator[tuple[System, Hosts]]:
    """The campaign's hosts under lock, with nothing outstanding on them."""
    system = workspace.load_system(secrets=False)
    with open_hosts(workspace, system, "services") as hosts:
        hosts.hold()
        refuse_outstanding(hosts)
        yield system, hosts


def _chosen(system: System, names: Sequence[str]) -> tuple[Service, ...]:
    unknown = [name for name in names if name not in system.names]
    if unknown:
        there = ", ".join(system.names)
        raise CampaignError(Exit.USAGE, f"no service {unknown[0]!r}", f"there are: {there}")
    services = system.services.values()
    return tuple(one for one in services if not names or {one.name, one.shared} & {*names})


def _cycle(services: Sequence[Service], hosts: Hosts, groups: Groups, turns: Batches = ()) -> None:
    try:
        cycle.restart(services, hosts, groups, Stop(), turns)
    except CycleFailed as error:
        raise CampaignError(Exit.STEP_FAILED, str(error)) from error
