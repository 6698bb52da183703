"""Arguments and options that several commands share."""

import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from msgspec import Struct
from msgspec.structs import asdict

from campaign.workspace import Workspace

F = TypeVar("F", bound=Callable[..., Any])

AS_PLANNED = "CAMPAIGN_AS_PLANNED"
"""The environment variable that is as good as run's --as-planned."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output.")


def workspace(context: click.Context) -> Workspace:
    """The workspace that the command works in. Errors: CampaignError where there is none."""
    return Workspace.find(context.find_root().obj)


def left_workspace(context: click.Context) -> Workspace:
    """As `workspace`; its campaign.yaml may be gone."""
    return Workspace.find_left(context.find_root().obj)


def playbooks(required: bool) -> Callable[[F], F]:
    """One or more playbooks by name or path; none at all where they are not `required`."""
    metavar = "PLAYBOOK..." if required else "[PLAYBOOK]..."
    return click.argument("playbooks", nargs=-1, required=required, metavar=metavar)


variables = click.option(
    "-e",
    "--var",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a playbook variable; may be repeated.",
)

accepted = click.option(
    "--accept-difference",
    "accepted",
    multiple=True,
    metavar="NAME",
    help="Compare although this condition differs; kept with the run; may be repeated.",
)


def parsed(pairs: tuple[str, ...], option: str = "--var") -> dict[str, str]:
    """NAME=VALUE pairs, given by `option`, as a mapping. Errors: click.UsageError."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"{option} {pair!r} is not NAME=VALUE")
        found[name] = value
    return found


def print_json(value: object) -> None:
    """A record, or a list of them, as JSON on standard output."""
    click.echo(json.dumps(value, default=_plain, indent=2, sort_keys=True))


def tell_done(as_json: bool, done: object, text: str) -> None:
    """What a command has done: `text` for people, `done` for programs."""
    if as_json:
        print_json(done)
    else:
        click.echo(text)


def print_json_line(value: object) -> None:
    """As `print_json`, in one line."""
    click.echo(json.dumps(value, default=_plain, sort_keys=True))


def _plain(value: object) -> object:
    if isinstance(value, Struct):
        return asdict(value)
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, bytes):
        return value.decode(errors="backslashreplace")
    raise TypeError(f"{type(value).__name__} has no JSON form")


def command_line() -> str:
    """This invocation, as it can be typed again."""
    return shlex.join(["campaign", *sys.argv[1:]])


def duration(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    """A click callback: seconds of a duration such as 30m, more than none."""
    from playbooks.language.durations import seconds as parse

    try:
        given = None if value is None else parse(value)
        if given == 0:
            raise ValueError("expected more than no time")
        return given
    except ValueError as error:
        raise click.BadParameter(f"{error}, not {value!r}", context, parameter) from error
