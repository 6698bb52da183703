"""init, check, schema."""

from pathlib import Path

import click

from campaign.cli import options
from campaign.cli.text import count
from campaign.operations import init as initialising
from campaign.operations import plan as planning
from campaign.operations.plan import Request


@click.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=".")
@options.as_json
@click.pass_context
def init(context: click.Context, folder: Path, as_json: bool) -> None:
    """Write a new workspace into FOLDER (default: here); nothing is overwritten."""
    target = context.find_root().obj / folder
    written = [str(path.relative_to(target)) for path in initialising.init(target)]
    said = [f"wrote {name}" for name in written]
    said.append("Next: describe the system in campaign.yaml, then campaign check.")
    options.tell_done(as_json, {"written": written}, "\n".join(said))


@click.command()
@options.playbooks(required=False)
@options.variables
@options.as_json
@click.pass_context
def check(
    context: click.Context, playbooks: tuple[str, ...], variables: tuple[str, ...], as_json: bool
) -> None:
    """Check campaign.yaml and the PLAYBOOKs (default: all); run nothing, ask no host."""
    workspace = options.workspace(context)
    names = playbooks or workspace.playbook_names()
    system, checked = planning.check(workspace, Request(names, options.parsed(variables)))
    if as_json:
        options.print_json({"campaign": system.campaign, "playbooks": [p.name for p in checked]})
        return
    click.echo(f"{workspace.config.name}: right ({count(len(system.services), 'service')})")
    for playbook in checked:
        steps = count(len(playbook.steps), "step")
        click.echo(f"{playbook.path.name}: right ({playbook.kind}, {steps})")
    if not checked:
        click.echo(f"no playbooks yet; write one in {workspace.playbooks}")


@click.command()
def schema() -> None:
    """Print the JSON Schema of campaign.yaml, of a playbook and of a hypotheses file."""
    from playbooks.language.json_schema import json_schemas

    options.print_json(json_schemas())
