"""The way back: restore every base, restart what ran a change, verify by hash and health.

The host's journal is the truth: what it does not list was not changed, whatever the ledger says.
"""

import shlex
import time
from collections.abc import Collection, Sequence
from functools import partial

from msgspec import Struct, field
from msgspec.structs import replace

from campaign.engine import cycle, reloading
from campaign.engine.hooks import Hooks, HooksBack
from campaign.engine.hosts import Hosts
from campaign.engine.lapses import HostLapse, lived_by, with_lapses
from campaign.engine.lived import CycleFailed, Lived, joined
from campaign.engine.rollback import batches_back, is_well
from campaign.engine.together import all_at_once, by_name
from campaign.engine.watch import Watch
from campaign.errors import CampaignError
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.files import Journal
from playbooks.hosts.host import Host
from playbooks.hosts.lapse import Lapse
from playbooks.hosts.specs import spec_of
from playbooks.rollout import Batches, with_groups
from playbooks.services.specs import Groups, batches_of, from_specs
from playbooks.system import Service

DIALS = 3
REDIAL_S = 30.0
"""How long a host that was lost may take to answer again: its sshd, or all of it, starts anew."""

_REDIAL_EVERY_S = 0.5


class Restored(Struct, frozen=True):
    """What the way back did: paths restored, cycles lived, and what is left for a person to do.

    `undone` are the commands whose effect was taken back, `at_base` the files that are what they
    were, each with its host. What hosts did by themselves before, once
    the lease was over, is in it; `lapses` says so.
    """

    paths: tuple[str, ...] = ()
    cycles: tuple[Lived, ...] = ()
    remaining: tuple[str, ...] = ()
    lapses: tuple[HostLapse, ...] = ()
    undone: tuple[str, ...] = ()
    at_base: tuple[tuple[str, str], ...] = ()

    @property
    def dirty(self) -> bool:
        return bool(self.remaining)


class _Way(Struct):
    """What was done on one host so far, by however many agents, and what its journal names."""

    name: str
    answered: bool = False
    paths: list[str] = field(default_factory=list)
    undone: list[str] = field(default_factory=list)
    at_base: list[tuple[str, str]] = field(default_factory=list)
    remaining: list[str] = field(default_factory=list)
    services: tuple[Service, ...] = ()
    groups: Groups = ()
    batches: Batches = ()
    lapses: tuple[Lapse, ...] = ()


def put_back(hosts: Hosts, watch: Watch | None = None, absent: Collection[str] = ()) -> Restored:
    """Puts every host back and restarts what ran a change. Never raises for a host's failure:

    what could not be done is in `remaining`, as instructions. A second call finds nothing to do.
    `watch` is told what is under way. Hosts that are known to be `absent` are left out.
    """
    watch = watch or Watch()
    ways = [_Way(name) for name in hosts.names() if name not in absent]
    all_at_once(partial(_restore_files, way, hosts, watch) for way in ways)
    silent = bool(absent) or any(not way.answered for way in ways)
    parts = _linked([way for way in ways if way.answered])
    seen_to = {part[0].name: partial(_see_to, part, hosts, silent, watch) for part in parts}
    found = by_name(seen_to).values()
    lapses = tuple(HostLapse(way.name, one) for way in ways for one in way.lapses)
    return Restored(
        tuple(path for way in ways for path in dict.fromkeys(way.paths)),
        (
            *lived_by(lapses, hosts.services),
            *_as_one([lived for cycles in found for lived in cycles]),
        ),
        tuple(text for way in ways for text in way.remaining),
        lapses,
        tuple(command for way in ways for command in way.undone),
        tuple(file for way in ways for file in way.at_base),
    )


def _see_to(linked: Sequence[_Way], hosts: Hosts, silent: bool, watch: Watch) -> list[Lived]:
    """Restarts what has to be, and lets go of the journals; returns the cycles lived.

    `silent`: there are hosts that do not answer.
    """
    cycles: list[Lived] = []
    _restart_due(linked, hosts, cycles, watch)
    if not any(way.remaining for way in linked) and (_is_whole(linked) or not silent):
        _settle(linked, hosts, watch)
    return cycles


def _as_one(cycles: Sequence[Lived]) -> tuple[Lived, ...]:
    """The cycles, those that took it down and came to a good end as the one that they were."""
    good = [one for one in cycles if one.healthy_at is not None and one.downtime_s]
    others = [one for one in cycles if one not in good]
    return (*others, *([joined(good)] if good else []))


