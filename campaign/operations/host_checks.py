"""What doctor looks at on a host: the way there, the clock, the disk, the lock, the journal."""

import time
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from campaign.engine.origin import origin
from campaign.engine.preflight import NO_BYTES
from campaign.operations.findings import Finding, guarded, listed
from playbooks.hosts.files import Journal
from playbooks.hosts.host import Host
from playbooks.hosts.survey import Holder, Runnable, Survey
from playbooks.sessions.job import lacking
from playbooks.sessions.spec import Sessions
from playbooks.system import Host as Machine
from playbooks.system import Reproducer, Service, SystemdSpec

CLOCK_TOLERANCE_S = 1.0
LITTLE_BYTES = 100 << 20
FEW_FILES = 100


def examine(
    machine: Machine, host: Host, services: tuple[Service, ...], took_s: float, ledger: Path
) -> Iterator[Finding]:
    """What is to be known of a host that was reached in `took_s` seconds; `ledger` names the run

    that what is left there is of. Errors: HostLost.
    """
    name = machine.name
    yield Finding(name, "reach", _way(machine, took_s))
    yield from guarded(name, "agent", _state(machine, host, services, ledger))


def _state(
    machine: Machine, host: Host, services: tuple[Service, ...], ledger: Path
) -> Iterator[Finding]:
    name, survey = machine.name, host.survey()
    yield _agent(machine, host.greeting.python, survey, services)
    if machine.ssh is not None:
        yield _clock(name, host)
    yield space(name, survey)
    yield _lock(name, survey.holder)
    yield _leftovers(name, host.journal(), survey.holder, ledger)
    yield from _kept(name, host)


def _way(machine: Machine, took_s: float) -> str:
    if machine.ssh is None:
        return "this machine"
    return f"answers in {took_s:.1f} s, with the key that is known"


def _agent(machine: Machine, python: str, survey: Survey, services: tuple[Service, ...]) -> Finding:
    """What the agent runs on, and whether it may do what the services there need of it."""
    by_sudo = " by sudo" if machine.ssh is not None and machine.ssh.sudo else ""
    what = f"the agent runs on Python {python} as {survey.user}{by_sudo}"
    units = [one.name for one in services if _needs_root(one)]
    if survey.uid == 0 or not units:
        return Finding(machine.name, "agent", what)
    fix = "run campaign as root" if machine.ssh is None else "say sudo: true for this host"
    what += f", and systemd lets only root restart {listed(units)}, unless polkit permits it"
    return Finding(machine.name, "agent", what, "warn", fix)


def _needs_root(service: Service) -> bool:
    return isinstance(service.manager, SystemdSpec) and not service.manager.user


def _clock(name: str, host: Host) -> Finding:
    asked, there, answered = time.time(), host.clock(), time.time()
    return clock(name, there - (asked + answered) / 2, (answered - asked) / 2)


def clock(name: str, ahead_s: float, unsure_s: float) -> Finding:
    """How far a host's clock is from the one here, known to within `unsure_s` seconds."""
    if abs(ahead_s) <= CLOCK_TOLERANCE_S + unsure_s:
        return Finding(name, "clock", f"its clock is within {CLOCK_TOLERANCE_S:g} s of this one")
    way = "ahead of" if ahead_s > 0 else "behind"
    what = (
        f"its clock is {abs(ahead_s):.1f} s {way} this one: times of logs and runs will not match"
    )
    return Finding(name, "clock", what, "warn", "set it: timedatectl set-ntp true")


def space(name: str, survey: Survey) -> Finding:
    """Whether the journal can be kept, and with how much room."""
    place = survey.state_dir
    if survey.obstacle:
        what = f"no journal can be kept in {place}: {survey.obstacle}"
        return Finding(name, "space", what, "fail", "name another folder, state_dir:, or use sudo")
    what = f"{_size(survey.free_bytes)} free for the journal in {place}"
    if survey.free_files is not None and survey.free_files < FEW_FILES:
        what = f"room for {survey.free_files} more files only, where the journal is, {place}"
    elif survey.free_bytes >= LITTLE_BYTES:
        return Finding(name, "space", what)
    nothing = survey.free_bytes < NO_BYTES or survey.free_files == 0
    return Finding(name, "space", what, "fail" if nothing else "warn", "make room on that disk")


def _size(number: int) -> str:
    """Bytes for people, in binary units."""
    value, unit = float(number), "B"
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            break
        value /= 1024
    return f"{value:.1f} {unit}" if unit != "B" else f"{number} B"


def _lock(name: str, holder: Holder | None) -> Finding:
    if holder is None:
        return Finding(name, "lock", "nobody works on it")
    if holder.waits_until is not None:
        until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.waits_until))
        what = (
            f"{holder.who} is gone and left changes here; agent pid {holder.pid} puts them back at "
            f"{until}"
        )
        return Finding(name, "lock", what, "fail", "put them back now: campaign recover")
    since = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(holder.since))
    run = f" for {holder.run}" if holder.run else ""
    what = f"{holder.who} works on it{run} (agent pid {holder.pid}, since {since})"
    return Finding(name, "lock", what, "fail", "wait for it to end")


def _kept(name: str, host: Host) -> Iterator[Finding]:
    """What runs keep there on purpose, and whether it is as they left it."""
    for one in host.stack():
        paths, back = [path.path for path in one.paths], f"campaign recover {one.facts.id}"
        other = [path.path for path in one.paths if not path.as_kept]
        if other:
            what = f"kept by {one.facts.id}, and changed by someone else since: {listed(other)}"
            yield Finding(name, "kept", what, "fail", f"put it back: {back}")
        else:
            what = f"kept by {one.facts.id} ({one.who}): {listed(paths)}; {back} puts it back"
            yield Finding(name, "kept", what)


def _leftovers(name: str, journal: Journal, holder: Holder | None, ledger: Path) -> Finding:
    if not journal.outstanding:
        return Finding(name, "leftovers", "nothing is left to put back")
    paths = tuple(entry.path for entry in journal.entries)
    commands = tuple(" ".join(command.do) for command in journal.commands)
    left = listed(paths + commands) or "a restart that is due"
    what = f"changed by {origin(ledger, journal.run)} ({journal.who}): {left}"
    if holder is not None and holder.waits_until is None:
        return Finding(name, "leftovers", what, "warn", "whoever works on it puts that back")
    return Finding(name, "leftovers", what, "fail", "put it back first: campaign recover")


def examine_reproducers(
    machine: Machine, host: Host, reproducers: Sequence[Reproducer]
) -> Iterator[Finding]:
    """Whether each of the host's reproducers can start, as far as no variable says how."""
    for one in reproducers:
        if one.sessions:
            yield _driver(machine.name, one.name, one.sessions)
            continue
        fixed = tuple(takewhile(lambda word: "{{" not in word, one.command))
        lacks = host.lacking([Runnable(fixed, one.cwd, one.env.get("PATH"))])[0] if fixed else None
        what, name = f"reproducer {one.name} can start", machine.name
        if lacks is None:
            yield Finding(name, "reproducer", what)
        else:
            what = f"reproducer {one.name} cannot start: {lacks.why}"
            fix = "correct its command: or cwd: in campaign.yaml"
            yield Finding(name, "reproducer", what, "fail", fix)


def _driver(host: str, reproducer: str, sessions: Sessions) -> Finding:
    """Whether campaign can drive these sessions itself."""
    missing = lacking(sessions)
    if missing is None:
        return Finding(host, "reproducer", f"reproducer {reproducer} can start")
    what = f"reproducer {reproducer} {missing.what}"
    return Finding(host, "reproducer", what, "fail", missing.fix)
