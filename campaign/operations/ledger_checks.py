"""doctor --ledger: whether the ledger and what it refers to are whole, and what can be saved."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from campaign.errors import CampaignError
from campaign.ledger.damage import Readable, Soundness, readable, salvage, soundness
from campaign.ledger.kept_files import KeptFiles
from campaign.ledger.records import Artifact
from campaign.operations.findings import Checkup, Finding, listed
from campaign.workspace import Workspace

_PLACE = "ledger"
_CHUNK = 1 << 20


def examine_ledger(workspace: Workspace) -> Checkup:
    """Reads all of the ledger and every file that it names; changes nothing."""
    return Checkup(tuple(_findings(workspace)))


def save_ledger(workspace: Workspace, target: Path) -> tuple[Readable, ...]:
    """Makes a new ledger at `target` of what can be read of this one. Errors: CampaignError."""
    return salvage(workspace.ledger, target)


def _findings(workspace: Workspace) -> Iterator[Finding]:
    path = workspace.ledger
    try:
        found = soundness(path)
        yield from _structure(path, found)
        if found.faults:
            yield from _rescue(path)
            return
        yield from _files(workspace)
    except CampaignError as error:
        yield Finding(_PLACE, "opens", str(error), "fail")


def _structure(path: Path, found: Soundness) -> Iterator[Finding]:
    size = path.stat().st_size
    if found.faults:
        what = f"{path.name} is damaged: {listed(found.faults, 3)}"
        yield Finding(
            _PLACE, "structure", what, "fail", "put back a copy, or save what can be read"
        )
        return
    yield Finding(
        _PLACE, "structure", f"{path.name} is whole: version {found.version}, {size} bytes"
    )
    if found.dangling:
        rows = [f"{count} of {table}" for table, count in found.dangling.items()]
        what = f"rows refer to rows that are not there: {listed(rows)}"
        yield Finding(_PLACE, "references", what, "fail", _save(path))
    else:
        yield Finding(_PLACE, "references", "every row refers to rows that are there")
    if found.miscounted:
        what = f"{found.miscounted} observations have other trials than were counted"
        yield Finding(_PLACE, "counts", what, "fail", _save(path))
    else:
        yield Finding(_PLACE, "counts", "the trials are as many as were counted")


def _save(path: Path) -> str:
    return f"campaign doctor --ledger --salvage {path.stem}-saved{path.suffix}"


def _rescue(path: Path) -> Iterator[Finding]:
    """What of a damaged ledger can be read, table by table."""
    for one in readable(path):
        if one.whole:
            yield Finding(_PLACE, "readable", f"{one.table}: all {one.rows} rows can be read")
        else:
            what = f"{one.table}: {one.rows} rows can be read, others are lost"
            yield Finding(_PLACE, "readable", what, "warn")
    yield Finding(_PLACE, "salvage", "what can be read makes a new ledger", "ok", _save(path))


def _files(workspace: Workspace) -> Iterator[Finding]:
    """The kept files: there, with their hashes; and those that no run knows."""
    folder = workspace.artifacts.relative_to(workspace.root)
    with KeptFiles.open(workspace.ledger) as ledger:
        kept, pruned = ledger.artifacts(), ledger.pruned()
        known = {one.path for one in kept} | {str(folder / one) for one in ledger.outputs()}
    gone = [one for one in kept if not (workspace.root / one.path).is_file()]
    yield from _gone([one for one in gone if one.run not in pruned], len(kept) - len(gone))
    other = [one.path for one in kept if one not in gone and not _is_whole(workspace, one)]
    if other:
        what = f"{len(other)} kept files are not what was kept: {listed(other)}"
        yield Finding(_PLACE, "hashes", what, "fail", "trust the ledger, and not these files")
    yield from _orphans(workspace, known)


def _gone(lost: list[Artifact], there: int) -> Iterator[Finding]:
    if lost:
        what = f"{len(lost)} kept files are not there: {listed([one.path for one in lost])}"
        fix = "every number is in the ledger; put them back from a copy, if their text is wanted"
        yield Finding(_PLACE, "files", what, "warn", fix)
    else:
        yield Finding(_PLACE, "files", f"{there} kept files are there")


def _is_whole(workspace: Workspace, one: Artifact) -> bool:
    path = workspace.root / one.path
    if path.stat().st_size != one.bytes:
        return False
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            found.update(piece)
    return found.hexdigest() == one.sha256


def _orphans(workspace: Workspace, known: set[str]) -> Iterator[Finding]:
    root = workspace.root
    there = (path for path in workspace.artifacts.rglob("*") if path.is_file())
    strays = sorted(str(path.relative_to(root)) for path in there)
    strays = [one for one in strays if one not in known]
    if strays:
        what = f"{len(strays)} files that no run knows: {listed(strays)}"
        yield Finding(_PLACE, "orphans", what, "warn", "read them, and remove them")
    else:
        yield Finding(_PLACE, "orphans", "every kept file belongs to a run")