def _restore_files(way: _Way, hosts: Hosts, watch: Watch) -> None:
    """Restores the files of one host, dialling again where its agent was lost."""
    for _ in range(DIALS):
        try:
            _restore(way, hosts, watch)
            break
        except HostLost as error:
            way.remaining = [_unanswered(way.name, error)]
            time.sleep(0.1)
        except (HostError, CampaignError) as error:
            way.remaining = [_unanswered(way.name, error)]
            break


def _restore(way: _Way, hosts: Hosts, watch: Watch) -> None:
    host = answering(way.name, hosts, watch)
    watch.say(f"restoring the files of host {way.name}")
    with watch.restoring(way.name) as undoing:
        before = host.journal()
        way.lapses = before.lapses
        result = undoing.result = with_lapses(host.put_back(), way.lapses)
    way.paths += result.restored
    way.at_base += [(way.name, path) for path in (*result.restored, *result.intact)]
    way.undone += [shlex.join(one.do) for one in before.commands if one.id in result.undone]
    specs = host.journal().specs
    (services, way.groups), way.batches = from_specs(specs), batches_of(specs)
    way.services = tuple(_as_declared(replace(one, host=way.name), hosts) for one in services)
    way.remaining = [f"{way.name}: {one.instructions}" for one in result.conflicts]
    if len(hosts.names()) > 1:
        what = f"--accept {way.name}:"
        way.remaining = [text.replace("--accept ", what) for text in way.remaining]
    way.answered = True


def _as_declared(service: Service, hosts: Hosts) -> Service:
    """The service with the health that campaign.yaml now says: what a run was wrong about there
    must not keep its hosts dirty for ever.
    """
    now = hosts.services.get(service.name)
    if now is None or now.host != service.host or now.manager != service.manager:
        return service
    return replace(service, health=now.health)


def _linked(ways: Sequence[_Way]) -> list[list[_Way]]:
    """The hosts in parts: those whose services restart together, or in turn, are in one."""
    home = {service.name: way.name for way in ways for service in way.services}
    parts = [[way] for way in ways]
    rollouts = (tuple(name for batch in way.batches for name in batch) for way in ways)
    tied = (*(group for way in ways for group in way.groups), *rollouts)
    for group in dict.fromkeys(tied):
        homes = {home[name] for name in group if name in home}
        apart = [part for part in parts if not any(way.name in homes for way in part)]
        joined = [way for part in parts if part not in apart for way in part]
        parts = [*apart, joined] if joined else apart
    return parts


def _is_whole(linked: Sequence[_Way]) -> bool:
    """Whether every service that restarts with one of these hosts is on one of them."""
    known = {service.name for way in linked for service in way.services}
    groups = {group for way in linked for group in way.groups if known & set(group)}
    return all(name in known for group in groups for name in group)


def _restart_due(linked: Sequence[_Way], hosts: Hosts, cycles: list[Lived], watch: Watch) -> None:
    """Restarts what has to be, dialling again where an agent was lost."""
    names = ", ".join(way.name for way in linked)
    failed = ""
    for _ in range(DIALS):
        try:
            for way in linked:
                answering(way.name, hosts, watch)
            due = _to_restart(linked, hosts)
            failed = _restart(names, due, hosts, linked, cycles, watch)
            failed = failed or _reload(names, _to_reload(linked, due, hosts), hosts, cycles, watch)
            break
        except HostLost as error:
            failed = _unanswered(names, error)
            time.sleep(0.1)
        except (HostError, CampaignError) as error:
            failed = _unanswered(names, error)
            break
    linked[0].remaining += [failed] if failed else []


def _settle(linked: Sequence[_Way], hosts: Hosts, watch: Watch) -> None:
    for way in linked:
        try:
            answering(way.name, hosts, watch).settle()
        except (HostLost, HostError, CampaignError) as error:
            way.remaining.append(_unanswered(way.name, error))


def answering(name: str, hosts: Hosts, watch: Watch) -> Host:
    """The host, dialled again and waited for where it does not answer. Errors: CampaignError."""
    try:
        host = hosts[name]
        host.clock()
    except HostLost:
        return _again(name, hosts, watch)
    except CampaignError as error:
        if not _may_come_back(error):
            raise
        return _again(name, hosts, watch)
    return host


def _again(name: str, hosts: Hosts, watch: Watch) -> Host:
    """A fresh agent in place of one that was lost. Errors: CampaignError."""
    until = 0.0
    while True:
        try:
            return hosts.again(name)
        except CampaignError as error:
            if not _may_come_back(error) or (until and time.monotonic() > until):
                raise
        if not until:
            until = time.monotonic() + REDIAL_S
            watch.waiting(f"host {name} does not answer: waiting for it, at most {REDIAL_S:.0f} s")
        time.sleep(_REDIAL_EVERY_S)


