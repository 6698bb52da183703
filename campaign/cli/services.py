"""services list, start, stop, restart: the services outside of runs."""

from contextlib import AbstractContextManager

import click

from campaign.cli import options
from campaign.cli.text import columns, when
from campaign.errors import Exit
from campaign.operations import services as operations


@click.group()
def services() -> None:
    """Start, stop and list the services."""


@services.command("list")
@options.as_json
@click.pass_context
def list_(context: click.Context, as_json: bool) -> None:
    """List the services, their processes and their logs."""
    found = operations.listed(options.workspace(context))
    if as_json:
        options.print_json(found)
        return
    rows = [("service", "state", "pid", "processes", "since", "log")]
    for one in found:
        state = "running" if one.running else "stopped"
        state += "" if one.declared else ", not in campaign.yaml"
        pid = str(one.pid) if one.pid else "-"
        rows.append((one.name, state, pid, str(one.processes), when(one.started_at), one.log))
    click.echo(columns(rows, right=(2, 3)))


def _report(as_json: bool, word: str, names: tuple[str, ...]) -> None:
    said = f"{word} {', '.join(names)}" if names else "nothing to do"
    options.tell_done(as_json, {word: names}, said)


def _unbroken(doing: str) -> AbstractContextManager[object]:
    """Nothing puts back a service that is left down here."""
    from campaign.cli.unbroken import unbroken

    return unbroken(doing, Exit.INTERRUPTED, "campaign services list shows what runs")


@services.command(short_help="Start services that do not run.")
@click.argument("names", nargs=-1, metavar="[SERVICE]...")
@options.as_json
@click.pass_context
def start(context: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Start the SERVICEs (default: all) that do not run, and wait until they are healthy."""
    with _unbroken("starting services"):
        done = operations.start(options.workspace(context), names)
    _report(as_json, "started", done)


@services.command()
@click.argument("names", nargs=-1, metavar="[SERVICE]...")
@options.as_json
@click.pass_context
def stop(context: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Stop the SERVICEs (default: all) that run, also those that campaign.yaml names no more."""
    with _unbroken("stopping services"):
        done = operations.stop(options.workspace(context), names)
    _report(as_json, "stopped", done)


@services.command(short_help="Restart services with their groups.")
@click.argument("names", nargs=-1, metavar="[SERVICE]...")
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    metavar="N",
    help="N replicas of a service at a time, each batch healthy before the next goes down.",
)
@options.as_json
@click.pass_context
def restart(
    context: click.Context, names: tuple[str, ...], batch: int | None, as_json: bool
) -> None:
    """Restart the SERVICEs (default: all) with their groups, and wait until they are healthy."""
    with _unbroken("restarting services"):
        done = operations.restart(options.workspace(context), names, batch or 0)
    _report(as_json, "restarted", done)
