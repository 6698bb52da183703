"""What must hold on the hosts before a plan may run."""

from collections.abc import Iterator, Mapping
from functools import partial

from campaign.engine.session import Hosts
from campaign.engine.together import all_at_once, by_name
from campaign.errors import CampaignError, Exit
from playbooks.hosts.connection import HostError
from playbooks.hosts.specs import UnitSpec, spec_of
from playbooks.plan import Boot, Plan
from playbooks.system import Service, System


def refuse_outstanding(hosts: Hosts) -> None:
    """Errors: CampaignError (REFUSED) where a host still has changes of an earlier run."""
    hosts.look()
    for name in hosts.names():
        if hosts.peek(name).greeting.outstanding:
            left = hosts.peek(name).journal()
            what = ", ".join(entry.path for entry in left.entries) or "a restart that is due"
            raise CampaignError(
                Exit.REFUSED,
                f"host {name} has changes outstanding of {left.run or 'an earlier run'}: {what}",
                "put them back first: campaign recover",
            )


def refuse_newer_files(plan: Plan, system: System, hosts: Hosts) -> None:
    """Errors: CampaignError (REFUSED) where a file that the plan changes, or one of a unit, was

    changed by someone after the service that runs it started: what runs is not what it says.
    """
    restarted = dict.fromkeys(name for boot in plan.boots for name in boot.services)
    all_at_once(partial(_refuse_unusable, system.services[name], hosts) for name in restarted)
    looks = {name: partial(_started_at, system.services[name], hosts) for name in restarted}
    started = by_name(looks)
    for boot in plan.measured:
        for text in _newer(boot, system, started):
            raise CampaignError(
                Exit.REFUSED, text, "restart it first (campaign services restart), then run again"
            )


def _refuse_unusable(service: Service, hosts: Hosts) -> None:
    """Errors: CampaignError (REFUSED) for a unit that systemd cannot start, or has to reread."""
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


def _newer(boot: Boot, system: System, started: Mapping[str, float | None]) -> Iterator[str]:
    for edit in boot.edits:
        for name in boot.services:
            service, at = system.services[name], started[name]
            if at is None or service.host != edit.host or edit.before.sha256 is None:
                continue
            if edit.before.mtime_ns / 1e9 > at + 0.01:
                yield f"{edit.where} was changed after {name} started"


def _started_at(service: Service, hosts: Hosts) -> float | None:
    state = hosts.peek(service.host).service_state(spec_of(service))
    return state.started_at if state.running else None
