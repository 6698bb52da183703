"""What a playbook's trials will be compared with, as far as its files tell their conditions."""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from campaign.engine.conditions import accepts, first_conditions, own_conditions
from campaign.ledger.conditions import KEPT, NOTHING_KEPT
from campaign.ledger.reads import Ledger
from hypotheses.by_rate import named_differences
from hypotheses.observation import Observation, like_the_newest
from playbooks.playbook import Kind, Playbook
from playbooks.system import System


class Control(Struct, frozen=True):
    """What the ledger has of `against`, the baseline or a playbook.

    `seen` is under the conditions that are planned. Where nothing is, `other` comes nearest, and
    `differs` says by name of each condition what is planned "against" what was. `ahead`: it is
    measured earlier in the same run.
    """

    against: str
    seen: tuple[Observation, ...] = ()
    other: tuple[Observation, ...] = ()
    differs: Mapping[str, str] = field(default_factory=dict)
    ahead: bool = False

    @property
    def unlike(self) -> str:
        """What differs, in words; empty where it can be compared with."""
        if self.ahead or not self.differs:
            return ""
        return ", ".join(self.differs.values())

    @property
    def remedy(self) -> str:
        """What makes it comparable."""
        words = " ".join(f"--accept-difference {name}" for name in self.differs)
        return f"measure {self.against} under the same conditions first, or accept it: {words}"


class Controls(Struct, frozen=True):
    """Finds controls for the `playbooks` of one run; `accepted` are patterns of conditions.

    `kept` is what earlier runs keep changed, as a condition; None: what the ledger knows of that.
    """

    system: System
    ledger: Ledger | None
    playbooks: Sequence[Playbook] = ()
    accepted: tuple[str, ...] = ()
    kept: str | None = None

    def of(self, playbook: Playbook, against: str) -> Control:
        """What `playbook` will be compared with, if that is `against`."""
        planned = self._planned(playbook)
        ahead = self._ahead(playbook, against, planned)
        own = own_conditions(playbook)
        found = [self._compared(one, own) for one in self._observed(against)]
        fit = [one for one in found if planned.items() <= one.conditions.items()]
        if fit or not found:
            return Control(against, like_the_newest(fit), ahead=ahead)
        return self._nearest(against, planned, found, ahead)

    def _nearest(
        self, against: str, planned: Mapping[str, str], found: list[Observation], ahead: bool
    ) -> Control:
        apart = [_apart(planned, one.conditions) for one in found]
        differs = min(reversed(apart), key=len)
        other = [one for one, names in zip(found, apart, strict=True) if names == differs]
        return Control(against, (), like_the_newest(other), differs, ahead)

    def _observed(self, against: str) -> tuple[Observation, ...]:
        if self.ledger is None:
            return ()
        if against == "baseline":
            return self.ledger.observations_of(kind="baseline")
        return self.ledger.observations_of(playbook=against)

    def _ahead(self, playbook: Playbook, against: str, planned: Mapping[str, str]) -> bool:
        """Whether an earlier playbook of the run measures it, under the same conditions."""
        for one in self.playbooks:
            if one is playbook:
                return False
            is_it = one.kind is Kind.BASELINE if against == "baseline" else one.name == against
            if is_it and self._planned(one) == planned:
                return True
        return False

    def _planned(self, playbook: Playbook) -> dict[str, str]:
        planned = {**first_conditions(self.system, playbook), KEPT: self._condition()}
        return {name: one for name, one in planned.items() if not accepts(self.accepted, name)}

    def _condition(self) -> str:
        if self.kept is not None:
            return self.kept
        return NOTHING_KEPT if self.ledger is None else self.ledger.kept_condition()

    def _compared(self, one: Observation, own: Collection[str]) -> Observation:
        """Without what may differ: what is accepted, and what the playbook itself sets."""
        kept = {
            name: value
            for name, value in one.conditions.items()
            if name not in own and not accepts(self.accepted, name)
        }
        return replace(one, conditions=kept)


def _apart(planned: Mapping[str, str], there: Mapping[str, str]) -> dict[str, str]:
    """What differs, by name; of conditions that are not planned nothing is known yet."""
    known = {name: value for name, value in there.items() if name in planned}
    return named_differences(planned, known)
