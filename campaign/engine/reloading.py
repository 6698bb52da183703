"""A reload: services read their files again and go on running, as a cycle without downtime."""

from msgspec.structs import replace

from campaign.engine import cycle, health
from campaign.engine.commands import CommandFailed, Doer
from campaign.engine.hosts import Hosts
from campaign.engine.lived import CycleFailed, Lived
from campaign.engine.stop import Stop
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import Started
from playbooks.hosts.specs import spec_of
from playbooks.playbook import Command
from playbooks.system import HealthCheck, LogProbe, Reload, Service, SystemdSpec


def live(lived: Lived, hosts: Hosts, stop: Stop | None) -> None:
    """Reloads the services of `lived` one after the other, and waits until each is healthy.

    What was healthy before has no downtime. Errors: CycleFailed, Stopped, HostLost.
    """
    was_down = lived.down_at < lived.requested_at
    try:
        for service in (one for chain in lived.chains for one in chain):
            _reload(service, lived, hosts, stop)
            if stop is not None:
                stop.check()
    except (HostError, CommandFailed) as error:
        lived.ended_at = hosts[lived.chains[0][0].host].clock()
        if stop is not None:
            stop.check()
        raise CycleFailed(cycle.told(error), lived) from error
    if not was_down and lived.healthy_at is not None:
        lived.down_at = lived.healthy_at


def _reload(service: Service, lived: Lived, hosts: Hosts, stop: Stop | None) -> None:
    """Errors: HostError, CommandFailed, HostLost."""
    host, flag = hosts[service.host], stop.event if stop else None
    way = way_of(service)
    started = _running(service, host)
    lived.started[service.name] = started
    assert way.command is not None
    doer = Doer(host, way.cwd, {"MAINPID": str(started.pid or "")}, flag)
    command = Command(service.host, way.command, timeout_s=way.timeout_s)
    doer.succeed(way.command, command, f"reload of {service.name}")
    checks = (HealthCheck(LogProbe(way.logged), way.timeout_s),) if way.logged else ()
    awaited = replace(service, health=(*service.health, *checks))
    lived.healthy[service.name] = health.awaited(awaited, hosts, started, flag)


def _running(service: Service, host: Host) -> Started:
    """The service as it runs, its log from now on. Errors: HostError where it does not run."""
    spec = spec_of(service)
    state = host.service_state(spec)
    if not state.running:
        raise HostError("not-running", f"{service.name} does not run, so it cannot be reloaded")
    return Started(
        state.pid, state.start_ticks, host.clock(), host.service_log_end(spec),
        state.invocation, state.restarts,
    )  # fmt: skip


def way_of(service: Service) -> Reload:
    """How the service is reloaded, systemd's own way filled in."""
    way = service.reload or Reload(None, "/")
    if way.command is None and isinstance(service.manager, SystemdSpec):
        user = ("--user",) if service.manager.user else ()
        way = replace(way, command=("systemctl", *user, "reload", service.manager.unit))
    return way
