"""The entry point: commands by name, loaded when they are called, and how errors end."""

import atexit
import errno
import gc
import os
import sys
import time
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign import __version__
from campaign.cli.text import tell
from campaign.errors import CampaignError, Exit

if TYPE_CHECKING:
    from playbooks.language.problems import LoadError

COMMANDS = {
    "init": ("files", "Write a new workspace."),
    "demo": ("demo", "Run the demo campaign from start to end."),
    "check": ("files", "Check campaign.yaml and playbooks; run nothing."),
    "doctor": ("doctor", "Look at every host and service; change nothing."),
    "plan": ("run", "Show what a run would do, and change nothing."),
    "power": ("advise", "Show what a playbook's planned trials can and cannot show."),
    "next": ("advise", "Rank what could be run next by what it teaches per second."),
    "autopilot": ("autopilot", "Run what teaches most, again and again, within a budget."),
    "run": ("run", "Run playbooks as one campaign, and put everything back."),
    "attach": ("attach", "Follow a run under way, from any terminal."),
    "import-run": ("import_run", "Record a past result, marked as imported."),
    "parse": ("parse", "Show what a parser reads in an output that is there already."),
    "compare": ("compare_logs", "Join two logs by key; show the keys whose values differ."),
    "recover": ("run", "Put back what an interrupted run left."),
    "status": ("status", "Show where the campaign stands."),
    "hypothesis": ("hypothesis", "Add, list, judge and note hypotheses."),
    "runs": ("runs", "List, show and retract runs; pause and stop those under way."),
    "report": ("report", "Tell the campaign as a page, a table or data."),
    "history": ("history", "Look back at several campaigns."),
    "export": ("archive", "Write the campaign to one archive."),
    "import": ("archive", "Bring in a campaign from an archive."),
    "prune": ("prune", "Remove the logs of old runs; every number stays."),
    "services": ("services", "Start, stop and list the services."),
    "schema": ("files", "Print the JSON Schema of the files."),
    "tui": ("tui", "Open the terminal UI; so does campaign alone, in a workspace."),
}

_OBJECTS = 50_000
"""So many new ones are looked through for garbage at a time: loading makes many, and no garbage."""


