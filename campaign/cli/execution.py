"""How the commands that run playbooks ask, show what happens and say how it ended."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import Struct

from campaign.cli import options, plans
from campaign.cli.progress import Progress
from campaign.cli.text import lapse_text, shown, tell, when
from campaign.engine.dialling import Ahead
from campaign.engine.stop import Stop, handled
from campaign.errors import CampaignError, Exit
from campaign.operations import confirmations, junit
from campaign.operations import plan as planning
from campaign.operations.detach import launch
from campaign.operations.plan import Planned, Request
from campaign.operations.run import Ready, ready
from campaign.workspace import Workspace

if TYPE_CHECKING:
    from campaign.engine.run import Outcome


class Telling(Struct, frozen=True):
    """What is told: `diff`, the changes of files in the plan; and the verdict that is expected.

    Of long files `diff` None tells the head alone.
    """

    diff: bool | None
    as_json: bool
    expect: str | None = None


class Consent(Struct, frozen=True):
    """What the options say to a plan: yes, or the campaign's name; otherwise a person is asked.

    `as_planned`: the file of the one plan that this holds for; `for_s`: the seconds for which its
    name stands for the same plans again.
    """

    yes: bool
    yes_i_mean: str | None
    as_planned: Path | None = None
    for_s: float | None = None


def dry(workspace: Workspace, request: Request, telling: Telling, ahead: Ahead) -> None:
    """Shows the plan on standard output."""
    planned = planning.plan(workspace, request, ahead=ahead)
    _refuse_unjudged(planned, telling.expect)
    if telling.as_json:
        options.print_json(plans.as_data(planned))
    else:
        click.echo(plans.as_text(planned, diffs=telling.diff))


def execute(
    workspace: Workspace,
    request: Request,
    telling: Telling,
    consent: Consent,
    junit_xml: Path | None,
    ahead: Ahead,
) -> int:
    """Shows the plan, has it agreed to and carries it out; gives the exit code."""
    if junit_xml is not None:
        junit.check_place(junit_xml)
    given = None if consent.as_planned is None else plans.read(consent.as_planned)
    with ExitStack() as stack:
        with _unbegun():
            one = stack.enter_context(
                ready(workspace, request, options.command_line(), ahead=ahead, given=given)
            )
            _show_and_ask(one, telling, consent)
        outcome = carry_out(one)
    code = _ended(outcome, telling.expect, telling.as_json)
    if junit_xml is None:
        return code
    return _junit(junit_xml, workspace, outcome, telling.expect) or code


@contextmanager
def _unbegun() -> Iterator[None]:
    """Errors: CampaignError (INTERRUPTED), which says that nothing was changed, for Ctrl-C."""
    try:
        yield
    except KeyboardInterrupt:
        tell("")  # ends the line of a question
        what = "interrupted before the run began; nothing was changed"
        raise CampaignError(Exit.INTERRUPTED, what) from None


def _show_and_ask(one: Ready, telling: Telling, consent: Consent) -> None:
    """Errors: CampaignError where the plan is not agreed to, or has changed meanwhile."""
    _refuse_unjudged(one.planned, telling.expect)
    for lapse in one.lapses:
        tell(shown(lapse_text(lapse)))
    tell(plans.as_text(one.planned, diffs=telling.diff))
    if _confirm(one.workspace, one.planned, consent):
        one.look_again()
    _keep_confirmation(one, consent)


def execute_alone(
    workspace: Workspace, request: Request, telling: Telling, consent: Consent, ahead: Ahead
) -> int:
    """Shows the plan and has it agreed to; the same command, held to it, then goes on by itself.

    Gives 0 once its run has begun; where it could not, that command's exit code.
    """
    planned = planning.plan(workspace, request, ahead=ahead)
    _refuse_unjudged(planned, telling.expect)
    tell(plans.as_text(planned, diffs=telling.diff))
    _confirm(workspace, planned, consent)
    sure = ["--yes-i-mean", planned.system.campaign] if planned.system.protected else ["-y"]
    words = [one for one in sys.argv[1:] if one not in ("--detach", "-y", "--yes")]
    started = launch(
        workspace, [*words, *sure], options.AS_PLANNED, plans.as_json(planned), Path.cwd(), {}
    )
    begun = started.await_run(workspace)
    if begun is None:
        tell(started.printed.read_text("utf-8", "replace").rstrip())
        return started.process.wait()
    if telling.as_json:
        facts = {"run": begun.id, "pid": started.process.pid, "printed": started.printed}
        options.print_json({"exit": 0, **facts})
    tell(f"{begun.id} goes on by itself; campaign attach {begun.id} follows it")
    return Exit.COMPLETED


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
    """The exit code: USAGE where the run was well and the file cannot be written, else 0.

    A worse end stays what it is.
    """
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


def _keep_confirmation(one: Ready, consent: Consent) -> None:
    """Keeps for how long the plans of a run need not be confirmed again, where that is said."""
    if consent.for_s is not None:
        kept = confirmations.keep(one.workspace, one.planned, one.recorder, consent.for_s)
        tell(f"Confirmed until {when(kept.until)}: these plans, as they are now.")


def _is_covered(workspace: Workspace, planned: Planned) -> bool:
    """Whether an earlier confirmation covers the plan; it is told."""
    found = confirmations.covering(workspace, planned)
    if found is not None:
        tell(f"Confirmed by {found.by} at {when(found.given_at)}, until {when(found.until)}.")
    return found is not None


def _confirm(workspace: Workspace, planned: Planned, consent: Consent) -> bool:
    """Whether a person was asked, and agrees.

    Errors: CampaignError (REFUSED) where neither the options nor a person agree.
    """
    name, said = planned.system.campaign, consent.yes_i_mean
    if planned.system.protected and said is None and _is_covered(workspace, planned):
        return False
    if planned.system.protected:
        _confirm_protected(name, said)
    elif said is not None and said != name:
        raise CampaignError(Exit.REFUSED, f"this campaign is {name}, not {said}")
    elif not consent.yes and said is None:
        ask("Run this? [y/N] ", lambda answer: answer.lower() in ("y", "yes"), "-y")
    return said is None and (planned.system.protected or not consent.yes)


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
                "uncounted": list(one.uncounted),
            }
            for one in outcome.runs
        ],
        "kept": outcome.kept,
        "error": outcome.error,
        "remaining": list(outcome.remaining),
    }


def last_words(outcome: "Outcome", code: Exit, expect: str | None) -> list[str]:
    """What a person is told at the end of an invocation."""
    lines = [f"! {one.id}: {text}" for one in outcome.runs for text in one.uncounted]
    if outcome.error:
        lines.append(f"campaign: {outcome.in_short}")
    if outcome.remaining:
        lines.append("DIRTY: not everything could be put back. What is left to do:")
        lines += [f"  - {one}" for one in outcome.remaining]
    elif outcome.kept:
        back = f"campaign recover {outcome.runs[-1].id}"
        lines.append(f"Kept as changed: {outcome.kept}. To put it back: {back}")
    elif code is not Exit.FAULT:
        lines.append("Everything was put back.")
    if code is Exit.UNMET:
        lines.append(f"campaign: the verdicts are not all {expect}")
    return lines
