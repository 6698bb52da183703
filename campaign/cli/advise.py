"""next and power: what a restart would teach, and what planned trials can show."""

from collections.abc import Iterator

import click

from campaign.cli import advice, options
from campaign.cli.run import run
from campaign.cli.text import columns, count, seconds, shown, tell
from campaign.errors import CampaignError, Exit
from campaign.operations.advise import Advice, advise
from campaign.operations.power import ByMismatch, ByRate, ByTime, Power, Settling, Side
from campaign.operations.power import power as reckon


@click.command()
@click.option("--run", "run_it", is_flag=True, help="Run the best one, after showing its plan.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask; for campaigns that are not protected.")
@click.option("--yes-i-mean", metavar="NAME", help="Do not ask; the protected campaign's name.")
@options.as_json
@click.pass_context
def next(
    context: click.Context, run_it: bool, yes: bool, yes_i_mean: str | None, as_json: bool
) -> int:
    """Rank what could be run next by what it teaches per second.

    Playbooks, and combinations of those that go together, are held against all restarts so far.
    """
    found = advise(options.workspace(context))
    if not run_it:
        _show(found, as_json)
        return Exit.COMPLETED
    tell(shown("\n".join(advice.lines(found))))
    if not found.options:
        raise CampaignError(Exit.REFUSED, "there is nothing to run next")
    best = (found.options[0].name,)
    code: int = context.invoke(run, playbooks=best, yes=yes, yes_i_mean=yes_i_mean, as_json=as_json)
    return code


def _show(found: Advice, as_json: bool) -> None:
    if as_json:
        options.print_json(found)
    else:
        click.echo(shown("\n".join(advice.lines(found))))


@click.command()
@click.argument("playbook")
@options.variables
@options.as_json
@click.pass_context
def power(context: click.Context, playbook: str, variables: tuple[str, ...], as_json: bool) -> None:
    """Show what the planned trials of PLAYBOOK can and cannot show. Nothing is run."""
    found = reckon(options.workspace(context), playbook, options.parsed(variables))
    if as_json:
        options.print_json(found)
    else:
        click.echo(shown("\n".join(_powers(found))))


def _powers(found: Power) -> Iterator[str]:
    yield f"{found.playbook}: {_against(found)}"
    if found.seconds is not None:
        yield f"takes about {seconds(found.seconds)} with its restarts and the way back"
    if found.unlike:
        yield f"{found.against} was seen under other conditions: {found.unlike}; {found.remedy}"
    if found.reproduce is not None:
        yield (
            "the baseline has not failed yet, so nothing could be seen to vanish:"
            f" try {count(found.reproduce, 'trial')} with nothing off first"
        )
    if found.by_rate is not None:
        yield from _by_rate(found.by_rate, found.against)
    if found.by_mismatch is not None:
        yield from _by_mismatch(found.by_mismatch, found.trials)
    if found.by_time is not None:
        yield from _by_time(found.by_time, found.against)
    if not found.trials:
        return
    yield (
        f"where restarts differ, {count(found.trials, 'trial')} after"
        f" {'one restart' if found.restarts == 1 else count(found.restarts, 'restart')} weigh as"
        f" {found.weight:.0f}: more restarts beat more trials"
    )
    if found.settling is not None:
        yield from _settling(found.settling)


def _against(found: Power) -> str:
    from hypotheses.exposure import exposure_text
    from hypotheses.rates import rate_text

    trials = f"{count(found.trials, 'trial')} " if found.trials else ""
    if found.own is not None:
        return _between_arms(found, found.own)
    control = rate_text(found.control) if found.control.total else "not measured yet"
    if found.by_time is not None:
        control = exposure_text(found.by_time.control, found.by_time.unit)
    return f"{trials}against {found.against} ({control})"


def _between_arms(found: Power, own: Side) -> str:
    from hypotheses.rates import share_text

    rate = found.control.fail / found.control.n if found.control.n else None
    often = "" if rate is None else f", {share_text(rate)}"
    return (
        f"{count(found.trials, 'trial')} in {count(found.restarts, 'restart')} against"
        f" {count(own.trials, 'trial')} of {found.against} in {count(own.restarts, 'restart')},"
        f" taken to fail as the baseline does{often}"
    )


def _by_time(found: ByTime, against: str) -> Iterator[str]:
    from hypotheses.exposure import amount_text

    rate = amount_text(found.control.amount / found.control.failures, found.unit)
    yield f"{amount_text(found.gone, found.unit)} without a failure show one in {rate} to be gone"
    if found.separated is None:
        yield f"no time without a failure is separated from {against}: it has to fail more often"
    else:
        needed = amount_text(found.separated, found.unit)
        yield f"{needed} without a failure are separated from {against} as it was seen"
    yield "one restart is at most leading, whatever it shows"


def _by_rate(found: ByRate, against: str) -> Iterator[str]:
    from hypotheses.by_model import chance_text

    if found.separated is None:
        yield f"cannot be separated from {against}, whatever they show: too few trials"
    else:
        yield f"separated from {against} only at {found.separated}; the chance of that if"
        rows = [("", "trials independent", "restarts differ")]
        rows += [
            (one.case, chance_text(one.chance), chance_text(one.alike)) for one in found.prospects
        ]
        yield columns(rows, right=(1, 2), indent="  ")
    yield "counts alone are at most leading, whatever they show"
    if found.trials_to_halve is not None:
        yield (
            f"a rate that is only halved takes about {found.trials_to_halve} trials an arm"
            " to be seen four times in five"
        )


def _by_mismatch(found: ByMismatch, trials: int) -> Iterator[str]:
    from hypotheses.by_model import chance_text

    yield (
        f"{found.failures} or more of {count(trials, 'trial')} fail, to be looked into, with a"
        f" probability of {chance_text(found.chance)};"
        f" {found.trials} trials bring them 19 times in 20"
    )


def _settling(found: Settling) -> Iterator[str]:
    from hypotheses.by_model import chance_text

    what = " and ".join(found.toggles)
    yield (
        f"with all restarts so far, one like it settles whether removing {what} ends it"
        f" with a probability of {chance_text(found.chance)}"
    )
    if found.restarts is None:
        yield "12 restarts, alternately with it and with nothing off, would not settle it"
    elif found.restarts > 1:
        yield (
            f"{found.restarts} restarts, alternately with it and with nothing off,"
            " settle it four times in five"
        )
