"""The report for an issue tracker: two tables, and a detail for each run that is opened at will.

GitHub-flavoured Markdown, in which a line break is one: nothing is wrapped.
"""

import re
from collections.abc import Iterator

from campaign.report.content import Report
from campaign.report.evidence import NO_FIGURES, Figures
from campaign.report.figures import costs_text
from campaign.report.layout import bullets, heading, paragraph
from campaign.report.literal import prose
from campaign.report.markdown_runs import run_diffs, run_facts
from campaign.report.markdown_tables import plain_table
from campaign.report.runs import RunPart
from campaign.report.standings import HypothesisPart

MOST_CHARACTERS = 65_000
"""An issue of GitHub takes 65,536."""
DIFF_LINES = 60
_UNWRAPPED = 1_000_000
_CALLS = re.compile(r"(?<![\w`])([@#])(?=\w)")


def page(report: Report) -> str:
    """A report that an issue can hold: what does not fit is left out, the oldest runs first."""
    head = "\n\n".join(_head(report))
    room = MOST_CHARACTERS - len(head)
    details: list[str] = []
    for run in reversed(report.runs):
        detail = _detail(run, report.currency)
        room -= len(detail) + 2
        if room < 0:
            break
        details.insert(0, detail)
    left_out = len(report.runs) - len(details)
    if left_out:
        details.insert(0, f"Details of {left_out} older runs are left out: they would not fit.")
    return "\n\n".join([head, *details]) + "\n"


def _head(report: Report) -> Iterator[str]:
    name = report.campaign or "Campaign"
    yield _quiet(heading(3, prose(f"{name}: {report.symptom}" if report.symptom else name)))
    summary = report.summary
    for sentence in (summary.baseline, summary.standings, report.answer, report.scope):
        if sentence:
            yield _quiet(paragraph(prose(sentence), _UNWRAPPED))
    if summary.attention:
        yield _quiet(bullets(map(prose, summary.attention), _UNWRAPPED))
    if report.hypotheses:
        yield _quiet(_hypotheses(report))
    if report.runs:
        yield _quiet(_runs(report))


def _hypotheses(report: Report) -> str:
    header = [
        "hypothesis",
        "standing",
        "latest evidence",
        "difference",
        "part of the cause",
        "cost",
    ]
    rows = []
    for one in report.hypotheses:
        figures = _latest(one)
        trials = f"{figures.trials} against {figures.control}" if figures.control else ""
        cells = [one.hypothesis.slug, one.hypothesis.standing, trials or figures.trials]
        cells += [figures.difference, one.posterior, costs_text(one.spent, report.currency)]
        rows.append(cells)
    return plain_table(header, rows)


def _latest(part: HypothesisPart) -> Figures:
    """The newest figures that counts were compared in; without such the newest with trials."""
    told = [one.figures for one in reversed(part.spoken)]
    compared = [one for one in told if one.span] or [one for one in told if one.trials]
    return compared[0] if compared else NO_FIGURES


def _runs(report: Report) -> str:
    rows = [
        [run.record.id, run.record.kind, run.in_short, run.outcome, run.put_back]
        for run in report.runs
    ]
    return plain_table(["run", "kind", "fail/n", "verdict", "put back"], rows)


def _detail(run: RunPart, currency: str) -> str:
    facts = _quiet("\n".join(run_facts(run, currency, _UNWRAPPED)))
    summary = _quiet(prose(f"{run.record.id}: {run.outcome}"))
    diffs = "".join(f"\n\n{block}" for block in run_diffs(run, _UNWRAPPED, DIFF_LINES))
    return f"<details><summary>{summary}</summary>\n\n{facts}{diffs}\n\n</details>"


def _quiet(text: str) -> str:
    """Without calling anybody's name or another issue's number: a blank of no width is put in."""
    return _CALLS.sub("\\1\u200b", text)
