"""What the choice of the next restart is made from, and what can be said of one playbook."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from campaign.engine.conditions import conditions
from campaign.ledger.reads import Ledger
from campaign.ledger.records import ARM
from campaign.operations.plan import is_one_way
from campaign.operations.prices import Prices
from campaign.operations.showing import planned_trials
from hypotheses.by_rate import differences
from hypotheses.model import Posterior
from playbooks.playbook import Env, Kind, Patch, Playbook, Reproduce
from playbooks.system import System


@dataclass(frozen=True)
class Desk:
    """The system, the ledger, what is believed, and the workspace's playbooks."""

    system: System
    ledger: Ledger
    belief: Posterior
    playbooks: Sequence[Playbook]

    @property
    def prices(self) -> Prices:
        return Prices(self.ledger, self.system.cost)

    def of(self, kind: Kind) -> list[Playbook]:
        return [one for one in self.playbooks if one.kind is kind]

    def trials(self, playbook: Playbook) -> int:
        """The trials that a playbook plans; where it does not say, those of the settings."""
        return planned_trials(self.system, playbook) or self.belief.settings.max_trials

    def differs(self, playbook: Playbook) -> str | None:
        """How its trials differ from the newest baseline's: those could not be weighed together."""
        action = driven(playbook)
        baselines = self.ledger.observations_of(kind="baseline")
        if action is None or not baselines:
            return None
        reproducer = self.system.reproducers[action.use]
        values = {**playbook.vars, **action.vars}
        planned = conditions(reproducer, values, action.timeout_s or reproducer.timeout_s)
        there = _common(baselines[-1].conditions, planned)
        found = differences(_common(planned, there), there)
        return f"{', '.join(found)} of the newest baseline" if found else None


def _common(conditions: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    return {name: one for name, one in conditions.items() if name in others and one != ARM}


def driven(playbook: Playbook) -> Reproduce | None:
    """The playbook's first reproduction."""
    return next((one.action for one in playbook.steps if isinstance(one.action, Reproduce)), None)


def one_way(playbook: Playbook) -> bool:
    """Whether a step of it cannot be taken back."""
    return any(map(is_one_way, playbook.steps))


def changes(playbook: Playbook) -> bool:
    """Whether anything differs from the system as it is."""
    return any(isinstance(step.action, Patch | Env) for step in playbook.steps)
