"""The report as Markdown, for a terminal as much as for a page."""

from collections.abc import Callable, Iterable, Iterator

from campaign.report.content import Report, Version
from campaign.report.evidence import chance
from campaign.report.figures import money_text, seconds_text, time_text
from campaign.report.layout import bullets, heading, paragraph
from campaign.report.literal import code, fenced, prose
from campaign.report.markdown_costs import cost_blocks, timeline_blocks
from campaign.report.markdown_hypotheses import hypothesis_blocks
from campaign.report.markdown_runs import run_blocks
from campaign.report.markdown_tables import plain_table, priced_table
from campaign.report.runs import RunPart

DEFAULT_WIDTH = 100

_Section = Callable[[Report, int], Iterator[str]]


def page(report: Report, width: int = DEFAULT_WIDTH) -> str:
    """A report as Markdown, with a line break at its end.

    Text is wrapped to `width` columns; tables and diffs are never cut, and may be wider.
    """
    details = (_runs, _assumptions, _taken_back, _next, _again)
    return _told((*_IN_SHORT, *details), report, width)


def in_short(report: Report, width: int = DEFAULT_WIDTH) -> str:
    """The part of `page` that says where the campaign stands and what it cost, run by run."""
    return _told(_IN_SHORT, report, width)


def _told(sections: Iterable[_Section], report: Report, width: int) -> str:
    blocks = (block for section in sections for block in section(report, width))
    return "\n\n".join(blocks) + "\n"


def _summary(report: Report, width: int) -> Iterator[str]:
    yield heading(1, prose(report.campaign) or "Campaign")
    if report.symptom:
        yield paragraph(f"Symptom: {prose(report.symptom)}", width)
    summary = report.summary
    for sentence in (summary.baseline, summary.standings, summary.cost, report.scope):
        if sentence:
            yield paragraph(prose(sentence), width)
    if summary.attention:
        yield "**To look after:**"
        yield bullets(map(prose, summary.attention), width)


_IN_SHORT: tuple[_Section, ...] = (_summary, hypothesis_blocks, timeline_blocks, cost_blocks)


def _runs(report: Report, width: int) -> Iterator[str]:
    yield heading(2, f"Runs ({len(report.runs)})")
    if not report.runs:
        none = "None of these." if report.scope else "None yet: 'campaign run' executes playbooks."
        yield paragraph(prose(none), width)
        return
    if report.untold:
        yield paragraph(prose(report.untold_text), width)
    yield _run_table(report.runs)
    for run in report.runs:
        yield from run_blocks(run, report.currency, width)


def _run_table(runs: Iterable[RunPart]) -> str:
    rows = [[run.record.id, run.record.kind, run.in_short, _with_dirt(run)] for run in runs]
    return plain_table(["run", "kind", "fail/n", "verdict"], rows)


def _with_dirt(run: RunPart) -> str:
    return f"{run.outcome}, dirty" if run.record.state == "dirty" else run.outcome


def _assumptions(report: Report, width: int) -> Iterator[str]:
    if report.assumptions:
        yield heading(2, f"Assumptions ({len(report.assumptions)})")
        told = (f"{one.hypothesis}: {one.text} ({one.state})" for one in report.assumptions)
        yield bullets(map(prose, told), width)


def _taken_back(report: Report, width: int) -> Iterator[str]:
    """Runs that were retracted, and standings that an operator set, the overruled ones too."""
    if report.retractions:
        yield heading(2, f"Retracted runs ({len(report.retractions)})")
        told = (
            f"{time_text(run.retracted_at or run.started_at)}, {run.id}: {run.retracted}"
            for run in report.retractions
        )
        yield bullets(map(prose, told), width)
    if report.overrulings:
        yield heading(2, f"Standings set by the operator ({len(report.overrulings)})")
        told = (
            f"{time_text(one.at)}, {one.hypothesis} {one.standing}: {one.reason}"
            for one in report.overrulings
        )
        yield bullets(map(prose, told), width)


def _next(report: Report, width: int) -> Iterator[str]:
    outlook = report.outlook
    if not (outlook.proposals or outlook.notes):
        return
    yield heading(2, "Next")
    if outlook.notes:
        yield bullets(map(prose, outlook.notes), width)
    if outlook.none is not None:
        yield paragraph(prose(f"None of the listed: {chance(outlook.none)}."), width)
    if outlook.proposals:
        header = ["run", "removes", "trials", "takes", "bits", report.costs.money_name]
        rows = [
            [
                one.name,
                ", ".join(one.removes) or "nothing",
                str(one.trials),
                f"{'~' if one.guessed else ''}{seconds_text(one.seconds)}",
                f"{one.bits:.2f}" if one.removes else "-",
                money_text(one.money),
            ]
            for one in outlook.proposals
        ]
        yield priced_table(header, rows, (2, 3, 4, 5), report.costs.priced)


def _again(report: Report, width: int) -> Iterator[str]:
    """Each playbook at each version it was run at, with the commands that ran it."""
    if report.versions:
        yield heading(2, "How to reproduce each run")
    for one in report.versions:
        yield from _version(one, width)


def _version(one: Version, width: int) -> Iterator[str]:
    yield heading(3, prose(f"{one.playbook} at {one.sha256[:12]}"))
    yield "\n".join(
        bullets([f"{prose(run)}: {code(command)}"], width) for run, command in one.commands
    )
    if one.text:
        yield fenced(one.text, "yaml")
