"""history: what several campaigns cost, came to, and taught about their restarts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from campaign.errors import CampaignError, Exit
from campaign.ledger.costs import Costs
from campaign.ledger.history import PlaybookRecord, RestartTimes
from campaign.ledger.reads import Ledger
from hypotheses.hypothesis import Standing

ANSWERS = (Standing.SUPPORTED, Standing.CONFIRMED)


class Past(Struct, frozen=True):
    """One campaign: its runs and costs, and how many hypotheses stand where.

    `to_answer` is how many restarts it took until a hypothesis was supported or confirmed for the
    first time, None where none has been.
    """

    path: Path
    name: str
    begun_at: float
    runs: int
    costs: Costs
    currency: str
    standings: Mapping[str, int]
    to_answer: int | None


class History(Struct, frozen=True):
    """Campaigns, the oldest first, with restart times and playbooks of all of them together.

    Playbooks are in the order of what they decided for each restart. `left_out` are ledgers that
    could not be read, or whose runs are all in another one, each with why; `twice` tells of runs
    that two ledgers have and that are counted for both.
    """

    campaigns: tuple[Past, ...]
    restarts: tuple[RestartTimes, ...]
    playbooks: tuple[PlaybookRecord, ...]
    left_out: tuple[str, ...]
    twice: tuple[str, ...]


class _Gathered(Struct):
    campaigns: list[Past] = field(default_factory=list)
    restarts: dict[tuple[str, int], RestartTimes] = field(default_factory=dict)
    playbooks: dict[tuple[str, str], PlaybookRecord] = field(default_factory=dict)

    def add(self, path: Path) -> None:
        with Ledger.open(path) as ledger:
            self.campaigns.append(_past(path, ledger))
            for times in ledger.restart_times():
                kind = times.services, times.batch
                known = self.restarts.get(kind)
                self.restarts[kind] = _together(known, times) if known else times
            for record in ledger.playbook_records():
                key = record.playbook, record.kind
                known_record = self.playbooks.get(key)
                self.playbooks[key] = _summed(known_record, record) if known_record else record


def history(places: Sequence[Path]) -> History:
    """Looks back at the ledgers that are `places`, or lie in them (campaign.db, at any depth).

    Errors: CampaignError (USAGE for a place that is not there, REFUSED where no ledger could be
    read).
    """
    gathered, left_out = _Gathered(), []
    runs: dict[Path, frozenset[str]] = {}
    for path in dict.fromkeys(found for place in places for found in _ledgers(place)):
        try:
            runs[path] = _run_ids(path)
        except CampaignError as error:
            left_out.append(str(error))
    copies = _copies(runs)
    for path in [one for one in runs if one not in copies]:
        try:
            gathered.add(path)
        except CampaignError as error:
            left_out.append(str(error))
    left_out += [f"{path}: all its runs are in {whole}, too" for path, whole in copies.items()]
    if not gathered.campaigns:
        raise CampaignError(Exit.REFUSED, left_out[0] if left_out else "there is no ledger there")
    return History(
        campaigns=tuple(sorted(gathered.campaigns, key=lambda one: one.begun_at)),
        restarts=tuple(sorted(gathered.restarts.values(), key=lambda one: -one.restarts)),
        playbooks=tuple(sorted(gathered.playbooks.values(), key=_worth, reverse=True)),
        left_out=tuple(left_out),
        twice=tuple(_twice({path: runs[path] for path in runs if path not in copies})),
    )


def _run_ids(path: Path) -> frozenset[str]:
    with Ledger.open(path) as ledger:
        return frozenset(ledger.run_ids())


def _copies(runs: Mapping[Path, frozenset[str]]) -> dict[Path, Path]:
    """Each ledger whose runs are all in another one, with that: ids are unique, so it is a copy.

    Of two that have the same runs the later one is the copy.
    """
    found: dict[Path, Path] = {}
    kept: list[Path] = []
    for path in sorted(runs, key=lambda one: -len(runs[one])):
        whole = next((one for one in kept if runs[path] and runs[path] <= runs[one]), None)
        if whole is None:
            kept.append(path)
        else:
            found[path] = whole
    return found


def _twice(runs: Mapping[Path, frozenset[str]]) -> Iterator[str]:
    for (one, its), (other, others) in combinations(runs.items(), 2):
        if both := len(its & others):
            have = "1 run" if both == 1 else f"{both} runs"
            yield f"{one} and {other} have {have} in common, counted for both"


def _ledgers(place: Path) -> Iterator[Path]:
    if not place.exists():
        raise CampaignError(Exit.USAGE, f"{place}: there is no such file or folder")
    if place.is_file():
        yield place.resolve()
    else:
        yield from sorted(path.resolve() for path in place.rglob("campaign.db"))


def _past(path: Path, ledger: Ledger) -> Past:
    campaign = ledger.campaign()
    standings: dict[str, int] = {}
    for one in ledger.hypotheses():
        standings[one.standing] = standings.get(one.standing, 0) + 1
    answered = [
        event.at
        for one in ledger.hypotheses()
        for event in ledger.events(one.slug)
        if event.kind == "standing" and event.standing in ANSWERS
    ]
    return Past(
        path=path,
        name=campaign.name if campaign else "",
        begun_at=campaign.created_at if campaign else 0.0,
        runs=ledger.run_count(),
        costs=ledger.total_cost(),
        currency=ledger.currency(),
        standings=standings,
        to_answer=ledger.restarts_until(min(answered)) if answered else None,
    )


def _together(one: RestartTimes, other: RestartTimes) -> RestartTimes:
    well = one.restarts - one.failed, other.restarts - other.failed

    def mean(first: float | None, second: float | None) -> float | None:
        sides = [
            (value, weight)
            for value, weight in zip((first, second), well, strict=True)
            if value is not None
        ]
        total = sum(weight for _, weight in sides)
        return sum(value * weight for value, weight in sides) / total if total else None

    return RestartTimes(
        one.services,
        one.restarts + other.restarts,
        one.failed + other.failed,
        mean(one.drain_s, other.drain_s),
        mean(one.down_s, other.down_s),
        mean(one.warmup_s, other.warmup_s),
        mean(one.downtime_s, other.downtime_s),
        one.batch,
    )


def _summed(one: PlaybookRecord, other: PlaybookRecord) -> PlaybookRecord:
    return replace(
        one,
        runs=one.runs + other.runs,
        false_starts=one.false_starts + other.false_starts,
        decided=one.decided + other.decided,
        restarts=one.restarts + other.restarts,
        downtime_s=one.downtime_s + other.downtime_s,
        money=one.money + other.money,
    )


def _worth(one: PlaybookRecord) -> tuple[float, int]:
    return one.decided / max(1, one.restarts), one.decided


def spent(campaigns: Iterable[Past]) -> dict[str, Costs]:
    """What campaigns cost together, by currency: money of two is not added up."""
    totals: dict[str, Costs] = {}
    for one in campaigns:
        so_far, costs = totals.get(one.currency, Costs(0, 0.0, 0.0, 0.0)), one.costs
        totals[one.currency] = so_far.plus(costs)
    return totals
