"""What a restart that could be next would cost, by this ledger's own cycles."""

from collections.abc import Sequence
from dataclasses import dataclass

from campaign.engine.budget import Price
from campaign.ledger.costs import Pace
from campaign.ledger.reads import Ledger
from playbooks.plan import GUESSED_DOWNTIME_S, GUESSED_MEASURE_S
from playbooks.system import Cost


@dataclass(frozen=True)
class Prices:
    """Prices by the pace of a playbook's own past runs, else of all, else by a stated guess."""

    ledger: Ledger
    cost: Cost

    def of(self, playbooks: Sequence[str], trials: int, boots: int = 1, back: int = 1) -> Price:
        """Of `boots` restarts with `trials` in all after them, and a way `back` of one or none.

        Of several `playbooks` in one restart the slowest sets the pace.
        """
        pace = self._pace(playbooks)
        known = pace or _guess(trials)
        seconds = boots * known.restart_s + trials * known.trial_s + back * _back(known)
        down = boots * known.down_s + back * (known.back_down_s or known.down_s)
        return Price(boots + back, seconds, down, self.cost.money(down, seconds), pace is None)

    def _pace(self, playbooks: Sequence[str]) -> Pace | None:
        own = [pace for one in playbooks if (pace := self.ledger.pace(one))]
        return max(own, key=lambda one: one.restart_s) if own else self.ledger.pace()


def _back(pace: Pace) -> float:
    return pace.back_s or pace.restart_s


def _guess(trials: int) -> Pace:
    down = GUESSED_DOWNTIME_S
    return Pace(down, GUESSED_MEASURE_S / max(1, trials), down, down, down)
