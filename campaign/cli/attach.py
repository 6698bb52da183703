"""attach: a run under way, from any terminal."""

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click

from campaign.cli import options
from campaign.cli.progress import Progress
from campaign.cli.text import shown, tell
from campaign.errors import CampaignError, Exit
from campaign.ledger.reads import Ledger
from campaign.operations import control
from campaign.operations.attach import Following, batch_of
from campaign.workspace import Workspace

EVERY_S = 0.1
AT_LEAST_EVERY_S = 1.0


@click.command()
@click.argument("run", required=False)
@click.pass_context
def attach(context: click.Context, run: str | None) -> int:
    """Follow a RUN under way (default: the newest), whoever started it, until it has ended.

    Ctrl-C asks whether to leave it running, or to have it stop and put everything back. The exit
    code is 0 where it completed or was left, and otherwise tells how it ended.
    """
    workspace = options.workspace(context)
    found = batch_of(workspace, run)
    following = Following(found.batch)
    while not _follow(workspace, following):
        if _leaves(workspace, following):
            return Exit.COMPLETED
    for line in _last_words(following):
        tell(shown(line))
    return following.exit


def _follow(workspace: Workspace, following: Following) -> bool:
    """Whether it came to its end; False after Ctrl-C.

    Reads where something was written; now and then also whether the run's process is there.
    """
    with (
        _interrupts() as asked,
        Ledger.open(workspace.ledger) as ledger,
        Progress() as progress,
    ):
        while not asked:
            version, until = ledger.data_version(), time.monotonic() + AT_LEAST_EVERY_S
            for event in following.news(ledger):
                progress(event)
            if following.is_over:
                return True
            while not asked and ledger.data_version() == version and time.monotonic() < until:
                time.sleep(EVERY_S)
    return False


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """Holds an entry for each Ctrl-C meanwhile: as an exception one can be lost in a callback."""
    asked: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _frame: asked.append(number))
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


def _leaves(workspace: Workspace, following: Following) -> bool:
    """Asks what Ctrl-C is to mean; without a terminal it leaves. False: it is followed on."""
    run = following.runs[-1].id if following.runs else ""
    answer = "l"
    if sys.stdin is not None and sys.stdin.isatty():
        tell(f"\nLeave {run} running, abort it and put back, or follow on? [l/a/F] ", newline=False)
        try:
            answer = sys.stdin.readline().strip().lower()
        except KeyboardInterrupt:
            answer = "l"
    if answer in ("a", "abort"):
        try:
            control.abort(workspace, run)
            tell(f"{run} was asked to stop; it puts everything back")
        except CampaignError as error:
            tell(f"campaign: {error}")
    elif answer in ("l", "leave"):
        tell(f"{run} goes on; campaign attach {run} follows it again")
        return True
    return False


def _last_words(following: Following) -> list[str]:
    """How each run ended, and what is left to do."""
    lines = [
        f"{run.id} {run.status}{f': {run.error}' if run.error else ''}" for run in following.runs
    ]
    if following.exit is Exit.DIRTY:
        return [*lines, "campaign: not everything was put back; run: campaign recover"]
    if following.kept:
        return [*lines, f"Kept as changed. To put it back: campaign recover {following.kept[0]}"]
    return [*lines, "Everything was put back."]
