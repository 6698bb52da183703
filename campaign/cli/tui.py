"""tui: the terminal UI."""

import sys

import click

from campaign.errors import CampaignError, Exit


@click.command()
@click.pass_context
def tui(context: click.Context) -> int:
    """Open the terminal UI on the workspace, or where there is none, on what to do first."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CampaignError(
            Exit.USAGE,
            "the terminal UI needs a terminal",
            "try campaign status, or campaign --help",
        )
    from campaign.tui.app import CampaignApp

    code = CampaignApp(context.find_root().obj).run()
    return Exit.COMPLETED if code is None else code
