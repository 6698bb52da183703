"""Files kept for a run, redacted as they are written, with a bounded tail for the ledger."""

import hashlib
from pathlib import Path
from types import TracebackType

from campaign.engine.session import Session
from campaign.ledger import records

TAIL_BYTES = 64 * 1024


class ArtifactFile:
    """One artifact: opened on entering, hashed and recorded on closing."""

    def __init__(self, session: Session, run: str, step_id: str | None, name: str) -> None:
        self._session = session
        self._run = run
        self._step = step_id
        self._name = name
        folder = session.workspace.artifacts / run
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / (f"{step_id}-{name}" if step_id else name)
        self._file = self.path.open("wb")
        self._redacted = session.redactor.stream()
        self._hash = hashlib.sha256()
        self._tail = b""
        self.size = 0

    def __enter__(self) -> "ArtifactFile":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def tail(self) -> str:
        """The end of what was written, at most 64 KiB."""
        return self._tail.decode(errors="replace")

    def write(self, chunk: bytes) -> None:
        self._put(self._redacted.feed(chunk))

    def close(self) -> None:
        """Writes what was held back and records the artifact; a second call does nothing."""
        if self._file.closed:
            return
        self._put(self._redacted.finish())
        self._file.close()
        digest = self._hash.hexdigest()
        _record(self._session, self._run, self._step, self._name, self.path, self.size, digest)

    def _put(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
        self._hash.update(data)
        self.size += len(data)
        self._tail = (self._tail + data)[-TAIL_BYTES:]


def keep(session: Session, run: str, step_id: str | None, name: str, path: Path) -> None:
    """Records a file that another process wrote, redacted, where artifacts are."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        size = file.tell()
    _record(session, run, step_id, name, path, size, digest)


def _record(
    session: Session, run: str, step_id: str | None, name: str, path: Path, size: int, digest: str
) -> None:
    where = str(path.relative_to(session.workspace.root))
    ident = session.recorder.new_id()
    session.recorder.add(records.Artifact(ident, run, step_id, name, where, size, digest))