class Commands(click.Group):
    """Subcommands whose modules are imported only when they are needed."""

    def list_commands(self, _context: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, _context: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = import_module(f"campaign.cli.{COMMANDS[name][0]}")
        attribute = name.replace("-", "_")
        command: click.Command = getattr(module, f"{attribute}_" if iskeyword(name) else attribute)
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            what = error.message.rstrip(".") + _guess(get_close_matches(args[0], COMMANDS, 1))
            raise click.UsageError(what, context) from error

    def format_commands(self, _context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


@click.group(
    cls=Commands,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 completed, 1 expectation unmet, 2 usage or invalid file, 3 a step "
    "failed (all put back), 4 host unreachable, 5 dirty, 6 refused, 7 a fault of ours, "
    "129/130/143 interrupted (all put back).",
)
@click.version_option(__version__, prog_name="campaign")
@click.option(
    "-w",
    "--workspace",
    "directory",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=None,
    help="The workspace, where it is not the current folder or above it.",
)
@click.pass_context
def cli(context: click.Context, directory: Path | None) -> None:
    """Run a debugging campaign: hypotheses, playbooks, and a ledger of what each restart taught."""
    context.obj = (directory or Path.cwd()).resolve()
    if context.invoked_subcommand is None:
        _alone(context)


def _alone(context: click.Context) -> None:
    """Without a command: the terminal UI in a workspace on a terminal, otherwise the help."""
    from campaign.cli.tui import has_terminal
    from campaign.workspace import Workspace

    with suppress(CampaignError):
        Workspace.find(context.obj)
        if has_terminal():
            command = cli.get_command(context, "tui")
            context.exit(context.invoke(command) if command else Exit.FAULT)
    raise click.exceptions.NoArgsIsHelpError(context)


def main(arguments: list[str] | None = None) -> None:
    """Runs the command line and exits by the table; a traceback never reaches the screen."""
    gc.set_threshold(_OBJECTS)
    _stand_in()
    code: int = Exit.FAULT

    def leave() -> None:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError):  # nobody reads it any more
                stream.flush()
        os._exit(code)

    atexit.register(leave)  # the last to be called: taking all modules apart is of no use
    code = run(sys.argv[1:] if arguments is None else arguments)
    sys.exit(code)


def _stand_in() -> None:
    """Puts the null device where a standard stream was closed: no file of ours gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - to the end


def run(arguments: list[str]) -> int:
    """Runs one command and returns its exit code."""
    as_json = "--json" in arguments
    try:
        code = cli.main(args=arguments, prog_name="campaign", standalone_mode=False)
        return int(code) if isinstance(code, int) else Exit.COMPLETED
    except click.exceptions.Exit as error:
        return error.exit_code
    except SystemExit:
        return Exit.COMPLETED  # what click makes of a reader that has gone away
    except click.exceptions.NoArgsIsHelpError as error:
        tell(error.format_message())
        return Exit.USAGE
    except click.UsageError as error:
        return _usage(error, as_json)
    except (click.Abort, KeyboardInterrupt):
        return _failed("interrupted", Exit.INTERRUPTED, as_json)
    except CampaignError as error:
        return _failed(str(error), error.exit, as_json)
    except Exception as error:  # noqa: BLE001 - the last resort, so that no one sees a traceback
        return _unforeseen(error, as_json)


def _usage(error: click.UsageError, as_json: bool) -> int:
    close: list[str] = getattr(error, "possibilities", None) or []
    what = error.message if close else error.format_message()
    hint = f"; see {error.ctx.command_path} --help" if error.ctx else ""
    return _failed(f"{what.rstrip('.')}{_guess(close)}{hint}", Exit.USAGE, as_json)


def _guess(close: list[str]) -> str:
    return f" (did you mean {' or '.join(map(repr, close))}?)" if close else ""


def _unforeseen(error: Exception, as_json: bool) -> int:
    """Invalid files carry their problems, a full disk is no one's; the rest is a fault of ours."""
    problems = sys.modules.get("playbooks.language.problems")
    if problems is not None and isinstance(error, problems.LoadError):
        return _invalid(error, as_json)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        what = "cannot write: no space is left; free some and try again"
        return _failed(what, Exit.REFUSED, as_json)
    where = _keep_traceback(error)
    return _failed(
        f"a fault of campaign itself ({type(error).__name__}: {error}); "
        f"its traceback is kept in {where}",
        Exit.FAULT,
        as_json,
    )


def _invalid(error: "LoadError", as_json: bool) -> int:
    tell(str(error))
    if as_json:
        problems = [
            {"file": one.file, "line": one.line, "column": one.column, "what": one.what}
            for one in error.problems
        ]
        _answer({"error": str(error), "exit": int(Exit.USAGE), "problems": problems})
    return Exit.USAGE


def _failed(what: str, code: Exit, as_json: bool) -> int:
    tell(f"campaign: {what}")
    if as_json:
        _answer({"error": what, "exit": int(code)})
    return code


def _answer(value: dict[str, object]) -> None:
    import json

    with suppress(OSError):
        click.echo(json.dumps(value, indent=2))


def _keep_traceback(error: Exception) -> Path | str:
    import traceback

    text = "".join(traceback.format_exception(error))
    name = f"campaign-fault-{time.strftime('%Y%m%dT%H%M%S')}.txt"
    for folder in (Path.cwd() / ".campaign", Path("/tmp")):
        try:
            if folder.is_dir():
                (folder / name).write_text(text, encoding="utf-8")
                return folder / name
        except OSError:
            continue
    return "no file: none could be written"
