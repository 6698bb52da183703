"""status and report: read from the ledger, quick to start."""

from collections.abc import Iterator
from pathlib import Path

import click

from campaign.cli import options
from campaign.cli.text import GLYPHS, columns, count, money, seconds, shown, spent, when
from campaign.errors import CampaignError, Exit
from campaign.operations import status as reading
from campaign.operations.status import Status


@click.command()
@options.as_json
@click.pass_context
def status(context: click.Context, as_json: bool) -> None:
    """Show the campaign, its hypotheses, what they cost, and what was left undone."""
    found = reading.status(options.workspace(context))
    if as_json:
        options.print_json(found)
        return
    click.echo("\n".join(_lines(found)))


def _lines(found: Status) -> Iterator[str]:
    name = found.campaign.name if found.campaign else "(not run yet)"
    currency = found.campaign.currency if found.campaign else ""
    yield shown(f"{name} | {count(found.runs, 'run')} | {spent(found.total, currency)}")
    if found.campaign and found.campaign.symptom:
        yield shown(f"symptom: {found.campaign.symptom}")
    empty = "not measured yet; a playbook of kind baseline does it"
    yield f"baseline: {found.tally if found.baseline.total else empty}"
    for run in found.running:
        yield shown(f"running: {run.id} since {when(run.started_at)} (pid {run.owner_pid})")
    for run in found.left:
        what = "could not be put back whole" if run.state == "dirty" else "was interrupted"
        yield shown(f"! {run.id} {what}; run: campaign recover")
    yield ""
    yield from _hypotheses(found, currency)


def _hypotheses(found: Status, currency: str) -> Iterator[str]:
    if not found.hypotheses:
        yield "no hypotheses yet; add one: campaign hypothesis add SLUG --claim '...'"
        return
    rows = [("", "hypothesis", "standing", "fail/n", "restarts", "down", "cost")]
    for one in found.hypotheses:
        standing = one.standing or ""
        counts = f"{one.fail}/{one.n}" if one.n else "-"
        rows.append(
            (
                GLYPHS.get(standing, " "),
                one.hypothesis,
                standing,
                counts,
                str(one.restarts),
                seconds(one.downtime_s),
                money(one.money, currency),
            )
        )
    yield columns(rows, right=(3, 4, 5, 6))


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file instead of standard output.",
)
@click.pass_context
def report(context: click.Context, output: Path | None) -> None:
    """Print the campaign's report as Markdown."""
    from campaign.ledger.reads import Ledger
    from campaign.report.markdown import render

    with Ledger.open(options.workspace(context).ledger) as ledger:
        text = render(ledger)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise CampaignError(Exit.USAGE, f"cannot write {output}: {error.strerror}") from error
