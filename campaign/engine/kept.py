"""What earlier runs keep changed on the hosts: a condition of every later run, not to be touched.

The hosts' journals say it, whatever the ledger knows.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct

from campaign.engine.hosts import Hosts
from campaign.engine.together import by_name
from campaign.errors import CampaignError, Exit
from campaign.ledger.conditions import NOTHING_KEPT, kept_text
from playbooks.combination import patched
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.host import Host
from playbooks.hosts.specs import spec_of
from playbooks.hosts.stack import KeptFacts, KeptPath, KeptRun
from playbooks.plan import Plan
from playbooks.playbook import Env, Playbook
from playbooks.system import Service, System


class Kept(Struct, frozen=True):
    """What one run keeps, by host. `run` is its batch, `id` what it is called by.

    `kept_at` is in seconds since the epoch.
    """

    run: str
    who: str
    kept_at: float
    facts: KeptFacts
    on: Mapping[str, KeptRun]

    @property
    def id(self) -> str:
        return self.facts.id

    def lacks(self, hosts: Collection[str]) -> bool:
        """Whether one of `hosts`, which have answered, has put it back already."""
        return any(name in hosts and name not in self.on for name in self.facts.hosts)

    @property
    def paths(self) -> Iterator[tuple[str, KeptPath]]:
        """Each path with its host."""
        for host, one in self.on.items():
            yield from ((host, path) for path in one.paths)

    @property
    def back(self) -> str:
        """The command that puts it back."""
        return f"campaign recover {self.id}"


def kept_on(hosts: Hosts) -> tuple[Kept, ...]:
    """What is kept on the hosts, the oldest run first. Errors: CampaignError."""
    stack, silent = kept_as_told(hosts)
    for error in silent.values():
        raise error
    return stack


def kept_as_told(
    hosts: Hosts, absent: Collection[str] = ()
) -> tuple[tuple[Kept, ...], Mapping[str, CampaignError]]:
    """As `kept_on`, by the hosts that answer; with why each of the others does not.

    Those that are known to be `absent` are not asked.
    """
    asked = [name for name in hosts.names() if name not in absent]
    told = by_name({name: partial(_told, hosts, name) for name in asked})
    runs: dict[str, dict[str, KeptRun]] = {}
    for host, stack in told.items():
        for one in stack if isinstance(stack, tuple) else ():
            runs.setdefault(one.run, {})[host] = one
    silent = {host: why for host, why in told.items() if isinstance(why, CampaignError)}
    return tuple(sorted(map(_joined, runs.values()), key=lambda one: one.kept_at)), silent


def _told(hosts: Hosts, name: str) -> tuple[KeptRun, ...] | CampaignError:
    try:
        return hosts.peek(name).stack()
    except CampaignError as error:
        return error
    except (HostError, HostLost) as error:
        return CampaignError(Exit.UNREACHABLE, f"host {name}: {error}")


def _joined(on: Mapping[str, KeptRun]) -> Kept:
    first = next(iter(on.values()))
    return Kept(first.run, first.who, max(one.kept_at for one in on.values()), first.facts, on)


def condition(stack: Iterable[Kept]) -> str:
    """What is kept, as a condition of all that is measured meanwhile."""
    found = [(host, path.path, path.kept) for one in stack for host, path in one.paths]
    return kept_text(found) if found else NOTHING_KEPT


def environment(stack: Iterable[Kept]) -> frozenset[str]:
    """The conditions of environments that kept changes set: what is kept tells of them."""
    return frozenset(f"env.{service}.{name}" for one in stack for service, name in one.facts.env)


def refuse_meant(playbooks: Iterable[Playbook], system: System, stack: Sequence[Kept]) -> None:
    """Errors: CampaignError (REFUSED) for a step that is to change a path that is kept.

    A patch might not even apply, and a variable might be set as it is already.
    """
    for playbook in playbooks if stack else ():
        for host, root, path in (*sorted(patched(playbook)), *_env_files(playbook, system)):
            _refuse(host, f"{root.rstrip('/')}/{path}", stack)


def _env_files(playbook: Playbook, system: System) -> Iterator[tuple[str, str, str]]:
    """The files (host, root, path) that its env steps write to."""
    for step in playbook.steps:
        for name in step.action.services if isinstance(step.action, Env) else ():
            service = system.services[name]
            if service.env is not None:
                yield service.host, *service.env.place


def refuse_touching(plan: Plan, stack: Sequence[Kept]) -> None:
    """Errors: CampaignError (REFUSED) for a plan that would change a path that is kept."""
    for boot in plan.measured if stack else ():
        for edit in boot.edits:
            _refuse(edit.host, edit.where, stack)


def _refuse(host: str, where: str, stack: Iterable[Kept]) -> None:
    for one in stack:
        for there, path in one.paths:
            if there == host and _overlap(where, path.path):
                raise CampaignError(
                    Exit.REFUSED,
                    f"{where} on host {host} is kept changed by {one.id}",
                    f"put that back first: {one.back}",
                )


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(f"{other}/") or other.startswith(f"{one}/")


def refuse_not_as_kept(stack: Iterable[Kept], system: System, hosts: Hosts) -> None:
    """Errors: CampaignError (REFUSED) where files, or the services that run them, are not what

    the condition says.
    """
    for one in stack:
        if one.lacks(hosts.names()):
            what = f"{one.id} is kept on {', '.join(one.on)} only: elsewhere it was put back"
            raise CampaignError(Exit.REFUSED, what, "put back the rest: campaign recover")
        for host, path in one.paths:
            if not path.as_kept:
                raise CampaignError(
                    Exit.REFUSED,
                    f"{path.path} on host {host} is not as {one.id} kept it: someone else has "
                    "changed it",
                    f"undo that, or put back what is kept: {one.back}",
                )
        for service in _running(one, system):
            _refuse_older(one, service, hosts.peek(service.host))


def _running(kept: Kept, system: System) -> Iterator[Service]:
    """The services that were started with what is kept on their host."""
    for name in kept.facts.services:
        service = system.services.get(name)
        there = kept.on.get(service.host) if service else None
        if service is not None and there is not None and name not in there.reloaded:
            yield service


def _refuse_older(kept: Kept, service: Service, host: Host) -> None:
    changed_at = max((one.changed_at for one in kept.on[service.host].paths), default=0.0)
    try:
        state = host.service_state(spec_of(service))
    except HostError as error:
        raise CampaignError(Exit.REFUSED, f"service {service.name}: {error}") from error
    if state.running and any(start < changed_at for start in state.starts):
        raise CampaignError(
            Exit.REFUSED,
            f"{service.name} runs since before what {kept.id} keeps changed",
            f"restart it: campaign services restart {service.name}",
        )
