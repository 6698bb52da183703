"""What the choice of the next restart is made from, and what can be said of one playbook."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from campaign.engine.conditions import first_conditions
from campaign.ledger.conditions import KEPT
from campaign.ledger.reads import Ledger
from campaign.ledger.records import ARM
from campaign.operations.plan import is_one_way
from campaign.operations.prices import Prices
from campaign.operations.showing import planned_trials
from hypotheses.by_rate import differences
from hypotheses.model import Posterior
from hypotheses.observation import Observation, held_against
from playbooks.combination import in_arm, removes
from playbooks.playbook import Env, Kind, Patch, Playbook, Reproduce
from playbooks.system import System


class Desk(Struct, frozen=True):
    """The system, the ledger, what is believed, and the workspace's playbooks.

    `baseline` is what suspects are held against: observations that are all alike.
    """

    system: System
    ledger: Ledger
    belief: Posterior
    playbooks: Sequence[Playbook]
    baseline: Sequence[Observation]

    @property
    def prices(self) -> Prices:
        return Prices.by(self.ledger, self.system, self.playbooks)

    def of(self, kind: Kind) -> list[Playbook]:
        return [one for one in self.playbooks if one.kind is kind]

    def trials(self, playbook: Playbook) -> int:
        """The trials that a playbook plans; where it does not say, those of the settings."""
        return planned_trials(self.system, playbook) or self.belief.settings.max_trials

    def differs(self, playbook: Playbook) -> str | None:
        """How its trials differ from the baseline's: those could not be weighed together."""
        if driven(playbook) is None or not self.baseline:
            return None
        planned = {**first_conditions(self.system, playbook), KEPT: self.ledger.kept_condition()}
        there = _common(self.baseline[-1].conditions, planned)
        found = differences(_common(planned, there), there)
        return f"{', '.join(found)} of the baseline" if found else None


def _common(conditions: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    return {name: one for name, one in conditions.items() if name in others and one != ARM}


def baseline(
    system: System, ledger: Ledger, playbooks: Iterable[Playbook]
) -> tuple[Observation, ...]:
    """The baselines under the conditions of most playbooks that remove suspects, all alike.

    The newer ones where as many have others; and those that the ledger's own suspects were held
    against where no playbook has a baseline. None that ran over other kept changes than there are.
    """
    kept = {KEPT: ledger.kept_condition()}
    seen = [
        one
        for one in ledger.observations_of(kind="baseline")
        if kept.items() <= one.conditions.items()
    ]
    wanted = [{**one, **kept} for one in control_conditions(system, playbooks)]
    return held_against(seen, wanted) or ledger.baselines(seen)


def control_conditions(
    system: System, playbooks: Iterable[Playbook]
) -> tuple[Mapping[str, str], ...]:
    """The conditions of a control of each playbook that removes suspects, as far as planned."""
    return tuple(first_conditions(system, one) for one in playbooks if removes(one) and driven(one))


def driven(playbook: Playbook) -> Reproduce | None:
    """The playbook's first reproduction."""
    return next((one.action for one in playbook.steps if isinstance(one.action, Reproduce)), None)


def one_way(playbook: Playbook) -> bool:
    """Whether a step of it cannot be taken back."""
    return any(map(is_one_way, playbook.steps))


def leads_back(playbook: Playbook) -> int:
    """How many restarts lead back from it: none where its last boot changes nothing."""
    last = playbook.order[-1][-1] if playbook.arms else ""
    return int(changes(in_arm(playbook, last)))


def changes(playbook: Playbook) -> bool:
    """Whether anything differs from the system as it is."""
    return any(isinstance(step.action, Patch | Env) for step in playbook.steps)
