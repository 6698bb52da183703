"""Following the ledger: one poller tells the app that there is something new to read."""

from collections.abc import Callable
from pathlib import Path
from threading import Event

from textual.message import Message

from campaign.errors import CampaignError
from campaign.ledger.owner import Owner, is_alive
from campaign.ledger.reads import Ledger

INTERVAL_S = 0.1


class LedgerChanged(Message):
    """Somebody has written to the ledger, or a run's process has gone: what is shown is old."""


class Follower:
    """Polls the ledger at `path` from a thread and calls `tell` once for each change it sees.

    A ledger that appears, disappears, is replaced or becomes unusable has changed too. Between
    changes one pragma is asked and nothing is read.
    """

    def __init__(self, path: Path, tell: Callable[[], None]) -> None:
        self._path = path
        self._tell = tell
        self._over = Event()

    def stop(self) -> None:
        self._over.set()

    def run(self) -> None:
        """Polls until `stop`; to be called in a thread."""
        seen: object = None
        while not self._over.is_set():
            try:
                with Ledger.open(self._path) as ledger:
                    seen = None
                    self._follow(ledger)
            except (CampaignError, OSError) as error:
                if str(error) != seen:
                    seen = str(error)
                    self._tell()
                self._over.wait(INTERVAL_S)

    def _follow(self, ledger: Ledger) -> None:
        """Until the end, or until another file has taken the ledger's place."""
        file, seen, owners = self._file(), None, frozenset[Owner]()
        while not self._over.is_set() and self._file() == file:
            version = ledger.data_version()
            if version != seen or not all(map(is_alive, owners)):
                seen, owners = version, frozenset(filter(is_alive, ledger.owners()))
                self._tell()
            self._over.wait(INTERVAL_S)

    def _file(self) -> tuple[int, int]:
        found = self._path.stat()
        return found.st_dev, found.st_ino
