"""plan, run, recover.

Hosts take their time to be reached: they are dialled before most of the program is loaded, which
is why so much is imported where it is used.
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.parent import follow_parent
from campaign.cli.text import shown, tell
from campaign.errors import Exit
from campaign.workspace import Workspace

if TYPE_CHECKING:
    from campaign.engine.dialling import Ahead

WORDS = ("supported", "refuted", "inconclusive", "invalid")


keep = click.option(
    "--keep",
    is_flag=True,
    help="Leave its changes on the hosts: a condition of later runs, until campaign recover RUN.",
)

diff = click.option(
    "-D",
    "--diff/--no-diff",
    default=None,
    help="Show the changes of files whole, or none; else new files of many lines by their head.",
)


@click.command()
@options.playbooks(required=True)
@options.variables
@options.accepted
@keep
@diff
@options.as_json
@click.pass_context
def plan(
    context: click.Context,
    playbooks: tuple[str, ...],
    variables: tuple[str, ...],
    accepted: tuple[str, ...],
    keep: bool,
    diff: bool | None,
    as_json: bool,
) -> None:
    """Show what a run of the PLAYBOOKs would do: boots, edits, environment, restarts, cost."""
    workspace, given = options.workspace(context), options.parsed(variables)
    with _dialled(workspace) as ahead:
        from campaign.cli.execution import Telling, dry
        from campaign.operations.plan import Request

        dry(workspace, Request(playbooks, given, accepted, keep), Telling(diff, as_json), ahead)


@click.command()
@options.playbooks(required=True)
@options.variables
@click.option("-y", "--yes", is_flag=True, help="Do not ask; for campaigns that are not protected.")
@click.option("--yes-i-mean", metavar="NAME", help="Do not ask; the protected campaign's name.")
@click.option(
    "--for",
    "for_s",
    metavar="DURATION",
    callback=options.duration,
    help="With --yes-i-mean: these plans, as they are now, need no confirmation for so long.",
)
@options.accepted
@keep
@click.option("-n", "--dry-run", "-C", is_flag=True, help="Show the plan and stop.")
@diff
@click.option(
    "--as-planned",
    type=click.Path(path_type=Path),
    envvar=options.AS_PLANNED,
    metavar="FILE",
    help="Refuse unless the plan is still the one in FILE, which campaign plan --json wrote.",
)
@click.option(
    "--expect", type=click.Choice(WORDS), help="Exit 1 unless every verdict is this word."
)
@click.option(
    "--junit-xml",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write how each run ended to FILE, for a CI server.",
)
@click.option("--detach", is_flag=True, help="Go on without this terminal, once confirmed.")
@options.as_json
@click.pass_context
def run(
    context: click.Context,
    playbooks: tuple[str, ...],
    variables: tuple[str, ...],
    yes: bool,
    yes_i_mean: str | None,
    for_s: float | None,
    accepted: tuple[str, ...],
    keep: bool,
    dry_run: bool,
    diff: bool | None,
    as_planned: Path | None,
    expect: str | None,
    junit_xml: Path | None,
    detach: bool,
    as_json: bool,
) -> int:
    """Run the PLAYBOOKs as one campaign, sharing restarts; then put everything back.

    The plan is shown first. Ctrl-C stops and puts back. With --detach the run goes on by itself:
    `campaign attach` follows it from any terminal, and its output is kept in .campaign/started.
    """
    follow_parent()
    os.environ.pop(options.AS_PLANNED, None)
    _check_together(dry_run, as_planned, for_s, yes_i_mean)
    workspace, given = options.workspace(context), options.parsed(variables)
    with _dialled(workspace) as ahead:
        from campaign.cli.execution import Consent, Telling, dry, execute, execute_alone
        from campaign.operations.plan import Request

        request = Request(playbooks, given, accepted, keep)
        telling = Telling(diff, as_json, expect)
        if dry_run:
            dry(workspace, request, telling, ahead)
            return Exit.COMPLETED
        consent = Consent(yes, yes_i_mean, as_planned, for_s)
        if detach:
            return execute_alone(workspace, request, telling, consent, ahead)
        return execute(workspace, request, telling, consent, junit_xml, ahead)


def _check_together(
    dry_run: bool, as_planned: Path | None, for_s: float | None, yes_i_mean: str | None
) -> None:
    """Errors: UsageError for options that do not go together."""
    if dry_run and as_planned is not None:
        raise click.UsageError("--as-planned holds a run to a plan; a dry run makes another")
    if for_s is not None and yes_i_mean is None:
        raise click.UsageError("--for says how long --yes-i-mean NAME holds: give both")


def _dialled(workspace: Workspace) -> "Ahead":
    """The workspace's hosts, dialled beside what is done inside it."""
    from campaign.engine.dialling import Ahead
    from playbooks.language.likely import likely_hosts

    return Ahead(likely_hosts(workspace.config))


@click.command()
@click.argument("run", required=False, default="")
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    metavar="[HOST:]PATH",
    help="Keep this file as it is now, where someone else has changed it (without HOST: on every "
    "host where that is so); may be repeated.",
)
@options.as_json
@click.pass_context
def recover(context: click.Context, run: str, accepted: tuple[str, ...], as_json: bool) -> int:
    """Put back what an interrupted run left, restart what ran it, and verify.

    What a run was told to keep stays, but for that of RUN, by its id or how it begins. A second
    call finds nothing to do. Ctrl-C is refused once, and says what is under way.
    """
    from campaign.cli.recovered import recovered_data, recovered_text
    from campaign.cli.unbroken import unbroken
    from campaign.operations import recover as recovering

    workspace = options.left_workspace(context)
    with unbroken("asking the hosts", Exit.DIRTY, "campaign recover finishes it") as watch:
        done = recovering.recover(workspace, accepted, run, watch)
    if as_json:
        options.print_json({"exit": int(done.exit), **recovered_data(done)})
    else:
        click.echo(shown(recovered_text(done)))
    if not done.awaiting:
        for one in done.unreached:
            tell(shown(f"campaign: {one}"))
    if done.unrecorded:
        tell(f"campaign: the hosts were seen to, but the runs stay open: {done.unrecorded}")
    return done.exit
