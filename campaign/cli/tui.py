"""tui: the terminal UI."""

import os
import sys

import click

from campaign.errors import CampaignError, Exit


def has_terminal() -> bool:
    """Whether there is a terminal on which a screen can be drawn: a dumb one shows lines alone."""
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


@click.command()
@click.pass_context
def tui(context: click.Context) -> int:
    """Open the terminal UI on the workspace, or where there is none, on what to do first."""
    if not has_terminal():
        raise CampaignError(
            Exit.USAGE,
            "the terminal UI needs a terminal that it can draw on",
            "try campaign status, or campaign --help",
        )
    from campaign.tui.app import CampaignApp

    code = CampaignApp(context.find_root().obj).run()
    return Exit.COMPLETED if code is None else code
