"""How the campaign went: the rate after each restart, what happened in between, the spend."""

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from campaign.ledger.costs import BootLine, Costs
from campaign.report.costs import CostPart
from campaign.report.figures import money_text, seconds_text, time_text, trials_in_short
from campaign.report.runs import RunPart
from campaign.report.standings import Decision
from hypotheses.observation import Counts
from hypotheses.tally import Tally

UNCHANGED = "nothing changed"
"""The series of boots that are the system as it is."""


class Point(Struct, frozen=True):
    """A boot with trials, and all that was spent up to its end.

    `series` is its arm, or the kind of its playbook where it has none; `trials` are the counts
    with what they allow, or `by_exposure` what they failed in.
    """

    at: float
    run: str
    series: str
    counts: Counts
    trials: str
    by_exposure: bool
    is_evidence: bool
    money: float
    downtime_s: float


class Mark(Struct, frozen=True):
    """Something that happened between boots."""

    at: float
    text: str


class Entry(Struct, frozen=True):
    """A line of the timeline as text; a mark has neither trials nor `counts` nor `spent`.

    The last one is the sum, with the ways back: it has no time, no trials and no `counts`.
    """

    at: str
    what: str
    trials: str = ""
    counts: str = ""
    spent: str = ""


class Timeline(Struct, frozen=True):
    """Points and marks, each oldest first, and the `total` that was spent, ways back included.

    The spend is money in `currency`; where that is None nothing has a price, and it is downtime.
    """

    points: tuple[Point, ...]
    marks: tuple[Mark, ...]
    total: Costs
    currency: str | None

    @property
    def unit(self) -> str:
        """What the spend is counted in."""
        return "seconds down" if self.currency is None else self.currency or "money"

    def spent(self, by: Point | Costs) -> float:
        return by.downtime_s if self.currency is None else by.money

    def spent_text(self, by: Point | Costs) -> str:
        if self.currency is None:
            return f"{seconds_text(by.downtime_s)} down"
        return f"{money_text(by.money)} {self.currency}".rstrip()

    def entries(self) -> tuple[Entry, ...]:
        """Points and marks in the order they happened, then the sum where there are points."""
        rows = [(point.at, self._entry(point)) for point in self.points]
        rows += [(mark.at, Entry(_minute(mark.at), mark.text)) for mark in self.marks]
        told = [entry for _, entry in sorted(rows, key=lambda row: row[0])]
        if self.points:
            total = self.spent_text(self.total)
            told.append(Entry("", "in all, with every way back", spent=total))
        return tuple(told)

    def _entry(self, point: Point) -> Entry:
        return Entry(
            _minute(point.at),
            f"{point.run} ({point.series})",
            point.trials,
            "yes" if point.is_evidence else "no",
            self.spent_text(point),
        )


def collect_timeline(
    boots: Sequence[BootLine],
    runs: Sequence[RunPart],
    decisions: Iterable[Decision],
    epochs: Collection[str],
    costs: CostPart,
) -> Timeline:
    """The `boots` of `runs`, after what older ones cost; with those of `epochs` the rate moved."""
    points = tuple(_points(boots, costs.older))
    marks = sorted(_marks(runs, decisions, epochs), key=lambda one: one.at)
    return Timeline(points, tuple(marks), costs.total, costs.currency if costs.priced else None)


def _points(lines: Sequence[BootLine], before: Costs) -> Iterator[Point]:
    """The boots with trials, each with all that was spent by its end."""
    money, downtime = before.money, before.downtime_s
    for line in lines:
        money, downtime = money + line.money, downtime + line.downtime_s
        if line.run is not None and line.n + line.censored:
            counts = Counts(line.fail, line.n - line.fail, line.censored)
            yield Point(
                at=line.started_at,
                run=line.run,
                series=_series(line),
                counts=counts,
                trials=trials_in_short(_tally(line, counts)),
                by_exposure=line.exposure is not None,
                is_evidence=line.counts,
                money=money,
                downtime_s=downtime,
            )


def _tally(line: BootLine, counts: Counts) -> Tally:
    stopped = (line.stopped,) if line.stopped else ()
    return Tally(counts, stopped, line.exposure, line.unit or "")


def _series(line: BootLine) -> str:
    if not line.toggles:
        return UNCHANGED if line.kind != "detector" else "detector"
    return line.arm or line.kind or ""


def _marks(
    runs: Iterable[RunPart], decisions: Iterable[Decision], epochs: Collection[str]
) -> Iterator[Mark]:
    for run in runs:
        record = run.record
        if record.id in epochs:
            yield Mark(record.started_at, "the baseline's rate moved")
        if record.retracted is not None and record.retracted_at is not None:
            yield Mark(record.retracted_at, f"{record.id} retracted")
        if record.state == "dirty":
            yield Mark(record.ended_at or record.started_at, f"{record.id} left dirty")
    for one in decisions:
        by = " by the operator" if one.by == "operator" else ""
        yield Mark(one.at, f"{one.hypothesis} {one.standing}{by}")


def _minute(at: float) -> str:
    """A time without its seconds, UTC."""
    return time_text(at)[:16]
