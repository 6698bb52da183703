"""Trials, their counts, and the observation that holds them under its conditions."""

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from msgspec import Struct, field


class Result(StrEnum):
    """What a trial says: the failure showed, it did not, or it could not have shown yet."""

    PASS = "pass"
    FAIL = "fail"
    CENSORED = "censored"


class Trial(Struct, frozen=True):
    """One unit that can fail. `keys` join it to log lines; `seconds` is its duration.

    `attempts` is how often it tried, where one trial tries again until it fails. `attributes`
    are what else is known of it, as (name, value): its length, its model.
    """

    outcome: str
    result: Result
    ident: str | None = None
    keys: tuple[str, ...] = ()
    seconds: float | None = None
    attempts: float | None = None
    attributes: tuple[tuple[str, str], ...] = ()


class Counts(Struct, frozen=True):
    """How many trials failed, passed and were censored; censored ones count neither way."""

    fail: int = 0
    passed: int = 0
    censored: int = 0

    @property
    def n(self) -> int:
        """Trials that count: failed and passed."""
        return self.fail + self.passed

    @property
    def total(self) -> int:
        return self.n + self.censored

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.fail + other.fail, self.passed + other.passed, self.censored + other.censored
        )

    def __str__(self) -> str:
        return f"{self.fail}/{self.n}"


def count(trials: Iterable[Trial]) -> Counts:
    """The counts of `trials`."""
    tally = {Result.FAIL: 0, Result.PASS: 0, Result.CENSORED: 0}
    for trial in trials:
        tally[trial.result] += 1
    return Counts(tally[Result.FAIL], tally[Result.PASS], tally[Result.CENSORED])


def like_the_newest(observations: Sequence["Observation"]) -> tuple["Observation", ...]:
    """Those under the conditions of the last one; an imported one only where there is no other."""
    newest = ([one for one in observations if not one.imported] or observations)[-1:]
    return tuple(one for one in observations if any(one.conditions == n.conditions for n in newest))


def held_against(
    observations: Sequence["Observation"], planned: Iterable[Mapping[str, str]]
) -> tuple["Observation", ...]:
    """Of baselines, oldest first, those under the conditions that most of `planned` ask for.

    They are all alike; where as many ask for others, the newer ones; none where no plan fits any.
    """
    fits = [
        [at for at, one in enumerate(observations) if wanted.items() <= one.conditions.items()]
        for wanted in planned
    ]
    most = max(filter(None, fits), key=lambda places: (fits.count(places), places[-1]), default=[])
    return like_the_newest([observations[at] for at in most])


def early_stops(observations: Iterable["Observation"]) -> tuple[str, ...]:
    """How rules ended some of the observations early, in brief."""
    return tuple(one.stop.early for one in observations if one.stop and one.stop.early)


def pooled(observations: Iterable["Observation"]) -> Counts:
    """The counts of several observations together."""
    return sum((one.counts for one in observations), Counts())


class Stopping(Struct, frozen=True):
    """How an observation ended that had a rule for an early stop; `told` is that in full.

    `early` is the same in brief, empty where the rule did not end it. `stands`: its counts may be
    compared as if their number had been fixed before.
    """

    told: str
    early: str = ""
    stands: bool = True


class Observation(Struct, frozen=True):
    """The trials of one reproducer execution in one boot.

    `restart` names the restart cycle (the cluster) it belongs to; `conditions` maps the name
    of each recorded condition to its value, as text. `exposure` is what its trials ran in all,
    in `unit`; None where its reproducer measures none. `imported`: nothing of ours ran it.
    """

    counts: Counts
    restart: str
    run: str = ""
    playbook: str = ""
    arm: str = ""
    conditions: Mapping[str, str] = field(default_factory=dict)
    stop: Stopping | None = None
    exposure: float | None = None
    unit: str = ""
    imported: bool = False
