"""demo: the whole tool on a small real system, from an empty folder to a report."""

import os
import shlex
from pathlib import Path

import click

from campaign.cli import options, plans
from campaign.cli.execution import carry_out
from campaign.cli.text import tell
from campaign.errors import Exit
from campaign.operations import demo as operations
from campaign.operations import services
from campaign.operations.plan import Request
from campaign.operations.run import ready
from campaign.workspace import Workspace


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default="demo-campaign")
@click.option("--no-run", is_flag=True, help="Only write the workspace.")
@click.option("--fresh", is_flag=True, help="Replace an earlier demo in FOLDER.")
@click.option("--keep-running", is_flag=True, help="Leave the demo's services running at the end.")
@click.pass_context
def demo(
    context: click.Context, folder: Path, no_run: bool, fresh: bool, keep_running: bool
) -> int:
    """Write the demo's workspace into FOLDER and run its campaign (under two minutes).

    A small real system with a real race: sessions leak tool-call markup under load. The campaign
    measures how often, tries an innocent cause, sees the mechanism, fixes it, and brings the bug
    back. Everything is put back, and the services are stopped at the end.
    """
    workspace = operations.write(context.find_root().obj / folder, fresh=fresh)
    tell(f"wrote the demo's workspace into {folder}")
    if no_run:
        click.echo(_next(folder, "campaign run baseline"))
        return Exit.COMPLETED
    try:
        return _run(workspace, folder)
    finally:
        if not keep_running:
            services.stop(workspace, ())


def _run(workspace: Workspace, folder: Path) -> int:
    with ready(workspace, Request(operations.PLAYBOOKS, {}), options.command_line()) as one:
        tell(plans.as_text(one.planned, diffs=False))
        outcome = carry_out(one)
    for text in (outcome.in_short, *outcome.remaining):
        if text:
            tell(f"campaign: {text}")
    if outcome.exit is Exit.COMPLETED:
        click.echo(_report(workspace))
        click.echo(
            _next(
                folder,
                "campaign status",
                "campaign runs show idxk-checksum",
                "campaign report",
                "campaign tui",
            )
        )
    return outcome.exit


def _report(workspace: Workspace) -> str:
    from campaign.operations.report import report
    from campaign.report.markdown import in_short
    from campaign.report.scope import Scope

    return in_short(report(workspace, Scope()))


def _next(folder: Path, *commands: str) -> str:
    shown = shlex.quote(os.path.relpath(folder))
    return "\n".join(["", "To look further:", f"  cd {shown}", *(f"  {one}" for one in commands)])
