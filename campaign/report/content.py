"""What the report says, as plain data: numbers and sentences, in no format yet.

A format turns a `Report` into a page. All its texts are plain: whatever a format gives a meaning
to must be escaped by it.
"""

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from campaign.ledger import records
from campaign.ledger.costs import BootLine
from campaign.ledger.reads import Ledger
from campaign.report.costs import CostPart, DeadEnd, collect_costs, dearest
from campaign.report.figures import costs_text, counted
from campaign.report.outlook import Outlook
from campaign.report.runs import RunPart, collect_runs
from campaign.report.scope import Scope
from campaign.report.standings import (
    GROUPS,
    Assumption,
    Decision,
    HypothesisPart,
    collect_hypotheses,
)
from campaign.report.summary import Summary, collect_summary
from campaign.report.timeline import Timeline, collect_timeline
from hypotheses.hypothesis import Standing
from hypotheses.verdict import Word

MOST_RUNS = 200
"""The newest runs are told whole, as many as this; a page with more is read by nobody."""


class Version(Struct, frozen=True):
    """A playbook as it was run, and the commands that ran it, each with the first run it made."""

    playbook: str
    sha256: str
    text: str
    variables: str
    commands: tuple[tuple[str, str], ...]


class Report(Struct, frozen=True):
    """A campaign's report, in the order a reader needs it; runs are oldest first.

    `scope` says in a sentence which runs are told, where not all are; `untold` counts older ones
    that are in all numbers but have no section of their own. `boots` are those of the runs that
    are told.
    """

    campaign: str
    symptom: str
    scope: str
    summary: Summary
    hypotheses: tuple[HypothesisPart, ...]
    timeline: Timeline
    costs: CostPart
    runs: tuple[RunPart, ...]
    untold: int
    boots: tuple[BootLine, ...]
    outlook: Outlook

    @property
    def currency(self) -> str:
        return self.costs.currency

    @property
    def groups(self) -> dict[str, tuple[HypothesisPart, ...]]:
        """What is known, ruled out and open; what was set aside only where something was."""
        found = {
            title: tuple(one for one in self.hypotheses if one.hypothesis.standing in standings)
            for title, standings in GROUPS.items()
        }
        return {title: some for title, some in found.items() if some or title != "Set aside"}

    @property
    def answer(self) -> str:
        """What the answer cost in all, or that there is none yet."""
        known = [one.hypothesis for one in self.groups["What is known"]]
        spent = costs_text(self.costs.total, self.currency)
        if not known:
            return f"There is no answer yet; so far it cost {spent}."
        named = ", ".join(f"{one.slug} is {one.standing}" for one in known)
        return f"{named}: the answer cost {spent} in all."

    @property
    def untold_text(self) -> str:
        older = counted(self.untold, "older run")
        return (
            f"The newest {len(self.runs)} are told here; {older} not: `--run`, `--hypothesis` or"
            " `--since` tell others, and `--format csv` has them all."
        )

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        return tuple(one for part in self.hypotheses for one in part.assumptions)

    @property
    def overrulings(self) -> tuple[Decision, ...]:
        """Standings that an operator set, oldest first."""
        found = (decision for one in self.hypotheses for decision in one.by_operator)
        return tuple(sorted(found, key=lambda one: one.at))

    @property
    def retractions(self) -> tuple[records.Run, ...]:
        """Runs whose results were taken back."""
        return tuple(run.record for run in self.runs if run.record.retracted is not None)

    @property
    def versions(self) -> tuple[Version, ...]:
        """What was run, to be run again: each playbook once at each version and its variables."""
        return tuple(_versions(self.runs))


def collect(
    ledger: Ledger,
    scope: Scope | None = None,
    outlook: Outlook | None = None,
    most: int | None = MOST_RUNS,
) -> Report:
    """What there is to say about the runs of `scope` in a ledger; the newest `most` of them whole.

    Errors: CampaignError.
    """
    scope, outlook = scope or Scope(), outlook or Outlook()
    campaign = ledger.campaign()
    places = scope.places(ledger)
    told = [*reversed(ledger.runs_at(places[:most]).values())]
    ids = [run.id for run in told]
    spent = ledger.hypothesis_costs()
    costs = collect_costs(ledger, places, ids, spent if scope.is_whole else None)
    runs = collect_runs(ledger, told, {one.name: one.costs for one in costs.by_run})
    everyone = collect_hypotheses(ledger, runs, spent, outlook.parts)
    hypotheses = _within(scope, everyone, runs)
    costs = replace(costs, dead_ends=dearest(_dead_ends(runs, hypotheses)))
    untold = len(places) - len(told)
    boots = ledger.boot_lines(None if scope.is_whole and not untold else ids)
    decisions = [one for part in hypotheses for one in part.decisions]
    return Report(
        campaign=campaign.name if campaign else "",
        symptom=campaign.symptom if campaign else "",
        scope=scope.text(len(places), ledger.run_count()),
        summary=collect_summary(ledger, scope, everyone, len(places), costs),
        hypotheses=hypotheses,
        timeline=collect_timeline(boots, runs, decisions, outlook.epochs, costs),
        costs=costs,
        runs=runs,
        untold=untold,
        boots=boots,
        outlook=outlook,
    )


def _within(
    scope: Scope, hypotheses: Sequence[HypothesisPart], runs: Iterable[RunPart]
) -> tuple[HypothesisPart, ...]:
    """The hypotheses that the scope is about: its own, those of its run, or all."""
    slugs = {slug for run in runs for slug in run.hypotheses} if scope.run else None
    return tuple(
        one
        for one in hypotheses
        if scope.hypothesis in (None, one.hypothesis.slug)
        and (slugs is None or one.hypothesis.slug in slugs)
    )


def _dead_ends(runs: Iterable[RunPart], hypotheses: Iterable[HypothesisPart]) -> Iterator[DeadEnd]:
    """Runs that count for nothing, and hypotheses that were given up."""
    for run in runs:
        invalid = run.judgements and all(one.verdict.word is Word.INVALID for one in run.judgements)
        if invalid or (not run.is_evidence and run.record.status != "running"):
            yield DeadEnd(run.record.id, run.outcome, run.costs)
    for one in hypotheses:
        if one.hypothesis.standing in (Standing.REFUTED, Standing.ABANDONED):
            yield DeadEnd(one.hypothesis.slug, one.hypothesis.standing, one.spent)


def _versions(runs: Iterable[RunPart]) -> Iterator[Version]:
    alike: dict[tuple[str, str, str], list[records.Run]] = {}
    for run in runs:
        record = run.record
        key = record.playbook, record.playbook_sha256, record.variables
        alike.setdefault(key, []).append(record)
    for (playbook, sha256, variables), some in alike.items():
        commands = tuple((one.id, one.command) for one in some)
        yield Version(playbook, sha256, some[0].playbook_text, variables, commands)
