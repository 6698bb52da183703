"""plan, run, recover."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from campaign.cli import options, plans
from campaign.cli.parent import follow_parent
from campaign.cli.progress import Progress
from campaign.cli.text import lapse_text, shown, tell
from campaign.engine.stop import Stop, handled
from campaign.errors import CampaignError, Exit
from campaign.operations import junit
from campaign.operations import plan as planning
from campaign.operations.plan import Planned, Request
from campaign.operations.run import Ready, ready
from campaign.workspace import Workspace

if TYPE_CHECKING:
    from campaign.engine.run import Outcome
    from campaign.operations.kept import Kept
    from campaign.operations.recover import Recovered

WORDS = ("supported", "refuted", "inconclusive", "invalid")


@click.command()
@options.playbooks(required=True)
@options.variables
@options.accepted
@click.option("-D", "--diff/--no-diff", default=True, help="Show the changes of files.")
@options.as_json
@click.pass_context
def plan(
    context: click.Context,
    playbooks: tuple[str, ...],
    variables: tuple[str, ...],
    accepted: tuple[str, ...],
    diff: bool,
    as_json: bool,
) -> None:
    """Show what a run of the PLAYBOOKs would do: boots, edits, environment, restarts, cost."""
    request = Request(playbooks, options.parsed(variables), accepted)
    _show(planning.plan(options.workspace(context), request), diff, as_json)


def _show(planned: Planned, diff: bool, as_json: bool) -> None:
    if as_json:
        options.print_json(plans.as_data(planned))
    else:
        click.echo(plans.as_text(planned, diffs=diff))


@click.command()
@options.playbooks(required=True)
@options.variables
@click.option("-y", "--yes", is_flag=True, help="Do not ask; for campaigns that are not protected.")
@click.option("--yes-i-mean", metavar="NAME", help="Do not ask; the protected campaign's name.")
@options.accepted
@click.option("-n", "--dry-run", "-C", is_flag=True, help="Show the plan and stop.")
@click.option("-D", "--diff/--no-diff", default=True, help="Show the changes of files in the plan.")
@click.option(
    "--expect", type=click.Choice(WORDS), help="Exit 1 unless every verdict is this word."
)
@click.option(
    "--junit-xml",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write how each run ended to FILE, for a CI server.",
)
@options.as_json
@click.pass_context
def run(
    context: click.Context,
    playbooks: tuple[str, ...],
    variables: tuple[str, ...],
    yes: bool,
    yes_i_mean: str | None,
    accepted: tuple[str, ...],
    dry_run: bool,
    diff: bool,
    expect: str | None,
    junit_xml: Path | None,
    as_json: bool,
) -> int:
    """Run the PLAYBOOKs as one campaign, sharing restarts; then put everything back.

    The plan is shown first. Ctrl-C stops and puts back.
    """
    follow_parent()
    workspace = options.workspace(context)
    request = Request(playbooks, options.parsed(variables), accepted)
    if dry_run:
        planned = planning.plan(workspace, request)
        _refuse_unjudged(planned, expect)
        _show(planned, diff, as_json)
        return Exit.COMPLETED
    if junit_xml is not None:
        junit.check_place(junit_xml)
    with ready(workspace, request, options.command_line()) as one:
        _refuse_unjudged(one.planned, expect)
        for lapse in one.lapses:
            tell(shown(lapse_text(lapse)))
        tell(plans.as_text(one.planned, diffs=diff))
        _confirm(one.planned, yes, yes_i_mean)
        outcome = carry_out(one)
    code = _ended(outcome, expect, as_json)
    return code if junit_xml is None else _junit(junit_xml, workspace, outcome, expect) or code


def _refuse_unjudged(planned: Planned, expect: str | None) -> None:
    """Errors: CampaignError (USAGE) where a verdict is expected, and nothing will be judged."""
    if expect and not any(one.is_judged for one in planned.playbooks):
        names = ", ".join(one.name for one in planned.playbooks)
        raise CampaignError(
            Exit.USAGE,
            f"--expect {expect}: no verdict will be given, since {names} has no `verdict:`",
            "leave out --expect, or name a playbook that is judged",
        )


def _junit(path: Path, workspace: Workspace, outcome: "Outcome", expect: str | None) -> int:
    """USAGE where the run was well and its file cannot be written; a worse end stays what it is."""
    try:
        junit.write(path, workspace, outcome, expect)
    except CampaignError as error:
        tell(f"campaign: {error}")
        return 0 if outcome.exit else error.exit
    return 0


def carry_out(one: Ready) -> "Outcome":
    """Executes a ready run with progress on stderr and signals handled."""
    with watched() as (progress, stop):
        return one.execute(progress, stop)


@contextmanager
def watched() -> Iterator[tuple[Progress, Stop]]:
    """Progress on stderr, and what INT, TERM and HUP ask to stop while inside."""
    with Progress() as progress:
        stop = Stop(
            refuse=lambda: progress.line(
                f"     not stopped while {stop.doing}; once more abandons putting back, "
                "and leaves the system dirty"
            )
        )
        with handled(stop):
            yield progress, stop


def _confirm(planned: Planned, yes: bool, yes_i_mean: str | None) -> None:
    name = planned.system.campaign
    if planned.system.protected:
        _confirm_protected(name, yes_i_mean)
    elif yes_i_mean is not None and yes_i_mean != name:
        raise CampaignError(Exit.REFUSED, f"this campaign is {name}, not {yes_i_mean}")
    elif not yes and yes_i_mean is None:
        ask("Run this? [y/N] ", lambda answer: answer.lower() in ("y", "yes"), "-y")


def _confirm_protected(name: str, yes_i_mean: str | None) -> None:
    if yes_i_mean is None:
        ask(
            f"{name} is protected. Type its name to run this: ",
            lambda answer: answer == name,
            f"--yes-i-mean {name}",
        )
    elif yes_i_mean != name:
        raise CampaignError(Exit.REFUSED, f"this protected campaign is {name}, not {yes_i_mean}")


def ask(question: str, accept: Callable[[str], bool], option: str) -> None:
    """Asks on the terminal; `option` answers without one.

    Errors: CampaignError (REFUSED) on anything but the accepted answer.
    """
    if sys.stdin is None or not sys.stdin.isatty():
        raise CampaignError(
            Exit.REFUSED, "nobody is there to confirm the plan", f"add {option} to run it"
        )
    tell(question, newline=False)
    if not accept(sys.stdin.readline().strip()):
        raise CampaignError(Exit.REFUSED, "not confirmed; nothing was changed")


def _ended(outcome: "Outcome", expect: str | None, as_json: bool) -> int:
    code = outcome.exit
    if code is Exit.COMPLETED and expect and not _met(outcome, expect):
        code = Exit.UNMET
    for text in last_words(outcome, code, expect):
        tell(shown(text))
    if as_json:
        with suppress(OSError):
            options.print_json({"exit": int(code), **as_data(outcome)})
    return code


def _met(outcome: "Outcome", expect: str) -> bool:
    words = [str(one.verdict.word) for one in outcome.runs if one.verdict]
    return bool(words) and all(word == expect for word in words)


def as_data(outcome: "Outcome") -> dict[str, object]:
    """How an invocation ended, for programs."""
    return {
        "runs": [
            {
                "id": one.id,
                "playbook": one.playbook,
                "status": one.status,
                "verdict": one.verdict,
            }
            for one in outcome.runs
        ],
        "error": outcome.error,
        "remaining": list(outcome.remaining),
    }


def last_words(outcome: "Outcome", code: Exit, expect: str | None) -> list[str]:
    """What a person is told at the end of an invocation."""
    lines = []
    if outcome.error:
        lines.append(f"campaign: {outcome.in_short}")
    if outcome.remaining:
        lines.append("DIRTY: not everything could be put back. What is left to do:")
        lines += [f"  - {one}" for one in outcome.remaining]
    elif code is not Exit.FAULT:
        lines.append("Everything was put back.")
    if code is Exit.UNMET:
        lines.append(f"campaign: the verdicts are not all {expect}")
    return lines


@click.command()
@click.option(
    "--accept",
    "accepted",
    multiple=True,
    metavar="[HOST:]PATH",
    help="Keep this file as it is now, where someone else has changed it (without HOST: on every "
    "host where that is so); may be repeated.",
)
@options.as_json
@click.pass_context
def recover(context: click.Context, accepted: tuple[str, ...], as_json: bool) -> int:
    """Put back what an interrupted run left, restart what ran it, and verify.

    A second call finds nothing to do.
    """
    from campaign.operations import recover as recovering

    done = recovering.recover(options.left_workspace(context), accepted)
    if as_json:
        options.print_json({"exit": int(done.exit), **_recovered_data(done)})
    else:
        click.echo(shown(recovered_text(done)))
    if not done.awaiting:
        for one in done.unreached:
            tell(shown(f"campaign: {one}"))
    if done.unrecorded:
        tell(f"campaign: the hosts were seen to, but the runs stay open: {done.unrecorded}")
    return done.exit


def recovered_text(done: "Recovered") -> str:
    """What was put back and what is left to do, as a person reads it."""
    return "\n".join(_recovered(done))


def _recovered_data(done: "Recovered") -> dict[str, object]:
    return {
        "accepted": [
            {"host": one.host, "path": one.name, "original": one.original, "compare": one.compare}
            for one in done.accepted
        ],
        "restored": done.restored.paths,
        "lapses": done.restored.lapses,
        "restarted": [one.services for one in done.restored.cycles],
        "runs": done.runs,
        "remaining": done.remaining,
        "unreached": {
            one.host: {"error": str(one.error), "outstanding": one.paths} for one in done.unreached
        },
        "note": done.note,
        "unrecorded": done.unrecorded,
    }


def _kept(one: "Kept") -> Iterator[str]:
    yield f"kept {one} as it is now"
    if one.original is not None:
        yield f"  its original: {one.original}"
        yield f"  it may still hold what the run had changed; to see: {one.compare}"


def _recovered(done: "Recovered") -> list[str]:
    lines = [f"note: {done.note}"] if done.note else []
    lines += [line for one in done.accepted for line in _kept(one)]
    lines += map(lapse_text, done.restored.lapses)
    lines += [f"restored {path}" for path in done.restored.paths]
    for lived in done.restored.cycles:
        if lived.healthy_at is not None:
            lines.append(f"restarted {', '.join(lived.services)}")
    lines += [f"closed run {run}" for run in done.runs]
    did_something = len(lines) > bool(done.note)
    if done.remaining:
        lines.append("DIRTY: what is left to do:")
        lines += [f"  - {one}" for one in done.remaining]
    elif done.unreached:
        lines.append("All else was put back." if did_something else "Nothing to recover elsewhere.")
    elif not did_something:
        lines.append("Nothing to recover.")
    elif done.accepted:
        lines.append("Everything else was put back.")
    else:
        lines.append("Everything was put back.")
    return lines
