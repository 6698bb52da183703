"""What restarts would cost by this ledger's own boots: one estimate for plan, power and next."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from campaign.engine.budget import Price
from campaign.engine.conditions import first_conditions
from campaign.ledger.costs import Pace
from campaign.ledger.reads import Ledger
from campaign.operations.elsewhere import elsewhere
from campaign.operations.showing import trials_of
from playbooks.combination import JOINED_BY
from playbooks.plan import GUESSED_DOWNTIME_S, GUESSED_MEASURE_S, Boot, Took
from playbooks.playbook import Playbook, Restart
from playbooks.rollout import batches, expand, shares
from playbooks.system import System


class Prices(Struct, frozen=True):
    """Prices by the pace of a playbook's own past runs, else of all, else by a stated guess.

    `commands` is what each playbook drives: trials of another command took something else.
    `services` is what each restarts: where the ledger has no restarts yet, those of other campaigns
    tell how long they are down. `rolling` are those that restart in batches and stay up.
    """

    ledger: Ledger | None
    system: System
    commands: Mapping[str, str]
    services: Mapping[str, frozenset[str]]
    rolling: frozenset[str] = frozenset()

    @classmethod
    def by(cls, ledger: Ledger | None, system: System, playbooks: Iterable[Playbook]) -> "Prices":
        """Prices for these playbooks."""
        known = tuple(playbooks)
        driven = {one.name: first_conditions(system, one).get("command", "") for one in known}
        restarted = {one.name: _restarted(system, one) for one in known}
        rolling = frozenset(one.name for one in known if _stays_up(system, one))
        return cls(ledger, system, driven, restarted, rolling)

    def of(self, playbooks: Sequence[str], trials: int, boots: int = 1, back: int = 1) -> Price:
        """Of `boots` restarts with `trials` in all after them, and a way `back` of one or none.

        Of several `playbooks` in one restart the slowest sets the pace.
        """
        pace = self.pace(playbooks)
        known = pace or self._guess(playbooks, trials)
        seconds = boots * known.restart_s + trials * known.trial_s + back * _back(known)
        down = boots * known.down_s + back * (known.back_down_s or known.down_s)
        money = self.system.cost.money(down, seconds)
        return Price(boots + back, seconds, down, money, pace is None)

    def took(self, boot: Boot) -> Took | None:
        """What such a boot takes, in a plan; None where only a guess can be had."""
        took = self._took(boot)
        if took is None or not any(self.system.services[one].replicas for one in boot.services):
            return took
        known = self.ledger.rollouts(boot.services, boot.batch) if self.ledger else None
        if known is None:
            return self._by_start(boot, took)
        besides = took.seconds - known.downtime_s
        return Took(known.downtime_s, besides, took.guessed, known.lost_s)

    def _by_start(self, boot: Boot, took: Took) -> Took:
        """By how long a replica takes to start, in whichever batches, where that is known."""
        down, lost = shares(boot.services, boot.batches, self.system.replicas)
        known = self.ledger.rollouts(boot.services) if self.ledger and lost else None
        start = known.lost_s / lost if known else took.down_s or GUESSED_DOWNTIME_S
        guessed = took.guessed or known is None
        return Took(down * start, took.seconds - down * start, guessed, lost * start)

    def _took(self, boot: Boot) -> Took | None:
        if not boot.services and not boot.drives:
            return Took(0.0, 0.0)
        pace = self.pace(boot.playbook.name.split(JOINED_BY) if boot.playbook else ())
        if pace is None:
            past = elsewhere(self.system, boot.services, boot.batch)
            measured = GUESSED_MEASURE_S if boot.drives else 0.0
            return Took(past.downtime_s, measured, guessed=True) if past else None
        if boot.playbook is None:
            down = pace.back_down_s or pace.down_s
            return Took(down, _back(pace) - down)
        planned = trials_of(self.system, boot) or self.system.statistics.max_trials
        driving = planned * pace.trial_s if boot.drives else 0.0
        if not boot.services:
            return Took(0.0, driving)
        return Took(pace.down_s, pace.restart_s - pace.down_s + driving)

    def pace(self, playbooks: Sequence[str]) -> Pace | None:
        """Of the slowest of several playbooks in one restart; of any where none of them ran."""
        if self.ledger is None:
            return None
        names = (JOINED_BY.join(playbooks), *playbooks)
        command = next((self.commands[one] for one in names if one in self.commands), "")
        own = [pace for one in playbooks if (pace := self.ledger.pace(one, command))]
        slowest = max(own, key=lambda one: one.restart_s, default=None)
        return slowest or self.ledger.pace(None, command) or self.ledger.pace()

    def past(self, restarts: Iterable[Iterable[str]]) -> tuple[str, ...]:
        """Where the times of `restarts` (each its services) come from, if not from this ledger."""
        if self.pace(()) is not None:
            return ()
        found = [
            elsewhere(self.system, services) for services in dict.fromkeys(map(frozenset, restarts))
        ]
        return tuple(f"restart times of {one}" for one in found if one)

    def _guess(self, playbooks: Sequence[str], trials: int) -> Pace:
        services = {name for one in playbooks for name in self.services.get(one, ())}
        past = elsewhere(self.system, services)
        down = past.downtime_s if past else GUESSED_DOWNTIME_S
        took = 0.0 if playbooks and self.rolling.issuperset(playbooks) else down
        return Pace(down, GUESSED_MEASURE_S / max(1, trials), down, took, took)


def _restarted(system: System, playbook: Playbook) -> frozenset[str]:
    """The services that a playbook restarts, with the rest of their groups."""
    named = (one.action.services for one in playbook.steps if isinstance(one.action, Restart))
    return frozenset(expand(system, {name for services in named for name in services}))


def _stays_up(system: System, playbook: Playbook) -> bool:
    """Whether no restart of it takes all replicas of a service down."""
    restarts = [one.action for one in playbook.steps if isinstance(one.action, Restart)]
    planned = [(expand(system, one.services), one.batch) for one in restarts]
    turns = [batches(names, system.restart_groups, batch) for names, batch in planned]
    return bool(restarts) and not any(
        shares(names, turn, system.replicas)[0]
        for (names, _), turn in zip(planned, turns, strict=True)
    )


def _back(pace: Pace) -> float:
    return pace.back_s or pace.restart_s
