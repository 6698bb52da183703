"""compare."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.odd_keys import excerpt, heading, more
from campaign.cli.text import shown
from campaign.errors import Exit
from campaign.operations import compare_logs
from campaign.operations.compare_logs import STDIN, Asked, Found
from playbooks.playbook import RowSpec

if TYPE_CHECKING:
    from playbooks.join.joining import Odd


@click.command()
@click.argument("left")
@click.argument("right")
@click.option("--as", "playbook", metavar="PLAYBOOK", help="As the compare step of this playbook.")
@click.option("--match", metavar="REGEX", help="Finds the groups of key and value in a line.")
@click.option("--right-match", metavar="REGEX", help="On the right, where that is another one.")
@click.option(
    "--key", multiple=True, metavar="NAME", help="A group that is the key, or part of it."
)
@click.option("--value", multiple=True, metavar="NAME", help="A group that must agree.")
@click.option("--field", metavar="PATH", help="Of lines that are JSON: the text that is read.")
@click.option("--skip", metavar="REGEX", help="Lines in which this is found are left out.")
@click.option("--in-order", is_flag=True, help="Join the nth line of a key with the nth.")
@click.option("--known-bad", metavar="FILE", help="A log that names keys corrupted on purpose.")
@click.option("--bad-match", metavar="REGEX", help="Finds the key in it.")
@click.option("--show", type=click.IntRange(0), default=10, help="Show so many keys; else 10.")
@click.option("--expect", type=click.Choice(["match"]), help="Exit 1 unless every key matches.")
@options.as_json
@click.pass_context
def compare(
    context: click.Context,
    left: str,
    right: str,
    playbook: str | None,
    match: str | None,
    right_match: str | None,
    key: tuple[str, ...],
    value: tuple[str, ...],
    field: str | None,
    skip: str | None,
    in_order: bool,
    known_bad: str | None,
    bad_match: str | None,
    show: int,
    expect: str | None,
    as_json: bool,
) -> int:
    """Join the logs LEFT and RIGHT by key, and show the keys whose values differ.

    Plain files, or packed by gzip, xz, bzip2 or zstd; - is standard input. Without --match a line
    is a JSON object, and --key and --value name its fields: a.b is b within a.
    """
    spec = RowSpec(match, key or ("key",), value or ("value",), field, skip)
    _refuse_unclear(context, left, right, playbook, spec, known_bad, bad_match)
    other = RowSpec(right_match or match, spec.key, spec.value, field, skip)
    asked = Asked(left, right, spec, other, playbook, in_order, known_bad, bad_match)
    found = compare_logs.compare(context.find_root().obj, asked)
    if as_json:
        options.print_json(found)
    else:
        click.echo(shown("\n".join(_lines(found, left, right, show))))
    agree = found.counts.matched == found.counts.total and not found.lost
    return Exit.COMPLETED if agree or expect is None else Exit.UNMET


def _refuse_unclear(
    context: click.Context,
    left: str,
    right: str,
    playbook: str | None,
    spec: RowSpec,
    known_bad: str | None,
    bad_match: str | None,
) -> None:
    """Errors: click.UsageError where the options do not say how the files are joined."""
    said = spec != RowSpec()
    if playbook is not None and (said or bad_match):
        raise click.UsageError("--as says how the logs are joined: give no other option", context)
    if playbook is None and spec.match is None and (spec.key, spec.value) == (("key",), ("value",)):
        what = "say how keys and values are found: --match, --key and --value, or --as PLAYBOOK"
        raise click.UsageError(what, context)
    if playbook is None and (known_bad is None) != (bad_match is None):
        raise click.UsageError("--known-bad and --bad-match belong together", context)
    if [left, right, known_bad].count(STDIN) > 1:
        raise click.UsageError("standard input can be one side only", context)


def _lines(found: Found, left: str, right: str, show: int) -> Iterator[str]:
    counts = found.counts
    yield (
        f"{left} with {right}: {counts.total} keys, {counts.matched} match, "
        f"{counts.mismatched} mismatch, {counts.left_only} left only, "
        f"{counts.right_only} right only, {counts.duplicate} duplicate; "
        f"coverage {found.coverage:.1%}"
    )
    if found.lost:
        yield f"lines of JSON that were cut off: {found.lost}; nobody knows which keys are missing"
    if found.known_bad is not None:
        seen = found.known_bad - found.unseen
        yield f"known bad: {seen} of {found.known_bad} mismatch; {found.others} others do"
    for odd in found.odd[:show]:
        yield from _odd(odd)
    yield from more(counts, [odd.state.value for odd in found.odd[:show]])


def _odd(odd: "Odd") -> Iterator[str]:
    yield heading(odd.state, odd.key, odd.differs)
    for side, one in (("left", odd.left), ("right", odd.right)):
        if one is not None:
            yield from excerpt(side, one.number, one.before, one.line, one.after)
