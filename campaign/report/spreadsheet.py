"""The report as CSV: a row for each boot, whose costs sum to the total of what is told."""

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from campaign.ledger.costs import BootLine
from campaign.report.content import Report
from campaign.report.runs import RunPart
from hypotheses.rates import wilson

HEADER = (
    *("run", "playbook", "kind", "hypotheses", "status", "verdict", "arm", "way_back", "effect"),
    *("started_at", "fail", "n", "censored", "counts", "rate", "rate_low", "rate_high"),
    *("restarts", "downtime_s", "lost_s", "occupied_s", "money", "currency"),
)


def page(report: Report) -> str:
    """A report's boots as CSV (RFC 4180); times are ISO 8601 in UTC, rates shares from 0 to 1.

    A text that a spreadsheet would take for a formula begins with an apostrophe.
    """
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(HEADER)
    runs = {run.record.id: run for run in report.runs}
    for line in report.boots:
        writer.writerow([_cell(one) for one in _row(line, runs, report.currency)])
    return written.getvalue()


def _row(line: BootLine, runs: Mapping[str, RunPart], currency: str) -> Iterator[object]:
    run = runs.get(line.run or "")
    yield from (line.run, line.playbook, line.kind)
    yield from (" ".join(run.hypotheses), run.record.status, run.outcome) if run else ("", "", "")
    yield from (line.arm, int(line.way_back), line.effect)
    yield datetime.fromtimestamp(line.started_at, UTC).isoformat(timespec="seconds")
    yield from (line.fail, line.n, line.censored, int(line.counts))
    yield from _rate(line)
    yield from (line.restarts, line.downtime_s, line.lost_s, line.occupied_s, line.money)
    yield currency


def _rate(line: BootLine) -> Iterator[object]:
    if not line.n:
        yield from ("", "", "")
        return
    interval = wilson(line.fail, line.n)
    yield from (line.fail / line.n, interval.low, interval.high)


def _cell(value: object) -> object:
    """Numbers and texts as they are, but for texts that a spreadsheet would calculate."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return f"'{value}"
    return value
