"""prune: removes old logs, and says which."""

import sys

import click

from campaign.cli import options
from campaign.cli.text import columns, count, tell, when
from campaign.operations import prune as pruning
from campaign.operations.prune import Prunable


@click.command()
@click.option(
    "--older-than",
    type=click.IntRange(0),
    default=30,
    show_default=True,
    metavar="DAYS",
    help="Only of runs that ended longer ago.",
)
@click.option(
    "--keep",
    type=click.IntRange(0),
    default=10,
    show_default=True,
    metavar="RUNS",
    help="Leave so many of the newest runs alone.",
)
@click.option("-n", "--dry-run", is_flag=True, help="Show what would go and stop.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@options.as_json
@click.pass_context
def prune(
    context: click.Context, older_than: int, keep: int, dry_run: bool, yes: bool, as_json: bool
) -> None:
    """Remove the logs of old runs; every number, verdict, diff and cost stays in the ledger.

    What would go is shown first. Without a terminal nothing goes unless -y is given.
    """
    workspace = options.workspace(context)
    found = pruning.prunable(workspace, older_than, keep)
    _show(found)
    done = None
    if found and not dry_run and (yes or _confirmed()):
        done = pruning.prune(workspace, found)
        tell(
            f"removed {count(done.files, 'file')} of {count(done.bytes, 'byte')};"
            f" the ledger is {count(done.ledger_bytes, 'byte')} smaller"
        )
    elif found:
        tell("nothing was removed" + ("" if dry_run else "; add -y to remove it"))
    if as_json:
        options.print_json({"runs": found, "removed": done})


def _show(found: tuple[Prunable, ...]) -> None:
    rows = [
        (one.run, when(one.ended_at), count(len(one.files), "file"), count(one.bytes, "byte"))
        for one in found
    ]
    total = sum(one.bytes for one in found)
    if rows:
        tell(columns([("run", "ended", "files", "bytes"), *rows], right=(2, 3)))
        tell(f"logs of {count(len(rows), 'run')}, {count(total, 'byte')} in all")
    else:
        tell("no logs that old")


def _confirmed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        return False
    tell("Remove them? [y/N] ", newline=False)
    return sys.stdin.readline().strip().lower() in ("y", "yes")
