"""report: the campaign as a page, a table or data."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from importlib import import_module
from pathlib import Path

import click

from campaign.cli import options
from campaign.errors import CampaignError, Exit
from campaign.operations.report import report as collect
from campaign.report.content import MOST_RUNS, Report
from campaign.report.scope import Scope

FORMATS = {
    "md": "markdown",
    "html": "html",
    "json": "data",
    "csv": "spreadsheet",
    "issue": "issue",
}
"""Each format with the module of campaign.report whose `page` writes it."""

WRITTEN_TO = ("md", "html", "json", "csv")
"""Endings that say the format of a file; an issue is Markdown."""

WHOLE = ("json", "csv")
"""Formats for programs, which get every run; a page tells the newest ones."""


@click.command()
@click.option(
    "--format",
    "format_",
    type=click.Choice([*FORMATS]),
    help="How it is written; where it is not said, by the ending of FILE, or as Markdown.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write to FILE, all of it or nothing, instead of standard output.",
)
@click.option(
    "--since",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
    help="Only runs that began then or later, in local time.",
)
@click.option("--hypothesis", metavar="SLUG", help="Only runs for this hypothesis.")
@click.option("--run", metavar="RUN", help="Only this run: its id, part of it, or its playbook.")
@click.option("--redact-hosts", is_flag=True, help="Call hosts host-1, host-2 ... everywhere.")
@click.pass_context
def report(
    context: click.Context,
    format_: str | None,
    output: Path | None,
    since: datetime | None,
    hypothesis: str | None,
    run: str | None,
    redact_hosts: bool,
) -> None:
    """Tell the campaign: where it stands, its evidence, its cost, every run, what is next."""
    scope = Scope(since.timestamp() if since else None, hypothesis, run)
    format_ = _format(format_, output)
    most = None if format_ in WHOLE else MOST_RUNS
    found = collect(options.workspace(context), scope, most=most, hide_hosts=redact_hosts)
    text = _writer(format_)(found)
    if output is None:
        click.echo(text, nl=False)
    else:
        _write_whole(output, text)


def _format(named: str | None, output: Path | None) -> str:
    """The one that is `named`, or else that of the file's ending. Errors: click.UsageError."""
    ending = output.suffix.removeprefix(".").lower() if output else ""
    if output is None or not ending:
        return named or "md"
    meant = ending if ending in WRITTEN_TO else None
    if meant is None and named is None:
        known = ", ".join(f".{one}" for one in WRITTEN_TO)
        raise click.UsageError(f"{output}: no format has this ending; use {known}, or say --format")
    if None not in (named, meant) and meant != ("md" if named == "issue" else named):
        raise click.UsageError(f"{output}: its ending says {meant}, and --format {named}")
    return named or meant or "md"


def _writer(format_: str) -> Callable[[Report], str]:
    page: Callable[[Report], str] = import_module(f"campaign.report.{FORMATS[format_]}").page
    return page


def _write_whole(path: Path, text: str) -> None:
    """Puts `text` in the place of `path` at once: nobody sees half of it, and none is left."""
    try:
        handle, name = tempfile.mkstemp(dir=path.absolute().parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            Path(name).chmod(_mode(path))
            Path(name).replace(path)
        except BaseException:
            with suppress(OSError):
                Path(name).unlink()
            raise
    except OSError as error:
        raise CampaignError(Exit.USAGE, f"cannot write {path}: {error.strerror}") from error


def _mode(path: Path) -> int:
    """The permissions that `path` has, or would get as a new file."""
    if path.exists():
        return path.stat().st_mode & 0o7777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
