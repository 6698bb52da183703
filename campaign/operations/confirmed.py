"""What was confirmed of a plan: a run carries that out, or nothing."""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from campaign.errors import CampaignError, Exit
from campaign.operations.plan import Planned
from playbooks.env.values import told
from playbooks.plan import Boot
from playbooks.playbook import Playbook, Reproduce
from playbooks.redact import Redactor
from playbooks.schedule import Schedule

MOST_TOLD = 3
"""As many differences are named in one line."""

_DIGEST = re.compile(r"[0-9a-f]{64}")


class Confirmed(Struct, frozen=True):
    """`facts` says how each thing is that a plan rests on or does: a few words, or a hash, by name.

    `seeds` are the orders that the plan has drawn, by playbook.
    """

    facts: Mapping[str, str]
    seeds: Mapping[str, int]

    def drawn(self, playbook: Playbook) -> Playbook:
        """The playbook in the order that was confirmed, where it is drawn anew for each plan."""
        if playbook.schedule is not Schedule.RANDOMISED or playbook.seed is not None:
            return playbook
        return replace(playbook, seed=self.seeds.get(playbook.name))


def confirmed(planned: Planned) -> Confirmed:
    """What is confirmed with a plan."""
    seeds = {one.name: one.seed for one in planned.playbooks if one.seed is not None}
    return Confirmed(dict(_facts(planned)), seeds)


def as_confirmed(given: Confirmed, make: Callable[[], Planned]) -> Planned:
    """What `make` plans now. Errors: its own; CampaignError (REFUSED) where it is not `given`."""
    try:
        planned = make()
    except CampaignError as error:
        if error.exit is not Exit.USAGE:
            raise
        what = f"the plan that was confirmed cannot be made any more: {error.what}"
        raise CampaignError(Exit.REFUSED, what, error.fix) from error
    _refuse_other(given, planned)
    return planned


def _refuse_other(given: Confirmed, planned: Planned) -> None:
    now = confirmed(planned).facts
    names = [name for name in {**given.facts, **now} if given.facts.get(name) != now.get(name)]
    if not names:
        return
    told = [_told(name, given.facts.get(name), now.get(name)) for name in names[:MOST_TOLD]]
    more = f"; and {len(names) - MOST_TOLD} more" if len(names) > MOST_TOLD else ""
    raise CampaignError(
        Exit.REFUSED,
        f"this is not the plan that was confirmed: {'; '.join(told)}{more}",
        "nothing was changed; look at the plan as it is now",
    )


def _told(name: str, was: str | None, now: str | None) -> str:
    if was is None:
        return f"{name} is new"
    if now is None:
        return f"{name} is not in it any more"
    if _DIGEST.fullmatch(was) or _DIGEST.fullmatch(now):
        return f"{name} has changed"
    return f"{name}: {now} now, {was} then"


def _facts(planned: Planned) -> Iterator[tuple[str, str]]:
    plan, system, redactor = planned.plan, planned.system, Redactor(planned.system.secrets)
    for boot in plan.boots:
        for edit in boot.edits:
            before = edit.before
            state = (before.sha256, before.mode, before.uid, before.gid)
            yield f"{edit.host}:{edit.where}", digest(state)
    for kept in planned.stack:
        for at, path in kept.paths:
            yield f"{at}:{path.path}, which {kept.id} keeps", digest(path.kept)
    if plan.keep:
        yield "keeping what it changes", "yes"
    yield "the campaign", system.campaign
    yield "the boots", ", ".join(boot.title for boot in plan.boots)
    for playbook in planned.playbooks:
        yield from _playbook(playbook, redactor)
    for boot in plan.boots:
        yield from _boot(boot, redactor)
    for name in dict.fromkeys(name for boot in plan.boots for name in boot.services):
        yield f"the service {name}", digest(system.services[name])
    for name in dict.fromkeys(name for boot in plan.boots for name in _reproducers(boot)):
        yield f"the reproducer {name}", digest(system.reproducers[name])
    yield "guard: of campaign.yaml", digest(system.guards)
    yield "on_failure: of campaign.yaml", digest(system.on_failure)
    for name, host in system.hosts.items():
        yield f"the host {name}", digest(host)


def _playbook(playbook: Playbook, redactor: Redactor) -> Iterator[tuple[str, str]]:
    for name, value in playbook.vars.items():
        yield f"the variable {name} of {playbook.name}", redactor.text(value)
    bare = replace(playbook, path=Path(), text="", sha256="", vars={}, steps=())
    yield f"the playbook {playbook.name}", digest(bare)


def _boot(boot: Boot, redactor: Redactor) -> Iterator[tuple[str, str]]:
    title = f"{boot.position + 1}, {boot.title}"
    word = "reloads" if boot.reload else "restarts"
    batches = f" in batches of {boot.batch}" if boot.batches else ""
    yield f"what {word} for boot {title}", (", ".join(boot.services) or "nothing") + batches
    for one in boot.env:
        change = f"{told(one.before)} -> {told(one.after)}"
        yield f"{one.name} of {one.service} in boot {title}", redactor.text(change)
    for edit in boot.edits:
        after = (edit.after.sha256, edit.after.mode)
        yield f"what boot {title} makes of {edit.host}:{edit.where}", digest(after)
    for number, step in enumerate((*boot.changes, *boot.before, *boot.measures), start=1):
        name = f"step {number}, {step.name}, of boot {title}"
        yield name, digest((type(step.action).__name__, step.action))


def _reproducers(boot: Boot) -> Iterator[str]:
    yield from (one.action.use for one in boot.measures if isinstance(one.action, Reproduce))


def digest(value: object) -> str:
    """A hash that is the same in every process, of plain values and records of them."""
    text = json.dumps(value, default=_plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return str(value) if isinstance(value, Path) else asdict(value)
