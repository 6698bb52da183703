"""What campaign.yaml says of the campaign as a whole, kept beside it so that readers start quickly.

Checking the whole file takes longer than all else that `status` does: it is done again only after
the file has changed.
"""

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import asdict, dataclass

from campaign.workspace import Workspace


@dataclass(frozen=True)
class Declared:
    """The campaign's name, symptom, currency and budget; a limit that is None is not set.

    `downtime_s` in seconds, `money` in `currency`.
    """

    name: str
    symptom: str
    currency: str
    restarts: int | None
    downtime_s: float | None
    money: float | None


def declared(workspace: Workspace) -> Declared | None:
    """What campaign.yaml says now; None where it cannot be read or is not valid."""
    try:
        digest = hashlib.sha256(workspace.config.read_bytes()).hexdigest()
    except OSError:
        return None
    kept = _kept(workspace, digest)
    if kept is not None:
        return kept
    found = _loaded(workspace)
    if found is not None:
        _keep(workspace, digest, found)
    return found


def _loaded(workspace: Workspace) -> Declared | None:
    from playbooks.language.problems import LoadError

    try:
        system = workspace.load_system()
    except LoadError:
        return None
    budget = system.budget
    return Declared(
        system.campaign,
        system.symptom,
        system.cost.currency,
        budget.restarts,
        budget.downtime_s,
        budget.money,
    )


def _kept(workspace: Workspace, digest: str) -> Declared | None:
    try:
        kept = json.loads(workspace.declared.read_text(encoding="utf-8"))
        return Declared(**kept["declared"]) if kept["sha256"] == digest else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _keep(workspace: Workspace, digest: str, found: Declared) -> None:
    """As far as the folder can be written to: it only saves time."""
    whole = workspace.declared.with_name(f"{workspace.declared.name}.{os.getpid()}")
    text = json.dumps({"sha256": digest, "declared": asdict(found)})
    with suppress(OSError):
        whole.parent.mkdir(exist_ok=True)
        whole.write_text(text, encoding="utf-8")
        whole.replace(workspace.declared)
