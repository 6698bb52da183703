"""doctor: one line for each thing that was looked at."""

import click

from campaign.cli import options
from campaign.cli.text import columns, count
from campaign.operations.doctor import examine
from campaign.operations.findings import Checkup, Finding


@click.command()
@options.as_json
@click.pass_context
def doctor(context: click.Context, as_json: bool) -> int:
    """Look at every host and service before the first run, and change nothing.

    Each line has a state, the host or service, what was found there, and what to do about it:
    "fail" stops a run or makes it fail, "warn" costs a surprise or a weaker verdict.
    """
    checkup = examine(options.workspace(context))
    if as_json:
        options.print_json({"exit": int(checkup.exit), "findings": checkup.findings})
    else:
        click.echo(_text(checkup))
    return checkup.exit


def _text(checkup: Checkup) -> str:
    found = checkup.findings
    warned, failed = (sum(one.state == state for one in found) for state in ("warn", "fail"))
    summary = f"{count(len(found), 'check')}: {failed} failed, {count(warned, 'warning')}"
    return "\n".join([columns([_row(one) for one in found]), summary])


def _row(one: Finding) -> tuple[str, str, str]:
    return one.state, one.place, f"{one.what}; {one.fix}" if one.fix else one.what
