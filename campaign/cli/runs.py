"""runs list, show, log, retract."""

import json
import shutil
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click

from campaign.cli import options
from campaign.cli.compare import compare_runs
from campaign.cli.odd_keys import kept_key, more
from campaign.cli.sessions import session_lines
from campaign.cli.text import columns, count, money, seconds, shown, spent, when
from campaign.ledger import records
from campaign.ledger.filtering import EVERY_RUN, RunFilter
from campaign.ledger.keeping import how_back, kept_edits
from campaign.ledger.naming import boot_name
from campaign.operations import control, transcripts
from campaign.operations import runs as operations
from campaign.operations.runs import Listed, Shown
from hypotheses.verdict import Word
from playbooks.env.values import told

STATUSES = ("running", "completed", "failed", "aborted", "interrupted")


@click.group()
def runs() -> None:
    """List, show, compare and retract runs; pause and stop those under way."""


runs.add_command(compare_runs)


@runs.command("list")
@click.option("-l", "--limit", type=click.IntRange(1), help="At most so many, the newest first.")
@click.option("--playbook", help="Only runs of this playbook.")
@click.option("--hypothesis", help="Only runs for this hypothesis; '(none)': for none.")
@click.option("--status", type=click.Choice(STATUSES), help="Only runs of this status.")
@click.option("--verdict", type=click.Choice(list(Word)), help="Only runs of this verdict.")
@click.option(
    "--text", default="", help="Only runs with this in their question, reasons, error or notes."
)
@options.as_json
@click.pass_context
def list_(
    context: click.Context,
    limit: int | None,
    playbook: str | None,
    hypothesis: str | None,
    status: str | None,
    verdict: str | None,
    text: str,
    as_json: bool,
) -> None:
    """List the runs, the newest first: those that every given option is true of."""
    wanted = RunFilter(playbook, hypothesis, status, verdict, text)
    found = operations.listed(options.workspace(context), limit, wanted)
    if as_json:
        options.print_json(found)
    elif not found:
        every = wanted == EVERY_RUN
        click.echo("no runs yet; campaign run PLAYBOOK makes one" if every else "no such runs")
    else:
        heads = ("run", "started", "status", "failed", "verdict", "down", "cost")
        click.echo(columns([heads, *map(_row, found)], right=(5, 6)))


def _row(one: Listed) -> tuple[str, ...]:
    run = one.run
    status = run.status if run.state == "clean" else f"{run.status}, dirty"
    return (
        run.id,
        when(run.started_at),
        "retracted" if run.retracted else "imported" if one.terms.imported_by else status,
        str(one.tally) if one.counts.n or one.tally.exposure else "-",
        _verdict(one),
        seconds(one.costs.downtime_s),
        money(one.costs.money, one.currency),
    )


def _verdict(one: Listed) -> str:
    if not one.verdicts:
        return "-"
    last = one.verdicts[-1]
    return f"{last.word}, {last.qualifier}" if last.qualifier else last.word


@runs.command()
@click.argument("run")
@click.option("-D", "--diff/--no-diff", default=True, help="Show the changes of files.")
@click.option("--session", type=int, metavar="N", help="Show this session of it, word for word.")
@options.as_json
@click.pass_context
def show(context: click.Context, run: str, diff: bool, session: int | None, as_json: bool) -> None:
    """Show one RUN whole: its id, a part of it, or its playbook, of which the newest is meant."""
    workspace = options.workspace(context)
    found = (
        operations.shown(workspace, run)
        if session is None
        else transcripts.session(workspace, run, session)
    )
    if as_json:
        options.print_json(found)
    elif isinstance(found, Shown):
        click.echo(shown("\n".join(_shown(found, diff))))
    else:
        click.echo(shown("\n".join(line for one in found for line in session_lines(one))))


