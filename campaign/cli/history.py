"""history: several campaigns, looked back at."""

from collections.abc import Iterator
from pathlib import Path

import click

from campaign.cli import options
from campaign.cli.text import columns, count, money, seconds, shown, spent, tell, when
from campaign.operations import history as looking
from campaign.operations.history import History


@click.command()
@click.argument(
    "ledgers", metavar="LEDGER...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@options.as_json
def history(ledgers: tuple[Path, ...], as_json: bool) -> None:
    """Look back at campaigns: LEDGERs are files, or folders that hold any number of them.

    What they cost, how many restarts it took to an answer, how long restarts take by service, what
    came to nothing, and which playbooks decided most for a restart.
    """
    found = looking.history(ledgers)
    if as_json:
        options.print_json(found)
        return
    for why in found.left_out:
        tell(shown(f"left out: {why}"))
    for what in found.twice:
        tell(shown(f"counted twice: {what}"))
    click.echo(shown("\n".join(_lines(found))))


def _lines(found: History) -> Iterator[str]:
    totals = looking.spent(found.campaigns)
    told = "; ".join(spent(costs, currency) for currency, costs in totals.items())
    yield f"{count(len(found.campaigns), 'campaign')}: {told}"
    yield ""
    yield columns(list(_campaigns(found)), right=(2, 3, 4, 5))
    if found.restarts:
        yield ""
        yield columns(list(_restarts(found)), right=range(1, 7))
    if found.playbooks:
        yield ""
        yield columns(list(_playbooks(found)), right=range(2, 8))


def _campaigns(found: History) -> Iterator[tuple[str, ...]]:
    yield ("campaign", "begun", "runs", "down", "cost", "restarts to an answer", "hypotheses")
    for one in found.campaigns:
        yield (
            one.name or str(one.path),
            when(one.begun_at)[:10],
            str(one.runs),
            seconds(one.costs.downtime_s),
            money(one.costs.money, one.currency),
            f"none in {one.costs.restarts}" if one.to_answer is None else str(one.to_answer),
            ", ".join(f"{number} {word}" for word, number in one.standings.items()) or "none",
        )


def _restarts(found: History) -> Iterator[tuple[str, ...]]:
    yield ("restart of", "restarts", "failed", "drain", "down", "warm-up", "in all")
    for one in found.restarts:
        means = (one.drain_s, one.down_s, one.warmup_s, one.downtime_s)
        yield (
            ", ".join(one.services.split()) + (f" in batches of {one.batch}" if one.batch else ""),
            str(one.restarts),
            str(one.failed),
            *("-" if mean is None else seconds(mean) for mean in means),
        )


def _playbooks(found: History) -> Iterator[tuple[str, ...]]:
    yield ("playbook", "kind", "runs", "false starts", "decided", "restarts", "a restart", "down")
    for one in found.playbooks:
        yield (
            one.playbook,
            one.kind,
            str(one.runs),
            str(one.false_starts),
            str(one.decided),
            str(one.restarts),
            f"{one.decided / one.restarts:.2f}" if one.restarts else "-",
            seconds(one.downtime_s),
        )
