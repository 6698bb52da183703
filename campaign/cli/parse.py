"""parse."""

from collections.abc import Iterator

import click

from campaign.cli import options
from campaign.cli.text import columns, count, shown
from campaign.operations import parse as parsing
from campaign.operations.parse import Asked, Reading
from hypotheses.rates import rate_text


@click.command()
@click.argument("name", metavar="REPRODUCER|PLAYBOOK|FORMAT")
@click.argument("file", metavar="FILE")
@click.option("--fail", multiple=True, metavar="OUTCOME", help="An outcome that is a failure.")
@click.option("--pass", "passed", multiple=True, metavar="OUTCOME", help="One that is a pass.")
@click.option("--censored", multiple=True, metavar="OUTCOME", help="One that was cut short.")
@click.option(
    "-o",
    "--option",
    "pairs",
    multiple=True,
    metavar="NAME=VALUE",
    help="An option of the format, as below `parse`; may be repeated.",
)
@click.option("--attribute", "attributes", multiple=True, metavar="FIELD", help="A field to keep.")
@click.option("--planned", type=click.IntRange(0), help="How many trials there should be.")
@click.option("--exit", "code", type=click.IntRange(0, 255), help="The program's exit code.")
@click.option("--cut", is_flag=True, help="The program was stopped: the end may be missing.")
@options.variables
@options.as_json
@click.pass_context
def parse(
    context: click.Context,
    name: str,
    file: str,
    fail: tuple[str, ...],
    passed: tuple[str, ...],
    censored: tuple[str, ...],
    pairs: tuple[str, ...],
    attributes: tuple[str, ...],
    planned: int | None,
    code: int | None,
    cut: bool,
    variables: tuple[str, ...],
    as_json: bool,
) -> None:
    """Show what would be counted in FILE, an output from yesterday say; - is standard input.

    It is read as the reproducer's, as that of the PLAYBOOK, or by the name of a format with its
    options. What cannot be counted ends with exit code 2.
    """
    extra = options.parsed(pairs, "--option")
    values = options.parsed(variables)
    asked = Asked(name, file, fail, passed, censored, extra, attributes, values, planned, code, cut)
    reading = parsing.parse(context.find_root().obj, asked)
    if as_json:
        options.print_json(reading)
    else:
        click.echo(shown("\n".join(_lines(reading, file))))


def _lines(reading: Reading, file: str) -> Iterator[str]:
    counts = reading.counts
    form = "" if reading.source == reading.format else f" ({reading.format})"
    yield f"{file} as {reading.source}{form}: {count(counts.total, 'trial')}{_known(reading)}"
    rows = [(one.outcome, one.result, str(one.trials)) for one in reading.outcomes]
    if rows:
        yield columns([("outcome", "counts as", "trials"), *rows], right=(2,), indent="  ")
    censored = f", {counts.censored} censored" if counts.censored else ""
    yield f"failed {rate_text(counts)}{censored}"
    yield from (f"! {warning}" for warning in reading.warnings)
    yield from (f"split by {split}" for split in reading.splits)


def _known(reading: Reading) -> str:
    said = [
        f"{number} with {what}"
        for number, what in ((reading.named, "an id"), (reading.keyed, "keys"))
        if number
    ]
    return f", {', '.join(said)}" if said else ""
