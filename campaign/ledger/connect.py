"""Opening the ledger, for reading and for writing, and telling what SQLite has against it."""

import fcntl
import glob
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from campaign.errors import CampaignError, Exit
from campaign.ledger.version import APPLICATION_ID, VERSION

PATIENCE_S = 5.0
"""How long to wait for another process's lock, in seconds."""
CHECKED_BYTES = 16 * 1024 * 1024
"""A ledger up to this size is checked whole whenever it is opened, in some milliseconds."""

_SHARED_BYTES = 64 * 1024
"""What whoever opens the ledger needs on its disk: memory that they share, and a little more."""

_OLDEST_SQLITE = (3, 37, 0)

_COMPLAINTS = {
    sqlite3.SQLITE_BUSY: (
        "the ledger is locked by another process",
        "try again once it has finished",
    ),
    sqlite3.SQLITE_FULL: (
        "the disk is full: nothing was stored just now, all that was before is safe",
        "free some space and try again",
    ),
    sqlite3.SQLITE_IOERR: (
        "its disk does not read or write it",
        "look at what the system says of that disk: dmesg",
    ),
    sqlite3.SQLITE_NOTADB: (
        "this is not a ledger",
        "move the file away, or put back a copy of the ledger",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "the ledger is damaged",
        "put back a copy, or see what can be saved: campaign doctor --ledger",
    ),
    sqlite3.SQLITE_CANTOPEN: (
        "the ledger cannot be opened",
        "check that it is a file and may be read and written",
    ),
    sqlite3.SQLITE_READONLY: (
        "the ledger cannot be written",
        "check the permissions of the file and of its folder",
    ),
    sqlite3.SQLITE_PERM: (
        "the ledger cannot be opened",
        "check the permissions of the file and of its folder",
    ),
}


