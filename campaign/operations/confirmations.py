"""Confirmations of a protected campaign: of these very plans, for a time, kept in the ledger."""

import hashlib
import time
from collections.abc import Iterator, Mapping

from campaign.engine.hosts import operator
from campaign.engine.kept import condition
from campaign.ledger import records
from campaign.ledger.connect import is_there
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.operations.confirmed import digest
from campaign.operations.plan import Planned
from campaign.workspace import Workspace
from playbooks.plan import Boot


def covering(workspace: Workspace, planned: Planned) -> records.Confirmation | None:
    """The confirmation that covers all of a plan and ends first; None where it is not covered."""
    if not is_there(workspace.ledger):
        return None
    now, by = time.time(), operator()
    with Ledger.open(workspace.ledger) as ledger:
        plans = digests(workspace, planned).values()
        found = [ledger.confirmation(one, by, now) for one in plans]
    held = [one for one in found if one is not None]
    return min(held, key=lambda one: one.until) if found and len(held) == len(found) else None


def keep(
    workspace: Workspace, planned: Planned, recorder: Recorder, seconds: float
) -> records.Confirmation:
    """Keeps that the operator has confirmed each playbook of a plan for so long."""
    now, by = time.time(), operator()
    rows = [
        records.Confirmation(recorder.new_id(), name, digest, by, now, now + seconds)
        for name, digest in digests(workspace, planned).items()
    ]
    recorder.add_all(rows)
    return rows[0]


def digests(workspace: Workspace, planned: Planned) -> Mapping[str, str]:
    """What each playbook of a plan does, as a hash: it differs where anything of that does, or

    what earlier runs keep.
    """
    config = hashlib.sha256(workspace.config.read_bytes()).hexdigest()
    runs: dict[str, list[str]] = {}
    for boot in planned.plan.measured:
        assert boot.playbook is not None
        runs.setdefault(boot.playbook.name, []).append(digest(list(_parts(boot))))
    # The order of random blocks is drawn anew for each plan.
    end = ["keep"] if planned.plan.keep else []
    end += [condition(planned.stack)] if planned.stack else []
    return {name: digest([config, *sorted(parts), *end]) for name, parts in runs.items()}


def _parts(boot: Boot) -> Iterator[object]:
    """What a boot does, but for its place among others and what they make it restart."""
    assert boot.playbook is not None
    yield [boot.playbook.sha256, dict(boot.playbook.vars), boot.arm, boot.block]
    yield [[edit.host, edit.where, edit.after] for edit in boot.edits]
    yield boot.env
