"""autopilot: the best restart again and again, each told before and after."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf

import click
from msgspec import to_builtins

from campaign.cli import advice, options
from campaign.cli.execution import as_data, ask, last_words, watched
from campaign.cli.text import count, shown, spent, tell
from campaign.engine.budget import Limits
from campaign.errors import Exit
from campaign.operations.autopilot import Autopilot, Chosen, Ended, Ran
from hypotheses.planner import Purpose


@click.command()
@click.option(
    "--budget",
    "budget_s",
    metavar="DURATION",
    callback=options.duration,
    help="All the time that it may take, such as 30m: restarts, trials and ways back.",
)
@click.option("--restarts", type=click.IntRange(min=1), help="The restarts it may make.")
@click.option(
    "--money", type=click.FloatRange(min=0, min_open=True), help="What it may cost, at most."
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask before the first restart.")
@click.option("-n", "--dry-run", "-C", is_flag=True, help="Show the first choice and stop.")
@options.as_json
@click.pass_context
def autopilot(
    context: click.Context,
    budget_s: float | None,
    restarts: int | None,
    money: float | None,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run what teaches most, weigh it, and go on, without asking in between.

    It ends when a hypothesis is decided, the budget is spent, none of the listed is left, nothing
    left teaches, or at the first run that fails or cannot be weighed. Every run puts back what it
    changed, and what that takes is kept in reserve. Ctrl-C stops and puts back. Never for
    protected campaigns. With --json, one line of JSON an event.
    """
    limits = Limits(
        restarts=inf if restarts is None else restarts,
        seconds=inf if budget_s is None else budget_s,
        money=inf if money is None else money,
    )
    pilot = Autopilot(options.workspace(context), limits, options.command_line())
    return _fly(pilot, yes, dry_run, as_json)


def _fly(pilot: Autopilot, yes: bool, dry_run: bool, as_json: bool) -> int:
    step = pilot.choose()
    _say(step, tell, as_json)
    if isinstance(step, Ended):
        return step.exit
    if dry_run:
        return Exit.COMPLETED
    if not yes:
        ask("Run this, and go on by itself? [y/N] ", _is_yes, "-y")
    with watched() as (progress, stop):
        while isinstance(step, Chosen):
            ran = pilot.run(step, progress, stop)
            _say(ran, progress.line, as_json)
            step = pilot.choose(ran, stop)
            _say(step, progress.line, as_json)
    return step.exit


def _is_yes(answer: str) -> bool:
    return answer.lower() in ("y", "yes")


def _say(event: Chosen | Ran | Ended, line: Callable[[str], None], as_json: bool) -> None:
    """For people on standard error, for programs on standard output."""
    match event:
        case Chosen():
            told, data = _chosen(event), _chosen_data(event)
        case Ran():
            told, data = _ran(event), _ran_data(event)
        case Ended():
            told, data = _ended(event), {"event": "ended", **to_builtins(event)}
    for one in told:
        line(shown(one))
    if as_json:
        with suppress(OSError):
            options.print_json_line(data)


def _chosen_data(event: Chosen) -> dict[str, object]:
    found = event.advice
    return {
        "event": "chosen",
        "number": event.number,
        "option": event.option,
        "notes": found.notes,
        "parts": found.parts,
        "none": found.none,
        "left": found.left,
    }


def _ran_data(event: Ran) -> dict[str, object]:
    return {
        "event": "ran",
        "number": event.chosen.number,
        "exit": event.outcome.exit,
        **as_data(event.outcome),
        "parts": event.advice.parts,
        "none": event.advice.none,
    }


def _chosen(event: Chosen) -> Iterator[str]:
    option, found = event.option, event.advice
    yield ""
    yield f"== {event.number}: {option.name}, to learn {option.teaches}"
    if option.purpose in (Purpose.SEARCH, Purpose.PROBE):
        yield f"   why: {advice.preferred(found.options)}"
    else:
        yield f"   why: {'; '.join(found.notes) or option.purpose}"
    if told := advice.prospect(option):
        yield f"   {told}"
    yield f"   takes {advice.price_text(option, found.currency)}"
    yield f"   left: {advice.left_text(found.left, found.currency)}"


def _ran(event: Ran) -> Iterator[str]:
    before, now = (
        advice.believed(one.parts, one.none) for one in (event.chosen.advice, event.advice)
    )
    if event.outcome.runs:
        yield from last_words(event.outcome, event.outcome.exit, None)
    else:
        yield f"campaign: {event.outcome.error}"
    if event.outcome.exit is Exit.COMPLETED and before == now:
        yield f"   believed as before: {now}"
    elif event.outcome.exit is Exit.COMPLETED:
        yield f"   believed before: {before}"
        yield f"   believed now:    {now}"


def _ended(event: Ended) -> Iterator[str]:
    yield ""
    yield f"Ended after {count(event.runs, 'run')}: {event.reason}"
    yield f"believed: {advice.believed(event.parts, event.none)}"
    yield f"cost: {spent(event.cost, event.currency)}"
