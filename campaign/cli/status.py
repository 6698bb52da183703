"""status: read from the ledger, quick to start."""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import click

from campaign.cli import options
from campaign.cli.text import columns, count, lapse_text, money, seconds, shown, spent, when
from campaign.ledger.stack import Staying
from campaign.operations import status as reading
from campaign.operations.status import Status
from hypotheses.hypothesis import GLYPHS

if TYPE_CHECKING:
    from campaign.operations.contact import Contact


@click.command()
@options.as_json
@click.pass_context
def status(context: click.Context, as_json: bool) -> None:
    """Show the campaign, its hypotheses, what they cost, and what was left undone."""
    found = reading.status_with_hosts(options.workspace(context))
    if as_json:
        options.print_json(found)
        return
    click.echo("\n".join(_lines(found)))


def host_lines(found: "Contact") -> Iterator[str]:
    """What a host has to say of runs that lost their operator."""
    holder = found.holder
    if found.error:
        yield f"! host {found.host}: {found.error}"
    for one in found.lapses:
        yield lapse_text(one)
    if holder is not None and holder.lapsed:
        yield f"  host {found.host} puts itself back now"
    elif holder is not None and holder.waits_until is not None:
        yield (
            f"  host {found.host} waits for {holder.who} until {when(holder.waits_until)}, and "
            "then puts itself back"
        )


def staying_lines(kept: Staying) -> Iterator[str]:
    """What a run keeps changed, where, and how it is put back."""
    names = f" for {', '.join(kept.hypotheses)}" if kept.hypotheses else ""
    since = f"since {when(kept.kept_at)}"
    yield f"kept by {kept.run}{names} {since}; to put it back: campaign recover {kept.run}"
    yield from (f"  {host}:{path}" for host, path in kept.paths)


def _stack_lines(found: "Contact", known: Collection[str]) -> Iterator[str]:
    """What the host has to say of what is kept there, beside what the ledger knows."""
    for one in found.stack:
        back = f"campaign recover {one.facts.id}"
        if one.facts.id not in known:
            by = f"{one.facts.id} of {one.who}, which this ledger does not know,"
            yield f"kept by {by} since {when(one.kept_at)}; to put it back: {back}"
            yield from (f"  {found.host}:{path.path}" for path in one.paths)
        for path in one.paths:
            if not path.as_kept:
                what = f"{path.path}, kept by {one.facts.id}, was changed by someone else"
                yield f"! host {found.host}: {what}; {back} says what to do"


def _lines(found: Status) -> Iterator[str]:
    name = found.campaign.name if found.campaign else "(not run yet)"
    currency = found.campaign.currency if found.campaign else ""
    yield shown(f"{name} | {count(found.runs, 'run')} | {_spent(found, currency)}")
    if found.campaign and found.campaign.symptom:
        yield shown(f"symptom: {found.campaign.symptom}")
    empty = "not measured yet; a playbook of kind baseline does it"
    others = f"; {count(found.unlike, 'trial')} under other conditions left out"
    told = f"{found.tally}{others if found.unlike else ''}"
    yield f"baseline: {told if found.baseline.total else empty}"
    if found.declared is None:
        yield "! campaign.yaml is not valid; run: campaign check"
    for run in found.running:
        yield shown(f"running: {run.id} since {when(run.started_at)} (pid {run.owner_pid})")
    for run in found.left:
        what = "could not be put back whole" if run.state == "dirty" else "was interrupted"
        yield shown(f"! {run.id} {what}; run: campaign recover")
    for kept in found.kept:
        yield from map(shown, staying_lines(kept))
    known = {kept.run for kept in found.kept} | {run.id for run in found.left}
    for one in found.hosts:
        yield from map(shown, host_lines(one))
        yield from map(shown, _stack_lines(one, known))
    yield ""
    yield from _hypotheses(found, currency)


def _spent(found: Status, currency: str) -> str:
    """What was spent, of as much as campaign.yaml allows where it does."""
    said, total = found.declared, found.total
    if said is None or not said.limited:
        return spent(total, currency)
    restarts, down = count(total.restarts, "restart"), seconds(total.downtime_s)
    if said.restarts is not None:
        restarts = f"{total.restarts} of {count(said.restarts, 'restart')}"
    if said.downtime_s is not None:
        down += f" of {seconds(said.downtime_s)}"
    occupied = seconds(total.occupied_s)
    if said.seconds is not None:
        occupied += f" of {seconds(said.seconds)}"
    parts = [restarts, f"{down} down", f"{occupied} occupied"]
    if said.money is not None:
        parts.append(f"{total.money:.2f} of {money(said.money, currency)}")
    elif currency or total.money:
        parts.append(money(total.money, currency))
    return ", ".join(parts) + (" | over the budget" if found.is_over else "")


def _hypotheses(found: Status, currency: str) -> Iterator[str]:
    if not found.hypotheses:
        yield "no hypotheses yet; add one: campaign hypothesis add SLUG --claim '...'"
        return
    rows = [("", "hypothesis", "standing", "fail/n", "restarts", "down", "cost")]
    for one in found.hypotheses:
        standing = one.standing or ""
        counts = f"{one.fail}/{one.n}" if one.n else "-"
        rows.append(
            (
                GLYPHS.get(standing, " "),
                one.hypothesis,
                standing,
                counts,
                str(one.restarts),
                seconds(one.downtime_s),
                money(one.money, currency),
            )
        )
    yield columns(rows, right=(3, 4, 5, 6))