def _shown(found: Shown, diff: bool) -> Iterator[str]:
    run = found.listed.run
    yield f"{run.id}: {run.status}, {run.state}  ({run.kind})"
    named = [
        ("question", run.question),
        ("if true", run.if_true),
        ("if false", run.if_false),
        ("hypotheses", ", ".join(found.listed.hypotheses)),
        ("started", when(run.started_at)),
        ("ended", when(run.ended_at)),
        ("command", run.command),
        ("variables", _variables(run.variables)),
        *_terms(found.listed.terms),
        ("error", run.error or ""),
        ("retracted", run.retracted or ""),
        ("cost", spent(found.listed.costs, found.listed.currency)),
    ]
    yield columns([(name, text) for name, text in named if text], indent="  ")
    yield from _steps(found)
    yield from _changes(found, diff)
    yield from _evidence(found)
    for verdict in found.listed.verdicts:
        about = f" on {verdict.hypothesis}" if verdict.hypothesis else ""
        qualifier = f", {verdict.qualifier}" if verdict.qualifier else ""
        yield f"verdict{about}: {verdict.word}{qualifier}"
        yield from (f"  - {reason}" for reason in verdict.reasons.splitlines())
        if verdict.still_needed:
            yield f"  still needed: {verdict.still_needed}"
    if found.artifacts:
        yield "kept (campaign runs log RUN [NAME]):"
        yield columns(list(_kept(found)), indent="  ", right=(1,))


def _kept(found: Shown) -> Iterator[tuple[str, str, str]]:
    """Each by a name that `runs log` finds it by: that of its file where several share theirs."""
    names = Counter(one.name for one in found.artifacts)
    at = {step.id: _at(found, step.boot) for step in found.steps}
    for one in found.artifacts:
        name = one.name if names[one.name] == 1 else Path(one.path).name
        yield name, count(one.bytes, "byte"), f"{one.path}{at.get(one.step or '', '')}"


def _at(found: Shown, boot: str) -> str:
    """Which boot of a run with several, such as ` [treatment 2]`."""
    named = boot_name(found.boots, boot)
    return f" [{named}]" if named else ""


def _terms(terms: records.RunTerms) -> Iterator[tuple[str, str]]:
    """What was fixed before the run, as far as there was a choice."""
    if terms.schedule or terms.blocks > 1:
        words = [terms.schedule] if terms.schedule else []
        words.append(count(terms.blocks, "block"))
        if terms.seed is not None:
            words.append(f"seed {terms.seed}")
        yield "order", ", ".join(words)
    if terms.accepted:
        yield "accepted", f"may differ: {', '.join(terms.accepted.splitlines())}"
    if terms.imported_by:
        yield "imported", f"by {terms.imported_by}"


def _variables(stored: str) -> str:
    """NAME=VALUE pairs of a JSON object; the text itself where redaction has broken it."""
    try:
        return ", ".join(f"{name}={told(value)}" for name, value in json.loads(stored).items())
    except ValueError:
        return stored


def _steps(found: Shown) -> Iterator[str]:
    yield "steps:"
    rows = []
    for step in found.steps:
        took = "-" if step.ended_at is None else seconds(step.ended_at - step.started_at)
        name = f"{step.name}{_at(found, step.boot)}"
        rows.append((f"{step.position}", name, step.status, took, step.detail, step.undo))
    if rows:
        yield columns(rows, right=(0, 3), indent="  ")


def _changes(found: Shown, diff: bool) -> Iterator[str]:
    if found.edits:
        yield "changed:"
    kept = kept_edits(found.edits, found.steps)
    alike: dict[tuple[str, str, str, str], list[str]] = {}
    for edit in found.edits:
        change = edit.host, edit.path, edit.diff, how_back(edit, kept, found.steps)
        alike.setdefault(change, []).append(_at(found, edit.boot))
    for (host, path, text, back), boots in alike.items():
        yield f"  {host}:{path}  {back}{''.join(boots)}"
        if diff:
            yield from (f"    {line}" for line in text.splitlines())
    for boot in found.boots:
        if boot.effect:
            yield f"effect{_at(found, boot.id)}: {boot.effect}"
            yield from (f"  - {reason}" for reason in boot.effect_reasons.splitlines())


