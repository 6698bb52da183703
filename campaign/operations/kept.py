"""What stays as an operator found it, remembered in the workspace until the ledger has it.

The host's journal lets go of it at once, and the ledger may be unusable just then.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct, to_builtins

from campaign.workspace import Workspace


class Kept(Struct, frozen=True):
    """A path, or the id of a command, that stays on `host` as it is now.

    `original` is the copy of what the path held before any of our changes, and `compare` a command
    that shows how it differs from that; None and empty for a command, or where there was no file.
    `batch` is that of the runs whose change it was.
    """

    host: str
    name: str
    original: Path | None = None
    compare: str = ""
    batch: str = ""

    def __str__(self) -> str:
        return f"{self.host}:{self.name}"


def unbooked(workspace: Workspace) -> tuple[Kept, ...]:
    """What was kept and is not in the ledger yet; nothing where that cannot be read."""
    with suppress(OSError, ValueError, TypeError):
        found = json.loads(workspace.unbooked.read_text("utf-8"))
        return tuple(_kept(**fields) for fields in found)
    return ()


def _kept(host: str, name: str, original: str | None, compare: str, batch: str) -> Kept:
    return Kept(host, name, None if original is None else Path(original), compare, batch)


def remember(workspace: Workspace, kept: Iterable[Kept]) -> None:
    """Adds to what is not in the ledger yet, synced to the disk. Errors: OSError."""
    place = workspace.unbooked
    place.parent.mkdir(parents=True, exist_ok=True)
    whole = place.with_name(f"{place.name}.{os.getpid()}")
    with whole.open("w", encoding="utf-8") as file:
        known = [to_builtins(one, enc_hook=str) for one in (*unbooked(workspace), *kept)]
        json.dump(known, file)
        file.flush()
        os.fsync(file.fileno())
    whole.replace(place)


def booked(workspace: Workspace) -> None:
    """The ledger has it all."""
    with suppress(OSError):
        workspace.unbooked.unlink()
