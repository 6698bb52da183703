"""What an operator says is to stay as it is now: it is kept, its original copied here first."""

import os
import shlex
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, count
from pathlib import Path

from msgspec import Struct

from campaign.engine.hosts import Hosts
from campaign.engine.origin import last_run
from campaign.errors import CampaignError, Exit
from campaign.operations.kept import Kept, remember
from campaign.workspace import Workspace
from playbooks.hosts.connection import HostError
from playbooks.hosts.files import JournalEntry
from playbooks.system import Host as Machine


class _Left(Struct, frozen=True):
    """Something outstanding on a host, of a batch; `entry` is None for a command."""

    host: str
    name: str
    batch: str
    entry: JournalEntry | None = None


def accept(
    workspace: Workspace, hosts: Hosts, absent: Collection[str], accepted: Sequence[str]
) -> tuple[Kept, ...]:
    """Lets go of each of `accepted`: PATH, HOST:PATH, or the id of a command; all, or none.

    A path alone stands for every host where someone else has changed it since; where nobody has,
    for every host that has it outstanding. Errors: CampaignError (USAGE where nothing of that name
    is outstanding, REFUSED where an original cannot be copied).
    """
    left = tuple(_outstanding(hosts, absent)) if accepted else ()
    meant = [one for name in accepted for one in _meant(name, left, hosts, absent)]
    chosen = {(one.host, one.name): one for one in meant}
    kept = [_with_original(workspace, hosts, one) for one in chosen.values()]
    if kept:
        _remember(workspace, kept)
    for one in kept:
        hosts[one.host].forget(one.name)
    return tuple(kept)


def _remember(workspace: Workspace, kept: Sequence[Kept]) -> None:
    try:
        remember(workspace, kept)
    except OSError as error:
        what = f"what is to stay cannot be noted: {error.filename}: {error.strerror}"
        raise CampaignError(Exit.REFUSED, what, "make room for it, then the same again") from error


def _outstanding(hosts: Hosts, absent: Collection[str]) -> Iterator[_Left]:
    for host in hosts.names():
        if host not in absent:
            journal = hosts[host].journal()
            yield from (_Left(host, one.path, journal.run, one) for one in journal.entries)
            yield from (_Left(host, one.id, journal.run) for one in journal.commands)


def _meant(
    given: str, left: Collection[_Left], hosts: Hosts, absent: Collection[str]
) -> Sequence[_Left]:
    """Those of `left` that `given` names, with its host or without. Errors: CampaignError."""
    host, _, path = given.partition(":")
    on, name = ([host], path) if host in hosts.names() else (hosts.names(), given)
    for spelt in (name, str(Path(name).absolute()), str(Path(name).resolve())):
        found = [one for one in left if one.name == spelt and one.host in on]
        if found:
            return [one for one in found if _is_changed(hosts, one)] or found
    there = f"outstanding are: {', '.join(_spelt(left, hosts))}" if left else "nothing is, anywhere"
    if absent:
        there += f"; no answer from {', '.join(absent)}"
    raise CampaignError(Exit.USAGE, f"nothing is outstanding at {given}", there)


def _spelt(left: Collection[_Left], hosts: Hosts) -> Iterator[str]:
    alone = len(hosts.names()) == 1
    yield from (one.name if alone else f"{one.host}:{one.name}" for one in left)


def _is_changed(hosts: Hosts, one: _Left) -> bool:
    """Whether someone else has changed it since, so that it cannot just be put back."""
    if one.entry is None:
        return True
    try:
        root, name = _parted(one.name)
        found, _ = hosts[one.host].read(root, name)
    except HostError:
        return True
    return found.sha256 not in (one.entry.base.sha256, *one.entry.intended)


def _with_original(workspace: Workspace, hosts: Hosts, one: _Left) -> Kept:
    """Copies the original of a file that stays changed: the journal is about to let go of it."""
    if one.entry is None or one.entry.base_copy is None:
        return Kept(one.host, one.name, batch=one.batch)
    content = hosts[one.host].read(*_parted(one.entry.base_copy))[1] or b""
    run = last_run(workspace.ledger, one.batch) or one.batch or "unknown"
    original = workspace.kept / run / one.host / one.name.lstrip("/")
    try:
        original = _new_file(original, content)
    except OSError as error:
        what = f"the original of {one.name} cannot be kept: {error.filename}: {error.strerror}"
        raise CampaignError(Exit.REFUSED, what, "make room for it, then the same again") from error
    compare = _compare(hosts.machine(one.host), original, one.name)
    return Kept(one.host, one.name, original, compare, one.batch)


def _parted(path: str) -> tuple[str, str]:
    """Folder and name of a whole path."""
    folder, _, name = path.rpartition("/")
    return folder or "/", name


def _new_file(wanted: Path, content: bytes) -> Path:
    """Writes `wanted`, readable by its owner alone, with a number where such a file is there."""
    wanted.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    numbered = (wanted.with_name(f"{wanted.name}.{number}") for number in count(2))
    for path in chain([wanted], numbered):
        try:
            file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        except FileExistsError:
            continue
        with file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return path
    raise AssertionError("there is always another number")


def _compare(machine: Machine, original: Path, path: str) -> str:
    """A command line, to be typed here, that shows what was kept beside its original."""
    ssh = machine.ssh
    if ssh is None:
        return shlex.join(["diff", str(original), path])
    options = ["-F", str(ssh.config)] if ssh.config else []
    options += ["-l", ssh.user] if ssh.user else []
    options += ["-p", str(ssh.port)] if ssh.port else []
    there = shlex.join([*(["sudo"] if ssh.sudo else []), "cat", path])
    return f"{shlex.join(['ssh', *options, ssh.name, there])} | diff {shlex.quote(str(original))} -"
