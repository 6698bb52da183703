"""runs compare."""

from collections.abc import Iterator

import click

from campaign.cli import options
from campaign.cli.text import columns, money, seconds, when
from campaign.operations.compare import Compared, compare
from campaign.operations.runs import Listed


@click.command("compare", short_help="Show two runs side by side.")
@click.argument("first")
@click.argument("second")
@options.as_json
@click.pass_context
def compare_runs(context: click.Context, first: str, second: str, as_json: bool) -> None:
    """Show the runs FIRST and SECOND side by side: what differs in their conditions, their trials,
    and what the trials allow to say about the difference.

    Nothing is judged: verdicts weigh every restart under like conditions.
    """
    found = compare(options.workspace(context), first, second)
    if as_json:
        options.print_json(found)
    else:
        click.echo(as_text(found))


def as_text(found: Compared) -> str:
    """Two runs side by side, as `campaign runs compare` prints them."""
    return "\n".join(_lines(found))


def _lines(found: Compared) -> Iterator[str]:
    pair = found.first, found.second
    rows = [("", *(one.run.id for one in pair))]
    rows += [(name, *map(text, pair)) for name, text in _ROWS]
    yield columns(rows)
    yield ""
    if found.conditions:
        yield "conditions that differ:"
        yield columns([(name, *both) for name, both in found.conditions.items()], indent="  ")
    else:
        yield "no condition differs"
    yield ""
    yield _difference(found)


def _difference(found: Compared) -> str:
    from hypotheses.rates import difference_text, p_text

    if found.difference is None:
        return "no trials to compare: a side has none that count"
    text = difference_text(found.first.counts, found.second.counts)
    return f"difference (first minus second): {text}, Fisher {p_text(found.difference.p)}"


def _verdict(one: Listed) -> str:
    words = (
        f"{last.word}, {last.qualifier}" if last.qualifier else last.word
        for last in one.verdicts[-1:]
    )
    return next(words, "-")


_ROWS = (
    ("started", lambda one: when(one.run.started_at)),
    ("status", lambda one: f"{one.run.status}, {one.run.state}"),
    ("hypotheses", lambda one: ", ".join(one.hypotheses) or "-"),
    ("verdict", _verdict),
    ("failed", lambda one: str(one.tally) if one.counts.n else "-"),
    ("restarts", lambda one: str(one.costs.restarts)),
    ("down", lambda one: seconds(one.costs.downtime_s)),
    ("cost", lambda one: money(one.costs.money, one.currency)),
)