def _evidence(found: Shown) -> Iterator[str]:
    for one in found.observations:
        tally = found.tallies.get(one.id)
        text = tally.rate if tally else "no trials"
        if tally and tally.counts.censored:
            text += f", {tally.counts.censored} censored"
        invalid = f"  INVALID: {one.invalid}" if one.invalid else ""
        why = f" ({one.stop_reason})" if one.stop_reason else ""
        where = _at(found, one.boot) or f" [{one.arm}]"
        yield f"observed{where} by {one.reproducer}: {text}{why}{invalid}"
    yield from (f"split by {split}" for split in found.splits)
    yield from map(str, found.latencies)
    if found.latencies:
        yield f"each session word for word: campaign runs show {found.listed.run.id} --session N"
    for comparison in found.comparisons:
        yield (
            f"compared{_at(found, comparison.boot)}: "
            f"{comparison.matched} match, {comparison.mismatched} mismatch, "
            f"{comparison.left_only} left only, {comparison.right_only} right only, "
            f"{comparison.duplicate} duplicate; coverage {comparison.coverage:.1%}"
            f"{f', {comparison.lost} lines lost' if comparison.lost else ''}"
        )
        contexts = found.contexts[comparison.id]
        for key in found.keys[comparison.id]:
            yield from kept_key(key, contexts.get(key.key))
        yield from more(comparison, [key.state for key in found.keys[comparison.id]])


@runs.command(short_help="Print what a run kept.")
@click.argument("run")
@click.argument("name", required=False)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Save it as this new file instead."
)
@click.pass_context
def log(context: click.Context, run: str, name: str | None, output: Path | None) -> None:
    """Print what a RUN kept under NAME (default: its reproducer's output, also under way)."""
    workspace = options.workspace(context)
    if output is not None:
        operations.save(workspace, run, name, output)
        return
    path = operations.log(workspace, run, name)
    with path.open("rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer)


@runs.command(short_help="Take the results of a run out of all judging.")
@click.argument("run")
@click.option("--reason", required=True, help="Why its results do not count; kept and shown.")
@options.as_json
@click.pass_context
def retract(context: click.Context, run: str, reason: str, as_json: bool) -> None:
    """Take the results of a RUN out of all judging; what it cost stays.

    Verdicts of later runs and standings that rested on it are judged again; the old ones are kept.
    """
    done = operations.retract(options.workspace(context), run, reason)
    options.tell_done(as_json, done, shown("\n".join(_retracted(done))))


def _retracted(done: operations.Retracted) -> Iterator[str]:
    yield f"retracted {done.run.id}"
    for again in done.rejudged:
        about = f" on {again.hypothesis}" if again.hypothesis else ""
        same = str(again.before) == str(again.after)
        how = f"still {again.after}, by other" if same else f"{again.before} -> {again.after}"
        yield f"{again.run}{about}: {how}{' numbers' if same else ''}"
    for one in done.moved:
        yield f"{one.hypothesis}: {one.before} -> {one.after}; {one.reason}"


@runs.command(short_help="Have a run stay as it is after its restart cycle.")
@click.argument("run")
@options.as_json
@click.pass_context
def pause(context: click.Context, run: str, as_json: bool) -> None:
    """Have a RUN stay as it is once the boot under way has been measured, before the next restart.

    The services stay up with its changes; that time is charged to the run. Ctrl-C or abort put
    everything back meanwhile.
    """
    one = control.pause(options.workspace(context), run)
    said = f"{one.id} pauses after this restart cycle; campaign runs resume {one.id} goes on"
    options.tell_done(as_json, {"run": one.id}, said)


@runs.command(short_help="Have a paused run go on.")
@click.argument("run")
@options.as_json
@click.pass_context
def resume(context: click.Context, run: str, as_json: bool) -> None:
    """Have a paused RUN go on, or take back that it was asked to pause."""
    one = control.resume(options.workspace(context), run)
    options.tell_done(as_json, {"run": one.id}, f"{one.id} goes on")


@runs.command(short_help="Have a run stop and put everything back.")
@click.argument("run")
@options.as_json
@click.pass_context
def abort(context: click.Context, run: str, as_json: bool) -> None:
    """Have a RUN stop and put everything back, as Ctrl-C in its terminal does."""
    one = control.abort(options.workspace(context), run)
    said = f"{one.id} was asked to stop; it puts everything back"
    options.tell_done(as_json, {"run": one.id}, said)