def _may_come_back(error: CampaignError) -> bool:
    cause = error.__cause__
    return isinstance(cause, HostError) and cause.kind in ("unreachable", "lapsed")


def _unanswered(name: str, error: Exception) -> str:
    what = f"host {name}: {error}" if isinstance(error, HostError) else str(error)
    return f"{what}; run 'campaign recover' when it answers"


def _restart(
    names: str,
    services: Sequence[Service],
    hosts: Hosts,
    linked: Sequence[_Way],
    cycles: list[Lived],
    watch: Watch,
) -> str:
    """What is left to do. Errors: HostLost, HostError."""
    if not services:
        return ""
    planned = dict.fromkeys(batch for way in linked for batch in way.batches)
    batches = batches_back(planned, services, hosts)
    watch.say(f"restarting {_names(services)}: {_limit(services)}")
    run = hosts[services[0].host].journal().run
    hooks = Hooks(hosts, run, None, last=True)
    around = HooksBack(hooks, watch.hooking, watch.warn)
    if not batches:
        around.before(services)
    with watch.restarting([one.name for one in services]) as undoing:
        lived = undoing.lived = cycle.begin(services, hosts, _groups(linked), batches)
        cycles.append(lived)
        try:
            cycle.live(lived, hosts, None, around=around)
        except CycleFailed as error:
            undoing.failed = str(error)
    if not undoing.failed:
        if not batches:
            around.after(services)
        left = "; ".join(around.failed)
        return left if hooks.standing else _warn(watch, left)
    return (
        f"{names}: the files are as they were, but {_names(services)} did not become healthy: "
        f"{undoing.failed}. See to that, then campaign recover"
    )


def _to_reload(linked: Sequence[_Way], due: Sequence[Service], hosts: Hosts) -> tuple[Service, ...]:
    """The services that read a change while they ran, and are not restarted anyway."""
    found = [(one, hosts[way.name].journal()) for way in linked for one in way.services]
    return tuple(one for one, journal in found if one.name in journal.reloaded and one not in due)


def _reload(
    names: str,
    services: Sequence[Service],
    hosts: Hosts,
    cycles: list[Lived],
    watch: Watch,
) -> str:
    """What is left to do. Errors: HostLost, HostError."""
    if not services:
        return ""
    watch.say(f"reloading {_names(services)}")
    with watch.restarting([one.name for one in services], "reload") as undoing:
        lived = undoing.lived = cycle.begin(services, hosts, ())
        cycles.append(lived)
        try:
            reloading.live(lived, hosts, None)
        except CycleFailed as error:
            undoing.failed = str(error)
    if not undoing.failed:
        return ""
    return (
        f"{names}: the files are as they were, but {_names(services)} has not read them again: "
        f"{undoing.failed}. See to that, then campaign recover"
    )


def _warn(watch: Watch, text: str) -> str:
    """Tells what failed, where something did; nothing is left to do for it."""
    if text:
        watch.warn(text)
    return ""


def _names(services: Sequence[Service]) -> str:
    return ", ".join(one.name for one in services)


def _limit(services: Sequence[Service]) -> str:
    """How long a restart may take at most, in words."""
    seconds = sum(
        one.stop_timeout_s + max((check.timeout_s for check in one.health), default=0.0)
        for one in services
    )
    return f"at most {seconds:.0f} s"


def _to_restart(linked: Sequence[_Way], hosts: Hosts) -> tuple[Service, ...]:
    """The services that may have run a change, or that a restart left ill, with their groups.

    A process has run a change when it started between the change and its restoration, both on
    its host's boot clock; where no process is seen, the service's own start tells.
    Errors: HostLost, HostError.
    """
    by_name = {one.name: one for way in linked for one in way.services}
    due = [name for way in linked for name in _due(way, hosts[way.name])]
    names = with_groups(due, tuple(by_name), _groups(linked))
    return tuple(by_name[one] for one in names if one in by_name)


def _groups(linked: Sequence[_Way]) -> Groups:
    return tuple(dict.fromkeys(group for way in linked for group in way.groups))


def _due(way: _Way, host: Host) -> list[str]:
    journal = host.journal()
    return [one.name for one in way.services if _is_due(one, host, journal)]


def _is_due(service: Service, host: Host, journal: Journal) -> bool:
    state = host.service_state(spec_of(service))
    if service.name in journal.restarting and not is_well(service, host):
        return True
    return any(
        trace.changed_at <= start <= trace.restored_at
        for trace in journal.traces
        for start in state.starts
    )
