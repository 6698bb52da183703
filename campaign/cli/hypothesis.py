"""hypothesis add, list, show, set, note, import, export."""

from collections.abc import Iterator
from pathlib import Path

import click

from campaign.cli import options
from campaign.cli.text import columns, shown, spent, when
from campaign.operations import hypotheses as operations
from campaign.operations.hypotheses import Listed, Shown
from hypotheses.hypothesis import GLYPHS, Hypothesis, Standing


@click.group()
def hypothesis() -> None:
    """Add, list, judge and note hypotheses."""


@hypothesis.command()
@click.argument("slug")
@click.option("--claim", required=True, help="What is the cause, so that it could be wrong.")
@click.option("--mechanism", default="", help="Why that would give the symptom.")
@click.option("--prior", type=float, help="Your weight for it before evidence, 0 to 1.")
@click.option("--if-true", default="", help="What would be seen if it is true.")
@click.option("--if-false", default="", help="What would be seen if it is not.")
@click.option("--assumption", "assumptions", multiple=True, help="May be repeated.")
@click.option("--link", "links", multiple=True, help="May be repeated.")
@options.as_json
@click.pass_context
def add(
    context: click.Context,
    slug: str,
    claim: str,
    mechanism: str,
    prior: float | None,
    if_true: str,
    if_false: str,
    assumptions: tuple[str, ...],
    links: tuple[str, ...],
    as_json: bool,
) -> None:
    """Add the hypothesis SLUG."""
    new = Hypothesis(slug, claim, mechanism, prior, if_true, if_false, assumptions, links)
    operations.add(options.workspace(context), new)
    options.tell_done(as_json, new, f"added {slug}")


@hypothesis.command()
@click.argument("slug")
@click.option("--claim", help="What is the cause, so that it could be wrong.")
@click.option("--mechanism", help="Why that would give the symptom.")
@click.option("--prior", type=float, help="Your weight for it before evidence, 0 to 1.")
@click.option("--no-prior", is_flag=True, help="Take your weight for it away.")
@click.option("--if-true", help="What would be seen if it is true.")
@click.option("--if-false", help="What would be seen if it is not.")
@click.option("--assumption", "assumptions", multiple=True, help="All of them; may be repeated.")
@click.option("--link", "links", multiple=True, help="All of them; may be repeated.")
@options.as_json
@click.pass_context
def edit(
    context: click.Context,
    slug: str,
    claim: str | None,
    mechanism: str | None,
    prior: float | None,
    no_prior: bool,
    if_true: str | None,
    if_false: str | None,
    assumptions: tuple[str, ...],
    links: tuple[str, ...],
    as_json: bool,
) -> None:
    """Change what is given of the hypothesis SLUG; its history keeps what it was.

    An empty text takes a text away; `--assumption ''` and `--link ''` all of them.
    """
    if prior is not None and no_prior:
        raise click.UsageError("--prior and --no-prior exclude each other")
    workspace = options.workspace(context)
    old = operations.shown(workspace, slug).listed.hypothesis
    new = Hypothesis(
        slug=slug,
        claim=old.claim if claim is None else claim,
        mechanism=old.mechanism if mechanism is None else mechanism,
        prior=None if no_prior else old.prior if prior is None else prior,
        predicts_if_true=old.predicts_if_true if if_true is None else if_true,
        predicts_if_false=old.predicts_if_false if if_false is None else if_false,
        assumptions=tuple(filter(None, assumptions)) if assumptions else old.assumptions,
        links=tuple(filter(None, links)) if links else old.links,
        standing=old.standing,
    )
    operations.change(workspace, new)
    said = f"nothing to change in {slug}" if new == old else f"changed {slug}"
    options.tell_done(as_json, new, said)


@hypothesis.command("list", short_help="List the hypotheses.")
@options.as_json
@click.pass_context
def list_(context: click.Context, as_json: bool) -> None:
    """List the hypotheses with their standing, counts and cost."""
    found = operations.listed(options.workspace(context))
    if as_json:
        options.print_json(found)
    elif not found:
        click.echo("no hypotheses yet; add one: campaign hypothesis add SLUG --claim '...'")
    else:
        heads = ("", "hypothesis", "standing", "failed", "claim")
        click.echo(columns([heads, *map(_row, found)], right=(3,)))