@contextmanager
def complaints(path: Path) -> Iterator[None]:
    """Turns what SQLite raises about the ledger at `path` into one line.

    Raises:
        CampaignError: REFUSED for all that concerns the file; FAULT for a row or a statement
            that SQLite does not accept.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _told(path, error) from error


def _told(path: Path, error: sqlite3.Error) -> CampaignError:
    code = getattr(error, "sqlite_errorcode", None)
    if code is None or code & 0xFF in (sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR):
        return CampaignError(Exit.FAULT, f"{path}: {error}")
    what, fix = _COMPLAINTS.get(
        _kind(path, code & 0xFF), (f"the ledger cannot be used: {error}", "")
    )
    return CampaignError(Exit.REFUSED, f"{path}: {what}", fix)


def _kind(path: Path, code: int) -> int:
    """What went wrong. Readers write, too: a full disk is what SQLite calls an error of I/O."""
    if code != sqlite3.SQLITE_IOERR:
        return code
    with suppress(OSError):
        disk = os.statvfs(path.parent)
        if disk.f_bavail * disk.f_frsize < _SHARED_BYTES:
            return sqlite3.SQLITE_FULL
    return code


def is_there(path: Path) -> bool:
    """Whether there is a ledger, or what may be a damaged one.

    A file that was made, and whose maker did not live to fill it, is none: the next writer does.
    """
    if not path.exists():
        return False
    try:
        with closing(_connect(path, _read_mode(path))) as connection:
            return not _is_empty(connection)
    except sqlite3.Error:
        return True


def open_reader(path: Path) -> sqlite3.Connection:
    """A read-only connection to the ledger at `path`, rows by name; never creates a ledger.

    One of an older version is brought up to date first, with a backup.

    Raises:
        CampaignError: REFUSED when there is no ledger, or none that this version can read.
    """
    _check_file(path, may_be_missing=False)
    if _is_older(path):
        open_writer(path, create=False).close()
    with complaints(path):
        connection = _connect(path, _read_mode(path))
        try:
            connection.row_factory = sqlite3.Row
            _check_version(path, connection)
            _check_whole(path, connection)
        except BaseException:
            connection.close()
            raise
        return connection


def open_unchecked(path: Path) -> sqlite3.Connection:
    """A read-only connection to what may be a damaged ledger, of any version.

    Raises:
        CampaignError: REFUSED where it is no ledger, as far as can be told.
    """
    _check_file(path, may_be_missing=False)
    with complaints(path):
        connection = _connect(path, _read_mode(path))
        try:
            _check_owner(path, connection)
        except BaseException:
            connection.close()
            raise
        return connection


def open_snapshot(path: Path) -> sqlite3.Connection:
    """As `open_reader`; all that is read through it is the ledger as it is now."""
    connection = open_reader(path)
    with complaints(path):
        connection.execute("BEGIN")
        connection.execute("SELECT 1 FROM campaign").fetchone()
    return connection


def open_writer(path: Path, *, create: bool) -> sqlite3.Connection:
    """A connection that may write to the ledger at `path`, brought up to date.

    What it was before an update stays beside it, as `campaign.db.version-4`. Every commit is
    synced to the disk; foreign keys are enforced. `create` makes the ledger where there is none
    (its folder must exist).

    Raises:
        CampaignError: REFUSED when there is no ledger and `create` is false, or it is locked,
            damaged, newer than this program or not writable.
    """
    _check_file(path, may_be_missing=create)
    with complaints(path), _first_opening(path):
        connection = _connect(path, "rwc" if create else "rw")
        try:
            _prepare(path, connection, create)
        except BaseException:
            connection.close()
            raise
        return connection


def _read_mode(path: Path) -> str:
    """Immutable where SQLite could not make the files that reading takes, and nobody is writing."""
    followed = path.with_name(f"{path.name}-wal").exists()
    return "ro" if followed or os.access(path.parent, os.W_OK) else "ro&immutable=1"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=PATIENCE_S)


def _prepare(path: Path, connection: sqlite3.Connection, create: bool) -> None:
    if not create or not _is_empty(connection):
        _check_version(path, connection, oldest=1)
        _check_whole(path, connection)
    version = _pragma(connection, "user_version")
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA synchronous = FULL")
    if version < VERSION:
        if version:
            _back_up(path, connection, version)
        connection.execute("PRAGMA journal_mode = WAL")
        _bring_up_to_date(connection)


def _bring_up_to_date(connection: sqlite3.Connection) -> None:
    """By the library for that, which takes its time to load: most ledgers are up to date."""
    from playbooks.absent import without

    with without("numpy", "pandas"):  # the ledger holds plain values
        from sqlite_utils import Database
    from campaign.ledger.migrations import bring_up_to_date

    bring_up_to_date(Database(connection, execute_plugins=False))


def _is_older(path: Path) -> bool:
    """Whether this is a ledger that an older version has written, as far as can be told."""
    with complaints(path), closing(_connect(path, _read_mode(path))) as connection:
        ours = _pragma(connection, "application_id") == APPLICATION_ID
        return ours and 0 < _pragma(connection, "user_version") < VERSION


def _back_up(path: Path, connection: sqlite3.Connection, version: int) -> None:
    """A copy of the ledger as it is, under a name that no earlier copy has."""
    name = f"{path.name}.version-{version}"
    taken = sum(1 for _ in path.parent.glob(f"{glob.escape(name)}*"))
    copy = path.with_name(f"{name}.{taken + 1}" if taken else name)
    with closing(sqlite3.connect(copy)) as target:
        connection.backup(target)


def _check_whole(path: Path, connection: sqlite3.Connection) -> None:
    """Larger ledgers are found damaged only when the damaged part is read."""
    if path.stat().st_size > CHECKED_BYTES:
        return
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        what, fix = _COMPLAINTS[sqlite3.SQLITE_CORRUPT]
        raise CampaignError(Exit.REFUSED, f"{path}: {what}", fix)


def _check_file(path: Path, *, may_be_missing: bool) -> None:
    try:
        is_folder, is_missing = path.is_dir(), not path.exists()
    except OSError as error:
        raise CampaignError(Exit.REFUSED, f"{path}: {error.strerror}") from error
    if is_folder:
        raise CampaignError(Exit.REFUSED, f"{path}: this is a folder", "name the ledger in it")
    if is_missing and not may_be_missing:
        raise CampaignError(
            Exit.REFUSED, f"{path}: there is no ledger here", "`campaign init` makes one"
        )


def _check_version(path: Path, connection: sqlite3.Connection, oldest: int = VERSION) -> None:
    """Refuses what is no ledger, or one whose version is not `oldest` to VERSION."""
    if sqlite3.sqlite_version_info < _OLDEST_SQLITE:
        raise CampaignError(
            Exit.REFUSED,
            f"this Python comes with SQLite {sqlite3.sqlite_version}, and 3.37 is the oldest to do",
            "use another Python",
        )
    _check_owner(path, connection)
    version = _pragma(connection, "user_version")
    if version > VERSION:
        raise CampaignError(
            Exit.REFUSED,
            f"{path}: the ledger has version {version}, and this program knows up to {VERSION}",
            "use a newer campaign",
        )
    if version < oldest:
        raise CampaignError(
            Exit.REFUSED,
            f"{path}: the ledger has version {version}, and this program reads {VERSION}",
            "let `campaign` write in its folder, so that it can bring it up to date",
        )


def _check_owner(path: Path, connection: sqlite3.Connection) -> None:
    if _is_empty(connection):
        raise CampaignError(
            Exit.REFUSED, f"{path}: the ledger is empty", "`campaign init` makes a new one"
        )
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise CampaignError(
            Exit.REFUSED, f"{path}: this is another program's database", "name another file"
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    (value,) = connection.execute(f"PRAGMA {name}").fetchone()
    return int(value)


def _is_empty(connection: sqlite3.Connection) -> bool:
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(tables) == 0


@contextmanager
def _first_opening(path: Path) -> Iterator[None]:
    """Holds a lock on the ledger's folder: SQLite lets two first openers fail on each other.

    The folder and not the ledger, because closing any descriptor of the ledger would drop the
    locks that SQLite holds on it.
    """
    try:
        folder = os.open(path.absolute().parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise CampaignError(
            Exit.REFUSED, f"{path}: its folder cannot be opened: {error.strerror}"
        ) from error
    try:
        _lock(folder, path)
        yield
    finally:
        os.close(folder)


def _lock(folder: int, path: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                what, fix = _COMPLAINTS[sqlite3.SQLITE_BUSY]
                raise CampaignError(Exit.REFUSED, f"{path}: {what}", fix) from None
            time.sleep(0.02)
