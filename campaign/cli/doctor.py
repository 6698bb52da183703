"""doctor: one line for each thing that was looked at."""

import shlex
from pathlib import Path

import click

from campaign.cli import options
from campaign.cli.text import columns, count
from campaign.errors import CampaignError, Exit
from campaign.operations.doctor import examine
from campaign.operations.findings import Checkup, Finding
from campaign.operations.ledger_checks import examine_ledger, save_ledger
from campaign.workspace import Workspace


@click.command()
@click.option("--ledger", is_flag=True, help="Look at the ledger and the files kept, instead.")
@click.option(
    "--salvage",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="With --ledger: make a new ledger, FILE, of what can be read of this one.",
)
@options.as_json
@click.pass_context
def doctor(context: click.Context, ledger: bool, salvage: Path | None, as_json: bool) -> int:
    """Look at every host and service before the first run, and change nothing.

    Each line has a state, the host or service, what was found there, and what to do about it:
    "fail" stops a run or makes it fail, "warn" costs a surprise or a weaker verdict.

    With --ledger: whether the ledger is whole, its rows refer to rows that are there, the files of
    runs are there as they were kept; and what of a damaged ledger can be saved.
    """
    if salvage is not None and not ledger:
        raise CampaignError(Exit.USAGE, "--salvage is of the ledger", "add --ledger")
    workspace = options.workspace(context)
    if salvage is not None:
        return _salvaged(workspace, salvage, as_json)
    checkup = examine_ledger(workspace) if ledger else examine(workspace)
    if as_json:
        options.print_json({"exit": int(checkup.exit), "findings": checkup.findings})
    else:
        click.echo(_text(checkup))
    return checkup.exit


def _salvaged(workspace: Workspace, target: Path, as_json: bool) -> int:
    taken = save_ledger(workspace, target)
    if as_json:
        options.print_json({"exit": 0, "ledger": target, "tables": taken})
        return Exit.COMPLETED
    rows = [(one.table, str(one.rows), "" if one.whole else "others are lost") for one in taken]
    click.echo(columns([("table", "rows", ""), *rows], right=(1,)))
    now = f"mv {shlex.quote(str(target))} {shlex.quote(str(workspace.ledger))}"
    click.echo(
        f"{target} holds what could be read; observations that lost trials are invalid in it.\n"
        f"To go on with it, keep {workspace.ledger.name} elsewhere, then: {now}"
    )
    return Exit.COMPLETED


def _text(checkup: Checkup) -> str:
    found = checkup.findings
    warned, failed = (sum(one.state == state for one in found) for state in ("warn", "fail"))
    summary = f"{count(len(found), 'check')}: {failed} failed, {count(warned, 'warning')}"
    return "\n".join([columns([_row(one) for one in found]), summary])


def _row(one: Finding) -> tuple[str, str, str]:
    return one.state, one.place, f"{one.what}; {one.fix}" if one.fix else one.what
