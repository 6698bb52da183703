"""The report as Markdown, for a terminal as much as for a page."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from campaign.ledger.reads import Ledger
from campaign.report.content import Report, collect
from campaign.report.costs import CostPart, Spent
from campaign.report.figures import money_text, seconds_text, time_text
from campaign.report.layout import bullets, heading, paragraph, table
from campaign.report.literal import cell, prose
from campaign.report.markdown_runs import run_blocks
from campaign.report.runs import RunPart
from campaign.report.standings import Decision, HypothesisPart, Spoken

DEFAULT_WIDTH = 100


def render(ledger: Ledger, *, width: int = DEFAULT_WIDTH) -> str:
    """The report of the campaign in `ledger`, from the ledger alone.

    Text is wrapped to `width` columns; tables and diffs are never cut, and may be wider.
    Errors: CampaignError when the ledger cannot be read.
    """
    return page(collect(ledger), width)


def page(report: Report, width: int = DEFAULT_WIDTH) -> str:
    """A collected report as Markdown, with a line break at its end."""
    sections: tuple[Callable[[Report, int], Iterator[str]], ...] = (
        _summary,
        _hypotheses,
        _runs,
        _costs,
        _assumptions,
        _decisions,
    )
    blocks = (block for section in sections for block in section(report, width))
    return "\n\n".join(blocks) + "\n"


def _summary(report: Report, width: int) -> Iterator[str]:
    yield heading(1, prose(report.campaign) or "Campaign")
    if report.symptom:
        yield paragraph(f"Symptom: {prose(report.symptom)}", width)
    summary = report.summary
    for sentence in (summary.baseline, summary.standings, summary.cost):
        yield paragraph(prose(sentence), width)
    if summary.attention:
        yield "**To look after:**"
        yield bullets(map(prose, summary.attention), width)


def _hypotheses(report: Report, width: int) -> Iterator[str]:
    yield heading(2, f"Hypotheses ({len(report.hypotheses)})")
    if not report.hypotheses:
        yield paragraph(prose("None yet: 'campaign hypothesis add' takes one."), width)
        return
    yield _hypothesis_table(report.hypotheses, report.costs)
    yield paragraph(
        prose("fail/n: trials of all completed runs and arms together; no rate follows from it."),
        width,
    )
    for one in report.hypotheses:
        if one.spoken:
            yield from _hypothesis(one, width)
    untested = [one for one in report.hypotheses if not one.spoken]
    if untested:
        yield heading(3, "Not tested yet")
        yield bullets((_claim(one) for one in untested), width)


def _hypothesis_table(parts: Sequence[HypothesisPart], costs: CostPart) -> str:
    header = ["hypothesis", "standing", "verdicts", "fail/n", "restarts", "downtime"]
    rows = [
        [
            one.hypothesis.slug,
            one.hypothesis.standing + (" (by operator)" if one.overruled else ""),
            one.in_short,
            f"{one.costs.fail}/{one.costs.n}" if one.costs.n else "-",
            str(one.costs.restarts),
            seconds_text(one.costs.downtime_s),
            money_text(one.costs.money),
        ]
        for one in parts
    ]
    return _priced_table([*header, _money_name(costs)], rows, (3, 4, 5, 6), costs.priced)


def _hypothesis(part: HypothesisPart, width: int) -> Iterator[str]:
    yield heading(3, prose(f"{part.hypothesis.slug}: {part.hypothesis.standing}"))
    yield paragraph(prose(part.hypothesis.claim), width)
    if part.latest:
        yield paragraph(_decided(part.latest), width)
    yield bullets(map(_spoken, part.spoken), width)
    if part.still_needed:
        yield "Still needed:"
        yield bullets(map(prose, part.still_needed), width)


def _claim(part: HypothesisPart) -> str:
    standing = "" if part.latest is None else f" ({part.hypothesis.standing})"
    return prose(f"{part.hypothesis.slug}{standing}: {part.hypothesis.claim}")


def _decided(decision: Decision) -> str:
    who = "the operator" if decision.by == "operator" else "the rules"
    return prose(f"{decision.standing.capitalize()}, by {who}: {decision.reason}")


def _spoken(spoken: Spoken) -> str:
    reasons = f": {'; '.join(spoken.reasons)}" if spoken.reasons else ""
    return prose(f"{spoken.run} ({spoken.kind}): {spoken.outcome}{reasons}")


def _runs(report: Report, width: int) -> Iterator[str]:
    yield heading(2, f"Runs ({len(report.runs)})")
    if not report.runs:
        yield paragraph(prose("None yet: 'campaign run' executes playbooks."), width)
        return
    yield _run_table(report.runs)
    for run in report.runs:
        yield from run_blocks(run, report.currency, width)


def _run_table(runs: Iterable[RunPart]) -> str:
    rows = [[run.record.id, run.record.kind, run.in_short, _with_dirt(run)] for run in runs]
    return _table(["run", "kind", "fail/n", "verdict"], rows)


def _with_dirt(run: RunPart) -> str:
    return f"{run.outcome}, dirty" if run.record.state == "dirty" else run.outcome


def _costs(report: Report, width: int) -> Iterator[str]:
    costs = report.costs
    yield heading(2, "Cost")
    if not costs.by_run:
        yield paragraph(prose("Nothing yet."), width)
        return
    yield _cost_table("run", costs.by_run, costs)
    yield _cost_table("hypothesis", costs.by_hypothesis, costs)
    if costs.shared_restarts:
        text = "A restart shared by several hypotheses counts for each; the total counts it once."
        yield paragraph(prose(text), width)
    yield _cost_table("kind", costs.by_kind, costs)


def _cost_table(what: str, parts: Iterable[Spent], costs: CostPart) -> str:
    rows = [
        [
            one.name,
            str(one.costs.restarts),
            seconds_text(one.costs.downtime_s),
            seconds_text(one.costs.occupied_s),
            money_text(one.costs.money),
        ]
        for one in (*parts, Spent("total", costs.total))
    ]
    header = [what, "restarts", "downtime", "occupied", _money_name(costs)]
    return _priced_table(header, rows, (1, 2, 3, 4), costs.priced)


def _priced_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int], priced: bool
) -> str:
    """A table whose last column is money, without that column where nothing has a price."""
    if priced:
        return _table(header, rows, right)
    return _table(header[:-1], [row[:-1] for row in rows], right[:-1])


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    return table([*map(cell, header)], [[*map(cell, row)] for row in rows], right)


def _money_name(costs: CostPart) -> str:
    return costs.currency or "money"


def _assumptions(report: Report, width: int) -> Iterator[str]:
    found = [
        prose(f"{one.hypothesis.slug}: {assumption}")
        for one in report.hypotheses
        for assumption in one.hypothesis.assumptions
    ]
    if found:
        yield heading(2, f"Assumptions ({len(found)})")
        yield bullets(found, width)


def _decisions(report: Report, width: int) -> Iterator[str]:
    """Standings that an operator set, the overruled ones too."""
    found = [decision for one in report.hypotheses for decision in one.by_operator]
    if found:
        yield heading(2, f"Standings set by the operator ({len(found)})")
        yield bullets(
            (
                prose(f"{time_text(one.at)}, {one.hypothesis} {one.standing}: {one.reason}")
                for one in sorted(found, key=lambda one: one.at)
            ),
            width,
        )
