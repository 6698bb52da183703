"""What a compare step reads: logs of services and outputs of reproducers, each as a file."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, BinaryIO

from campaign.engine.measure import Place, StepFailed
from campaign.engine.session import Session
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from playbooks.hosts.logs import Lost
from playbooks.hosts.specs import spec_of
from playbooks.playbook import CompareSide, LogSide

if TYPE_CHECKING:
    from playbooks.join.blocks import Source


class NotYet(Exception):  # noqa: N818 - it says what is so far
    """An arm's output is not there yet: its boot is still to come."""


@dataclass
class ServiceLog:
    """A service's log since the boot began, filtered on its host; counts what was lost."""

    session: Session
    place: Place
    service: str
    grep: str | None = None
    max_bytes: int | None = None
    lost: Lost = field(default_factory=Lost)

    def chunks(self) -> Iterator[bytes]:
        service = self.session.system.services[self.service]
        log = self.session.hosts[service.host].service_log(
            spec_of(service),
            self.place.cursors[self.service],
            grep=self.grep,
            max_bytes=self.max_bytes,
        )
        yield from log
        self.lost += log.lost


class Sources(ExitStack):
    """Opens the sides of one compare step; a log is fetched once, whoever reads it.

    `lost` is what the logs no longer had.
    """

    def __init__(self, session: Session, place: Place) -> None:
        super().__init__()
        self._session, self._place = session, place
        self._fetched: dict[str, IO[bytes]] = {}
        self.lost = Lost()

    def of(self, side: CompareSide) -> "Source":
        """Errors: NotYet, StepFailed, HostError, HostLost, OSError."""
        if isinstance(side, LogSide):
            if side.log not in self._fetched:
                self._fetched[side.log] = self._fetch(side.log)
            return partial(_from_its_start, self._fetched[side.log])
        return partial(_opened, self._output(side.output))

    def _fetch(self, service: str) -> IO[bytes]:
        """The log as a file without a name, which is gone with this process, however that ends."""
        folder = self._session.workspace.artifacts
        folder.mkdir(parents=True, exist_ok=True)
        file = self.enter_context(TemporaryFile(dir=folder))  # noqa: SIM115 - it is closed with us
        log = ServiceLog(self._session, self._place, service)
        for chunk in log.chunks():
            file.write(chunk)
        self.lost += log.lost
        return file

    def _output(self, name: str) -> Path:
        """What the reproducer printed in the last boot of that arm, or playbook."""
        with Ledger.open(self._session.workspace.ledger) as ledger:
            seen = self._observations(ledger, name)
        path = self._session.workspace.artifacts / seen[-1].artifact
        if not path.is_file():
            raise StepFailed(f"the output of {name} is gone: {path}; run it again")
        return path

    def _observations(self, ledger: Ledger, name: str) -> list[records.Observation]:
        """Those that count of the arm of this run, or of the playbook's latest completed run."""
        playbook = self._place.boot.playbook
        assert playbook is not None
        if name in (*playbook.arms, playbook.name):
            own = ledger.observations(self._place.run)
            found = [one for one in own if one.invalid is None and one.arm == name]
            if not found and name != self._place.arm:
                raise NotYet(f"{name} has not run yet: compared once it has")
        else:
            runs = ledger.runs(playbook=name, status="completed")
            latest = next((one.id for one in runs if not one.retracted), "")
            found = [one for one in ledger.observations(latest) if one.invalid is None]
        if not found:
            raise StepFailed(f"there is no output of {name}: run it first")
        return found


@contextmanager
def _from_its_start(file: IO[bytes]) -> Iterator[BinaryIO]:
    file.seek(0)
    yield file  # type: ignore[misc]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb") as file:
        yield file
