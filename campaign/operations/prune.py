"""prune: logs that nobody will read again go; every number stays."""

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.workspace import Workspace

DAY_S = 86_400.0


class Prunable(Struct, frozen=True):
    """What a run kept that can go: its artifacts' files with their bytes."""

    run: str
    ended_at: float
    files: tuple[Path, ...]
    bytes: int


class Pruned(Struct, frozen=True):
    """What went: files with their bytes, and by how many bytes the ledger became smaller."""

    files: int
    bytes: int
    ledger_bytes: int


def prunable(workspace: Workspace, older_than_days: int, keep: int) -> tuple[Prunable, ...]:
    """The runs that ended longer ago, the oldest first, but for the `keep` newest runs of all.

    A run under way, or one that left something to recover, keeps all it has. Errors: CampaignError.
    """
    before = time.time() - older_than_days * DAY_S
    with Ledger.open(workspace.ledger) as ledger:
        old = [run for run in ledger.runs()[keep:] if _is_over(run, before)]
        return tuple(_prunable(workspace, ledger, run) for run in reversed(old))


def prune(workspace: Workspace, what: Collection[Prunable]) -> Pruned:
    """Removes the files, and the ends of output that the ledger keeps of these runs.

    Errors: CampaignError.
    """
    before = workspace.ledger.stat().st_size
    with Recorder.open(workspace.ledger, create=False) as recorder:
        recorder.drop_tails(one.run for one in what)
        files = [path for one in what for path in one.files]
        freed = sum(map(_removed, files))
        recorder.compact()
    _remove_empty({path.parent for path in files})
    return Pruned(len(files), freed, max(0, before - workspace.ledger.stat().st_size))


def _is_over(run: records.Run, before: float) -> bool:
    return run.ended_at is not None and run.ended_at < before and run.state == "clean"


def _prunable(workspace: Workspace, ledger: Ledger, run: records.Run) -> Prunable:
    files = tuple(_files(workspace, ledger.artifacts(run.id)))
    size = sum(path.stat().st_size for path in files)
    return Prunable(run.id, run.ended_at or 0.0, files, size)


def _files(workspace: Workspace, artifacts: Iterable[records.Artifact]) -> Iterator[Path]:
    """Only files that lie where artifacts do, wherever a path of the ledger leads."""
    place = workspace.artifacts.resolve()
    for one in artifacts:
        path = (workspace.root / one.path).resolve()
        if path.is_relative_to(place) and path.is_file():
            yield path


def _removed(path: Path) -> int:
    try:
        size = path.stat().st_size
        path.unlink()
    except OSError as error:
        raise CampaignError(Exit.USAGE, f"cannot remove {path}: {error.strerror}") from error
    return size


def _remove_empty(folders: Iterable[Path]) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()
