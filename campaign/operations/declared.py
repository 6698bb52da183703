"""What the files say of the campaign as a whole, kept beside them so that readers start quickly.

Checking them takes longer than all else that `status` does: it is done again only after one of
them has changed.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct, to_builtins

from campaign.ledger.conditions import KEPT
from campaign.ledger.reads import Ledger
from campaign.workspace import Workspace
from hypotheses.observation import Observation, held_against

if TYPE_CHECKING:
    from playbooks.system import System


class Declared(Struct, frozen=True):
    """The campaign's name, symptom, currency and budget; a limit that is None is not set.

    `downtime_s` in seconds, `money` in `currency`, `seconds` of the system being occupied.
    `controls` are the conditions that playbooks which remove a suspect will be held against, as
    far as their files tell.
    """

    name: str
    symptom: str
    currency: str
    restarts: int | None
    downtime_s: float | None
    money: float | None
    seconds: float | None
    controls: tuple[Mapping[str, str], ...]

    @property
    def limited(self) -> bool:
        """Whether the budget limits anything."""
        limits = self.restarts, self.downtime_s, self.money, self.seconds
        return any(one is not None for one in limits)


def declared(workspace: Workspace) -> Declared | None:
    """What campaign.yaml says now; None where it cannot be read or is not valid."""
    try:
        digest = _digest(workspace)
    except OSError:
        return None
    kept = _kept(workspace, digest)
    if kept is not None:
        return kept
    found = _loaded(workspace)
    if found is not None:
        _keep(workspace, digest, found)
    return found


def baselines(
    workspace: Workspace, ledger: Ledger, seen: Sequence[Observation] | None = None
) -> tuple[Observation, ...]:
    """The baselines that suspects are held against, all alike: as `next` and plans go by them.

    `seen` are all valid baselines, where they have been read already. Errors: CampaignError.
    """
    said = declared(workspace)
    found = ledger.observations_of(kind="baseline") if seen is None else seen
    kept = {KEPT: ledger.kept_condition()}
    wanted = [{**one, **kept} for one in (said.controls if said else ())]
    return held_against(found, wanted) or ledger.baselines(found)


def _digest(workspace: Workspace) -> str:
    """Of campaign.yaml and all playbooks. Errors: OSError."""
    whole = hashlib.sha256(workspace.config.read_bytes())
    for path in sorted(workspace.playbooks.glob("*.yaml")):
        whole.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return whole.hexdigest()


def _loaded(workspace: Workspace) -> Declared | None:
    from playbooks.language.problems import LoadError

    try:
        system = workspace.load_system(secrets=False)
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
        budget.seconds,
        _controls(workspace, system),
    )


def _controls(workspace: Workspace, system: "System") -> tuple[Mapping[str, str], ...]:
    """None while a playbook is not valid: `check` tells why."""
    from campaign.operations.desk import control_conditions
    from playbooks.language.problems import LoadError

    try:
        found = workspace.load_playbooks(workspace.playbook_names(), system, None, {})
    except LoadError:
        return ()
    return control_conditions(system, found)


def _kept(workspace: Workspace, digest: str) -> Declared | None:
    try:
        kept = json.loads(workspace.declared.read_text(encoding="utf-8"))
        said = kept["declared"] if kept["sha256"] == digest else None
        return Declared(**{**said, "controls": tuple(said["controls"])}) if said else None
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _keep(workspace: Workspace, digest: str, found: Declared) -> None:
    """As far as the folder can be written to: it only saves time."""
    whole = workspace.declared.with_name(f"{workspace.declared.name}.{os.getpid()}")
    text = json.dumps({"sha256": digest, "declared": to_builtins(found)})
    with suppress(OSError):
        whole.parent.mkdir(exist_ok=True)
        whole.write_text(text, encoding="utf-8")
        whole.replace(workspace.declared)
