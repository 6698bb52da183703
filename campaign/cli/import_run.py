"""import-run."""

from datetime import datetime
from pathlib import Path

import click

from campaign.cli import options
from campaign.operations import import_run as importing
from campaign.operations.import_run import PastResult


@click.command("import-run")
@click.argument("playbook")
@click.option("--fail", type=click.IntRange(0), required=True, help="How many trials failed.")
@click.option(
    "--trials", type=click.IntRange(0), required=True, help="Of how many, passed ones in."
)
@click.option("--censored", type=click.IntRange(0), default=0, help="How many more were cut short.")
@click.option(
    "--date",
    type=click.DateTime(["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]),
    help="When it was seen, in local time; now if not given.",
)
@click.option("--by", help="Who saw it; you if not given.")
@click.option("--log", type=click.Path(path_type=Path), help="Its output, to be kept with it.")
@click.option("--arm", help="Which arm it is of, where the playbook has arms.")
@click.option(
    "--condition",
    "conditions",
    multiple=True,
    metavar="NAME=VALUE",
    help="What held then, as a run would record it; may be repeated.",
)
@options.variables
@options.as_json
@click.pass_context
def import_run(
    context: click.Context,
    playbook: str,
    fail: int,
    trials: int,
    censored: int,
    date: datetime | None,
    by: str | None,
    log: Path | None,
    arm: str | None,
    conditions: tuple[str, ...],
    variables: tuple[str, ...],
    as_json: bool,
) -> None:
    """Record a past result of PLAYBOOK, marked as imported.

    It has no verdict of its own. Later runs compare with it as far as its conditions are theirs.
    """
    past = PastResult(
        playbook,
        fail,
        trials,
        censored,
        arm,
        date.timestamp() if date else None,
        by,
        log,
        options.parsed(conditions, "--condition"),
        options.parsed(variables),
    )
    run = importing.import_run(options.workspace(context), past, options.command_line())
    if as_json:
        options.print_json(run)
    else:
        click.echo(f"imported {run.id}")
