"""import: a campaign out of an archive, all of it or nothing."""

import gzip
import hashlib
import json
import tarfile
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO

from msgspec import Struct

from campaign.engine.events import StandingMoved
from campaign.engine.standing import judge_anew
from campaign.errors import CampaignError, Exit
from campaign.ledger.archive import Dump, rebuild
from campaign.ledger.merge import Merged
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.ledger.version import VERSION
from campaign.operations.archive import CHUNK, FORMAT, MANIFEST, Manifest, Member, described
from campaign.workspace import Workspace

_PLACES = ("campaign.yaml", "playbooks/", "patches/", ".campaign/artifacts/")
"""Where an archive may put files: nowhere else, and never over one that is there."""
_DAMAGE = (
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
)


class Imported(Struct, frozen=True):
    """What came in: the runs now in the ledger, files written and files that were there already.

    `merged` says what was added to an existing ledger and `moved` which standings that changed;
    None and empty where there was no ledger.
    """

    runs: int
    written: int
    there: tuple[str, ...]
    merged: Merged | None = None
    moved: tuple[StandingMoved, ...] = ()


def unpack(root: Path, archive: Path, *, merge: bool) -> Imported:
    """Brings an archive into the folder `root`; `merge` adds it to the ledger that is there.

    Everything is read and checked before anything is written; the ledger comes last. No file is
    overwritten. Errors: LoadError; CampaignError (USAGE for a damaged archive, REFUSED for one of
    a newer format, of another campaign, or where a ledger is there that is not to be merged).
    """
    workspace = Workspace(root)
    there = workspace.ledger.exists()
    if there and not merge:
        raise CampaignError(
            Exit.REFUSED,
            f"{workspace.ledger} is there already",
            "add --merge to add the archive's runs to it, or import into another folder",
        )
    try:
        with tempfile.TemporaryDirectory(dir=root, prefix=".campaign-import-") as folder:
            unpacking = _Unpacking(workspace, archive, Path(folder))
            return unpacking.merged() if there else unpacking.moved_in()
    except OSError as error:
        where = error.filename or root
        raise CampaignError(Exit.USAGE, f"cannot import {where}: {error.strerror}") from error


class _Unpacking(Struct, frozen=True):
    """An archive on its way: its members and its ledger lie in `folder` until they are whole."""

    workspace: Workspace
    archive: Path
    folder: Path

    @property
    def ledger(self) -> Path:
        return self.folder / "campaign.db"

    def moved_in(self) -> Imported:
        written, there = self._placed(self._read())
        self.ledger.replace(self.workspace.ledger)
        return Imported(self._runs(), written, there)

    def merged(self) -> Imported:
        settings = self.workspace.load_system(secrets=False).statistics
        manifest = self._read()
        with Recorder.open(self.workspace.ledger, create=False) as recorder:
            merged = recorder.merge(self.ledger)
            written, there = self._placed(manifest)
            with Ledger.open(self.workspace.ledger) as ledger:
                slugs = [one.slug for one in ledger.hypotheses()]
            moved = judge_anew(recorder, slugs, settings) if "run" in merged.added else ()
        return Imported(self._runs(), written, there, merged, moved)

    def _runs(self) -> int:
        with Ledger.open(self.workspace.ledger) as ledger:
            return ledger.run_count()

    def _read(self) -> Manifest:
        """Checks every member against the manifest, and makes the ledger in `folder`."""
        try:
            with tarfile.open(self.archive, "r:gz") as tar:
                manifest = self._manifest(tar)
                self._extract(tar, manifest)
            rebuild(self.ledger, manifest.ledger, self._tables(manifest))
        except _DAMAGE as error:
            raise self._damaged(str(error) or type(error).__name__) from error
        except CampaignError as error:
            raise error if error.exit is Exit.REFUSED else self._damaged(error.what) from error
        return manifest

    def _damaged(self, why: str) -> CampaignError:
        what = f"{self.archive}: the archive is damaged, or none: {why}"
        return CampaignError(Exit.USAGE, what, "nothing was imported; export it again")

    def _manifest(self, tar: tarfile.TarFile) -> Manifest:
        first = tar.next()
        if first is None or first.name != MANIFEST:
            raise ValueError(f"it does not begin with {MANIFEST}")
        found = json.loads(_file(tar, first).read())
        self._check_newer("format", found["format"], FORMAT)
        self._check_newer("ledger", found["ledger"], VERSION)
        return Manifest(
            found["format"],
            found["ledger"],
            {name: Member(**one) for name, one in found["tables"].items()},
            {name: Member(**one) for name, one in found["files"].items()},
        )

    def _check_newer(self, what: str, version: int, known: int) -> None:
        if version > known:
            raise CampaignError(
                Exit.REFUSED,
                f"{self.archive}: its {what} has version {version}, and this program knows up to"
                f" {known}",
                "use a newer campaign",
            )

    def _extract(self, tar: tarfile.TarFile, manifest: Manifest) -> None:
        """Writes each member to a numbered file: no name of the archive is one on the disk yet."""
        for at, (name, told) in enumerate(_members(manifest)):
            member = tar.next()
            if member is None or member.name != name or not member.isfile():
                raise ValueError(f"{name} is not where it belongs")
            digest = hashlib.sha256()
            source = _file(tar, member)
            with (self.folder / str(at)).open("wb") as target:
                while chunk := source.read(CHUNK):
                    digest.update(chunk)
                    target.write(chunk)
            if (member.size, digest.hexdigest()) != (told.bytes, told.sha256):
                raise ValueError(f"{name} is not what it was")
        if tar.next() is not None:
            raise ValueError("there is more in it than it says")

    def _tables(self, manifest: Manifest) -> Iterator[Dump]:
        for at, table in enumerate(manifest.tables):
            with (self.folder / str(at)).open(encoding="utf-8", newline="\n") as lines:
                yield Dump(table, iter(lines))

    def _placed(self, manifest: Manifest) -> tuple[int, tuple[str, ...]]:
        """How many files were written, and which were there with other contents: they stay."""
        written, there = 0, []
        for at, (name, told) in enumerate(manifest.files.items(), len(manifest.tables)):
            target = self.workspace.root / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                (self.folder / str(at)).replace(target)
                written += 1
            elif described(target) != told:
                there.append(name)
        return written, tuple(there)


def _members(manifest: Manifest) -> Iterator[tuple[str, Member]]:
    """Errors: ValueError for a file that an archive may not bring."""
    for name, told in manifest.tables.items():
        yield f"tables/{name}.jsonl", told
    for name, told in manifest.files.items():
        if ".." in PurePosixPath(name).parts or not name.startswith(_PLACES):
            raise ValueError(f"{name!r} is not a place for a file")
        yield f"files/{name}", told


def _file(tar: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    file = tar.extractfile(member)
    if file is None:
        raise ValueError(f"{member.name} is no file")
    return file
