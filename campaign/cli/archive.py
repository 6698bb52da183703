"""export, import, history, prune: what is kept of campaigns, and moved."""

from collections.abc import Iterator
from pathlib import Path

import click

from campaign.cli import options
from campaign.cli.text import count, shown
from campaign.operations.archive import export as pack
from campaign.operations.unpack import Imported, unpack


@click.command()
@click.argument("archive", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--force", is_flag=True, help="Write over a FILE that is there.")
@options.as_json
@click.pass_context
def export(context: click.Context, archive: Path, force: bool, as_json: bool) -> None:
    """Write the campaign to FILE (.tar.gz): ledger, artifacts, campaign.yaml, playbooks, patches.

    FILE may be read by its owner only: it holds all that the ledger holds. One that
    is there is not written over without --force.
    """
    if archive.name == "-":
        raise click.UsageError("an archive is written to a file, not to standard output: name one")
    done = pack(options.workspace(context), archive, replace=force)
    if as_json:
        options.print_json(done)
        return
    rows = sum(done.rows.values())
    click.echo(
        f"wrote {done.path}: {count(done.rows['run'], 'run')}, {count(rows, 'row')}, "
        f"{count(done.files, 'file')}, {count(done.bytes, 'byte')}"
    )
    if done.gone:
        click.echo(f"not in it: {count(len(done.gone), 'artifact')} whose file is gone")


@click.command("import")
@click.argument("archive", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--merge", is_flag=True, help="Add its runs to the ledger that is there.")
@options.as_json
@click.pass_context
def import_(context: click.Context, archive: Path, merge: bool, as_json: bool) -> None:
    """Bring in the campaign that `campaign export` wrote to FILE; no file is overwritten."""
    done = unpack(context.find_root().obj, archive, merge=merge)
    if as_json:
        options.print_json(done)
    else:
        click.echo(shown("\n".join(_imported(done))))


def _imported(done: Imported) -> Iterator[str]:
    files = count(done.written, "file")
    if done.merged is None:
        yield f"imported {count(done.runs, 'run')}, {files}"
    else:
        added = count(done.merged.added.get("run", 0), "run")
        yield f"added {added} ({done.runs} now), {files}"
        for table, rows in done.merged.differed.items():
            yield f"kept ours of {table}: {count(rows, 'row')} differed"
        if not done.merged.same_key:
            yield (
                "the two ledgers hash values of environments with different keys:"
                " their runs are not comparable by those"
            )
    for one in done.moved:
        yield f"{one.hypothesis}: {one.before} -> {one.after}; {one.reason}"
    for name in done.there:
        yield f"left as it is: {name}, which the archive has otherwise"