def _row(one: Listed) -> tuple[str, ...]:
    standing = one.hypothesis.standing
    counts = f"{one.costs.fail}/{one.costs.n}" if one.costs.n else "-"
    return GLYPHS[standing], one.hypothesis.slug, standing, counts, one.hypothesis.claim


@hypothesis.command()
@click.argument("slug")
@options.as_json
@click.pass_context
def show(context: click.Context, slug: str, as_json: bool) -> None:
    """Show one hypothesis with its history and its runs."""
    found = operations.shown(options.workspace(context), slug)
    if as_json:
        options.print_json(found)
    else:
        click.echo(shown(as_text(found)))


def as_text(found: Shown) -> str:
    """A hypothesis whole, as a person reads it."""
    return "\n".join(_shown(found))


def _shown(found: Shown) -> Iterator[str]:
    one = found.listed.hypothesis
    yield f"{GLYPHS[one.standing]} {one.slug}: {one.standing}"
    named = [
        ("claim", one.claim),
        ("mechanism", one.mechanism),
        ("prior", "" if one.prior is None else f"{one.prior:g}"),
        ("if true", one.predicts_if_true),
        ("if false", one.predicts_if_false),
        *(("assumes", text) for text in one.assumptions),
        *(("link", text) for text in one.links),
        ("cost", spent(found.listed.costs, found.listed.currency)),
    ]
    yield columns([(name, text) for name, text in named if text], indent="  ")
    yield "history:"
    for event in found.events:
        what = f"{event.kind} {event.standing}" if event.kind == "standing" else event.kind
        yield f"  {when(event.at)}  {what} (by {event.by}): {event.text}"
        if event.runs:
            yield f"      runs: {event.runs}"
    yield "runs:" if found.runs else "no runs yet"
    for run in found.runs:
        yield f"  {when(run.started_at)}  {run.id}  {run.status}"


@hypothesis.command("set", short_help="Overrule the standing of a hypothesis.")
@click.argument("slug")
@click.argument("standing", type=click.Choice([one.value for one in Standing]), metavar="STANDING")
@click.option("--reason", required=True, help="Why; it is kept and shown.")
@options.as_json
@click.pass_context
def set_(context: click.Context, slug: str, standing: str, reason: str, as_json: bool) -> None:
    """Overrule the standing of a hypothesis; the rules leave it alone from then on.

    STANDING is open, leading, supported, refuted, confirmed or abandoned.
    """
    operations.set_standing(options.workspace(context), slug, Standing(standing), reason)
    done = {"slug": slug, "standing": standing}
    options.tell_done(as_json, done, f"{slug}: {standing}, by you")


@hypothesis.command()
@click.argument("slug")
@click.argument("text")
@options.as_json
@click.pass_context
def note(context: click.Context, slug: str, text: str, as_json: bool) -> None:
    """Add a note to the history of a hypothesis."""
    operations.note(options.workspace(context), slug, text)
    options.tell_done(as_json, {"slug": slug, "note": text}, f"noted on {slug}")


@hypothesis.command("import", short_help="Add or update the hypotheses of a YAML file.")
@click.argument("file", type=click.Path(path_type=Path))
@options.as_json
@click.pass_context
def import_(context: click.Context, file: Path, as_json: bool) -> None:
    """Add the hypotheses of a YAML FILE, and bring known ones up to date."""
    done = operations.import_file(options.workspace(context), file)
    each = (("added", done.added), ("changed", done.changed), ("same", done.same))
    said = (f"{word}: {', '.join(slugs)}" for word, slugs in each if slugs)
    options.tell_done(as_json, done, "\n".join(said))


@hypothesis.command()
@click.pass_context
def export(context: click.Context) -> None:
    """Print all hypotheses as YAML that import reads."""
    click.echo(operations.export(options.workspace(context)), nl=False)
