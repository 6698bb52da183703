"""Kept runs on their way back: which of them, and on all their hosts.

Released, a run is outstanding as any that was interrupted, and putting back does the rest.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from campaign.engine.hosts import Hosts
from campaign.engine.kept import Kept
from campaign.errors import CampaignError, Exit
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.host import Host
from playbooks.hosts.stack import KEPT, LEAVING


class Release(Struct, frozen=True):
    """`runs` are outstanding now, as far as their hosts answer; `remaining` is left to do."""

    runs: tuple[Kept, ...] = ()
    remaining: tuple[str, ...] = ()


def find_kept(stack: Sequence[Kept], word: str) -> Kept | None:
    """The one kept run whose id is `word`, or alone begins so; None where none does.

    Errors: CampaignError (USAGE where several do).
    """
    exact = [one for one in stack if one.id == word]
    found = exact or [one for one in stack if one.id.startswith(word)]
    if len(found) > 1:
        ids = ", ".join(one.id for one in found)
        raise CampaignError(
            Exit.USAGE, f"{word!r} matches {len(found)} kept runs: {ids}", "say which"
        )
    return found[0] if found else None


def refuse_unkept(accepted: Sequence[str], kept: Kept, hosts: Hosts) -> None:
    """Errors: CampaignError (USAGE) where an accepted path is none of those that are kept."""
    places = [(host, path.path) for host, path in kept.paths]
    for given in accepted:
        host, _, path = given.partition(":")
        on, name = ([host], path) if host in hosts.names() else (hosts.names(), given)
        spelt = (name, str(Path(name).absolute()), str(Path(name).resolve()))
        if not any(there in on and where in spelt for there, where in places):
            there = ", ".join(f"{host}:{path}" for host, path in places)
            raise CampaignError(
                Exit.USAGE, f"{kept.id} keeps nothing at {given}", f"it keeps {there}"
            )


def settle_undecided(hosts: Hosts, absent: Collection[str], stack: Sequence[Kept]) -> Release:
    """Brings every run that was interrupted on its way to being kept, or back, to one end.

    One that some host keeps is kept on all; any other is put back, unless a host that does not
    answer may keep it.
    """
    runs: list[Kept] = []
    remaining: list[str] = []
    answering = {*hosts.names()} - {*absent}
    for one in stack:
        stages = {there.stage for there in one.on.values()}
        silent = [name for name in one.facts.hosts if name not in answering]
        if stages == {KEPT} and not one.lacks(answering):
            continue
        if LEAVING in stages or one.lacks(answering) or (KEPT not in stages and not silent):
            remaining += release(one, hosts)
            runs.append(one)
        elif KEPT in stages:
            remaining += _each(one, hosts, _finished(one))
        else:
            what = f"whether {one.id} is kept is not known before {', '.join(silent)} answers"
            remaining.append(f"{what}; run 'campaign recover' then")
    return Release(tuple(runs), tuple(remaining))


def _finished(kept: Kept) -> Callable[[Host], None]:
    return lambda host: host.keep(kept.run, KEPT, kept.facts)


def release(kept: Kept, hosts: Hosts) -> tuple[str, ...]:
    """Makes it outstanding on each of its hosts that answers; what is left to do."""
    if len(kept.facts.hosts) > 1:
        failed = tuple(_each(kept, hosts, lambda host: host.keep(kept.run, LEAVING, kept.facts)))
        if failed:
            return failed
    return tuple(_each(kept, hosts, lambda host: host.release(kept.run)))


def _each(kept: Kept, hosts: Hosts, ask: Callable[[Host], None]) -> Iterator[str]:
    for name in kept.on:
        try:
            ask(hosts[name])
        except (CampaignError, HostError, HostLost) as error:
            yield f"host {name}: {error}; then {kept.back}"
