"""export: a campaign as one archive. Its format is told in docs/archive.md."""

import gzip
import hashlib
import io
import json
import os
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msgspec import Struct, field, to_builtins

from campaign.errors import CampaignError, Exit
from campaign.ledger.archive import dump
from campaign.ledger.version import VERSION
from campaign.workspace import Workspace

FORMAT = 1
"""The version of the archive's own form."""
MANIFEST = "manifest.json"
CHUNK = 1 << 20


class Member(Struct, frozen=True):
    """What the manifest says of a member: its bytes and their hash."""

    bytes: int
    sha256: str


class Manifest(Struct, frozen=True):
    """The first member: which versions, then each table (`tables/NAME.jsonl`) and each file of the
    workspace (`files/PATH`) that follow, in their order.
    """

    format: int
    ledger: int
    tables: dict[str, Member]
    files: dict[str, Member]


class Exported(Struct, frozen=True):
    """What is in the archive: rows by table, and the files; `gone` are artifacts without a file."""

    path: Path
    bytes: int
    rows: dict[str, int] = field(default_factory=dict)
    files: int = 0
    gone: tuple[str, ...] = ()


def export(workspace: Workspace, target: Path, *, replace: bool = False) -> Exported:
    """Writes the ledger, its artifacts, campaign.yaml, playbooks and patches to `target` (tar.gz).

    The same campaign gives the same bytes. Whoever has the archive has all the ledger has: only
    its owner may read it. A run under way is in it as far as it has come.

    Errors: CampaignError (USAGE where `target` is there and not to be replaced, or cannot be
    written).
    """
    if target.exists() and not replace:
        raise CampaignError(
            Exit.USAGE, f"{target} is there already", "name another file, or say --force"
        )
    try:
        with tempfile.TemporaryDirectory(dir=target.absolute().parent) as folder:
            tables, rows, artifacts = _dumped(workspace, Path(folder))
            found = {**_workspace_files(workspace), **artifacts}
            files = {name: path for name, path in sorted(found.items()) if path.is_file()}
            whole = Path(folder) / "archive"
            _write(whole, tables, files)
            size = whole.stat().st_size
            whole.replace(target)
    except OSError as error:
        raise CampaignError(Exit.USAGE, f"cannot write {target}: {error.strerror}") from error
    return Exported(target, size, rows, len(files), tuple(sorted(artifacts.keys() - files.keys())))


def _dumped(
    workspace: Workspace, folder: Path
) -> tuple[dict[str, Path], dict[str, int], dict[str, Path]]:
    """The ledger's tables as files in `folder`, their rows counted, and its artifacts' files."""
    tables, rows, artifacts = {}, {}, {}
    for one in dump(workspace.ledger):
        tables[one.table] = folder / f"{one.table}.jsonl"
        rows[one.table] = 0
        with tables[one.table].open("w", encoding="utf-8") as file:
            for line in one.lines:
                file.write(f"{line}\n")
                rows[one.table] += 1
                if one.table == "artifact":
                    path = str(json.loads(line)["path"])
                    artifacts[path] = workspace.root / path
    return tables, rows, artifacts


def _workspace_files(workspace: Workspace) -> dict[str, Path]:
    """What a person wrote: without it the ledger could be read, and nothing run again."""
    folders = (workspace.playbooks, workspace.root / "patches")
    found = [workspace.config, *(path for one in folders for path in one.rglob("*"))]
    return {path.relative_to(workspace.root).as_posix(): path for path in found}


def _write(whole: Path, tables: dict[str, Path], files: dict[str, Path]) -> None:
    manifest = Manifest(
        FORMAT,
        VERSION,
        {name: described(path) for name, path in tables.items()},
        {name: described(path) for name, path in files.items()},
    )
    head = json.dumps(to_builtins(manifest), indent=1).encode()
    handle = os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with (
        os.fdopen(handle, "wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        _add(tar, MANIFEST, io.BytesIO(head), len(head))
        for name, path in _members(tables, files):
            with path.open("rb") as member:
                _add(tar, name, member, path.stat().st_size)


def _members(tables: dict[str, Path], files: dict[str, Path]) -> Iterator[tuple[str, Path]]:
    yield from ((f"tables/{name}.jsonl", path) for name, path in tables.items())
    yield from ((f"files/{name}", path) for name, path in files.items())


def _add(tar: tarfile.TarFile, name: str, file: IO[bytes], size: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o600
    tar.addfile(member, file)


def described(path: Path) -> Member:
    """The size and the hash of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
        return Member(file.tell(), digest.hexdigest())
