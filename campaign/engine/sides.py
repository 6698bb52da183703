"""What a compare step reads: logs of services and outputs of reproducers, each as a file."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, BinaryIO

from msgspec import Struct, field
from msgspec.structs import replace

from campaign.engine.measure import Place, Seen, StepFailed
from campaign.engine.session import Session
from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.reads import Ledger
from hypotheses.observation import Result, Trial
from playbooks.hosts.logs import Lost
from playbooks.hosts.specs import spec_of
from playbooks.playbook import Compare, CompareSide, LogSide, OutputSide, Playbook

if TYPE_CHECKING:
    from playbooks.join.blocks import Source
    from playbooks.join.excerpts import Excerpt


PROBED_S = 0.1
"""Seconds within which the checksum probe has written what it was called with."""


class NotYet(Exception):  # noqa: N818 - it says what is so far
    """An arm's output is not there yet, or no other than before: its boot is still to come."""


class ServiceLog(Struct):
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

    `lost` is what the logs no longer had, `printed` the run's own observations whose outputs are
    read, by id.
    """

    def __init__(self, session: Session, place: Place) -> None:
        super().__init__()
        self._session, self._place = session, place
        self._fetched: dict[str, IO[bytes]] = {}
        self._probed: set[str] = set()
        self._begins: dict[str, list[tuple[int, str]]] = {}
        self.lost = Lost()
        self.printed: dict[str, None] = {}

    def trials(self, seen: Seen) -> tuple[Trial, ...]:
        """The run's trials that the keys belong to: of outputs, those that printed them."""
        if not self.printed:
            return tuple(seen.trials)
        with Ledger.open(self._session.workspace.ledger) as ledger:
            rows = [row for one in self.printed for row in ledger.trials(one)]
        return tuple(
            Trial(one.outcome, Result(one.result), one.ident, tuple(one.keys.split()))
            for one in rows
        )

    def of(self, side: CompareSide) -> "Source":
        """Errors: NotYet, StepFailed, Stopped, HostError, HostLost, OSError."""
        if isinstance(side, LogSide):
            if side.log not in self._fetched:
                if side.probed:
                    self._session.stop.wait(PROBED_S)
                self._fetched[side.log] = self._fetch(side)
            whole = partial(_from_its_start, self._fetched[side.log])
            if side.probed and side.log not in self._probed:
                from playbooks.join.dropped import dropped

                self._probed.add(side.log)
                self.lost += Lost(dropped=dropped(whole))
            return whole
        return partial(_opened, self._output(side.output))

    def told(self, side: CompareSide, found: "Excerpt | None") -> "Excerpt | None":
        """A line as it is shown: of the logs of replicas with the name and number of its own."""
        if found is None or not isinstance(side, LogSide) or not side.replicas:
            return found
        begins = self._begins[side.log]
        begin, whose = begins[bisect_left(begins, (found.number, "")) - 1]
        return replace(found, number=found.number - begin, line=f"{whose}: {found.line}")

    def _fetch(self, side: LogSide) -> IO[bytes]:
        """The log as a file without a name, which is gone with this process, however that ends.

        Of replicas the log of one comes behind that of the other.
        """
        folder = self._session.workspace.artifacts
        folder.mkdir(parents=True, exist_ok=True)
        file = self.enter_context(TemporaryFile(dir=folder))  # noqa: SIM115 - it is closed with us
        lines, begins = 0, self._begins.setdefault(side.log, [])
        for service in side.services:
            begins.append((lines, service))
            log, last = ServiceLog(self._session, self._place, service), b"\n"
            for chunk in filter(None, log.chunks()):
                file.write(chunk)
                lines, last = lines + chunk.count(b"\n"), chunk[-1:]
            if last != b"\n":
                file.write(b"\n")
                lines += 1
            self.lost += log.lost
        return file

    def _output(self, name: str) -> Path:
        """What the reproducer printed in the last boot of that arm, or playbook."""
        with Ledger.open(self._session.workspace.ledger) as ledger:
            seen = self._observations(ledger, name)[-1]
        if seen.run == self._place.run:
            self.printed[seen.id] = None
        path = self._session.workspace.artifacts / seen.artifact
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
            if found and found[-1].id in self._place.printed:
                raise NotYet(f"{name} has not run again since it was compared")
        else:
            found = _latest(ledger, name)
        if not found:
            raise StepFailed(f"there is no output of {name}: run it first")
        return found


def refuse_unprinted(playbooks: Sequence[Playbook], ledger: Ledger | None, artifacts: Path) -> None:
    """Errors: CampaignError (REFUSED) where the output of another playbook is not there."""
    for playbook in playbooks:
        for side in _outputs(playbook):
            found = _latest(ledger, side.output) if ledger is not None else []
            what = f"{playbook.name} compares with {side.name}, which"
            if not found:
                raise CampaignError(
                    Exit.REFUSED, f"{what} has no completed run", f"run {side.output} first"
                )
            if not (artifacts / found[-1].artifact).is_file():
                raise CampaignError(Exit.REFUSED, f"{what} is gone", f"run {side.output} again")


def _outputs(playbook: Playbook) -> Iterator[OutputSide]:
    """The outputs of other playbooks that its compare steps read."""
    for step in playbook.steps:
        if isinstance(step.action, Compare):
            for side in (step.action.left, step.action.right, step.action.known_bad):
                own = (*playbook.arms, playbook.name)
                if isinstance(side, OutputSide) and side.output not in own:
                    yield side


def _latest(ledger: Ledger, playbook: str) -> list[records.Observation]:
    """The observations that count of the playbook's latest completed run, if any."""
    runs = ledger.runs(playbook=playbook, status="completed")
    latest = next((one.id for one in runs if not one.retracted), "")
    return [one for one in ledger.observations(latest) if one.invalid is None]


@contextmanager
def _from_its_start(file: IO[bytes]) -> Iterator[BinaryIO]:
    file.seek(0)
    yield file  # type: ignore[misc]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    with path.open("rb") as file:
        yield file
