"""A run of the report as Markdown."""

from collections.abc import Iterable, Iterator

from campaign.ledger import records
from campaign.report.figures import costs_text, time_text, trials_text
from campaign.report.layout import bullets, heading, paragraph
from campaign.report.literal import code, fenced, prose
from campaign.report.runs import Change, RunPart, Trials

DIFF_LINES = 300
"""A diff longer than this is cut on the page, and says so."""


def run_blocks(run: RunPart, currency: str, width: int) -> Iterator[str]:
    """The blocks of a run's section: its facts, then the diffs that no earlier run has shown."""
    yield heading(3, prose(f"{run.record.id}: {run.outcome}"))
    yield "\n".join(run_facts(run, currency, width))
    yield from run_diffs(run, width)


def run_diffs(run: RunPart, width: int, most: int = DIFF_LINES) -> Iterator[str]:
    """The changes that no earlier run has shown, each of `most` lines at most."""
    for change in run.changes:
        if change.diff and not change.shown_by:
            yield paragraph(f"Change of {_where(change)}:", width)
            yield fenced(_cut(change.diff, run.record.id, most), "diff")


def run_facts(run: RunPart, currency: str, width: int) -> Iterator[str]:
    """What there is to say of a run, a list item each."""
    record = run.record
    speaks = f", for {', '.join(run.hypotheses)}" if run.hypotheses else ""
    yield _fact("Playbook", f"{record.playbook} ({record.kind}){speaks}", width)
    yield _fact("Started", f"{time_text(record.started_at)}, by: {record.command}", width)
    for name, text in (
        ("Question", record.question),
        ("Predicted if true", record.if_true),
        ("Predicted if false", record.if_false),
    ):
        if text.strip():
            yield _fact(name, text, width)
    yield from _changed(run, width)
    if run.conditions:
        conditions = (f"{name} {value}" for name, value in run.conditions.items())
        yield _fact("Conditions", ", ".join(conditions), width)
    yield _fact("Effect", "; ".join(run.effects) or "not read", width)
    yield from (_fact("Restart", fault, width) for fault in run.restart_faults)
    yield from (_fact("Trials", text, width) for text in _trials(run.trials))
    yield from (_fact("Split by", text, width) for text in run.splits)
    yield from (_fact("Latency", text, width) for text in run.latencies)
    if run.transcripts:
        yield _fact("Transcripts", run.transcripts, width)
    yield from (_fact("Mismatches", text, width) for text in run.mismatches)
    yield from _judged(run, width)
    yield _fact("Put back", run.put_back, width)
    yield _fact("Status", run.status, width)
    yield from _retracted(record, width)
    yield _fact("Cost", costs_text(run.costs, currency), width)


def _fact(name: str, text: str, width: int) -> str:
    return bullets([f"{name}: {prose(text)}"], width)


def _changed(run: RunPart, width: int) -> Iterator[str]:
    if not run.changes and not run.environment:
        yield _fact("Changed", "nothing", width)
    for change in run.changes:
        earlier = prose(f", as in {change.shown_by}") if change.shown_by else ""
        arms = f" ({prose(', '.join(change.arms))})" if change.arms else ""
        yield bullets([f"Changed: {_where(change)}{arms}{earlier}"], width)
    for service, names in run.environment.items():
        variables = ", ".join(map(code, names))
        yield bullets([f"Environment of {prose(service)}: {variables}"], width)


def _where(change: Change) -> str:
    return f"{code(change.path)} on {prose(change.host)}"


def _trials(trials: Iterable[Trials]) -> Iterator[str]:
    """The counts arm by arm; trials that do not count are told apart."""
    for one in trials:
        arm = f"{one.arm}: " if one.arm else ""
        if one.counts.total or not one.invalid:
            yield f"{arm}{trials_text(one.tally)}"
        for reason in one.invalid:
            yield f"{arm}{reason}"


def _judged(run: RunPart, width: int) -> Iterator[str]:
    if not run.judgements:
        yield _fact("Verdict", "none", width)
    discounted = "" if run.is_evidence else f" ({run.outcome}, does not count)"
    for one in run.judgements:
        about = f" on {prose(', '.join(one.hypotheses))}" if one.hypotheses else ""
        yield _fact(f"Verdict{about}", f"{one.verdict}{discounted}", width)
        if one.verdict.reasons:
            yield bullets(map(prose, one.verdict.reasons), width, indent="  ")
        if one.verdict.still_needed:
            yield _fact("Still needed", one.verdict.still_needed, width)


def _retracted(record: records.Run, width: int) -> Iterator[str]:
    if record.retracted is not None:
        when = "" if record.retracted_at is None else f" {time_text(record.retracted_at)}"
        yield _fact(f"Retracted{when}", record.retracted, width)


def _cut(diff: str, run: str, most: int) -> str:
    lines = diff.rstrip("\n").split("\n")
    if len(lines) <= most:
        return diff
    more = len(lines) - most
    kept = "\n".join(lines[:most])
    return f"{kept}\n... {more} more lines: 'campaign runs show {run}'"
