"""Evidence from the services' logs: kept whole by collect, joined by key by compare."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from campaign.engine.artifacts import ArtifactFile
from campaign.engine.measure import Place, Seen
from campaign.engine.session import Session
from campaign.ledger import records
from hypotheses.comparison import Comparison, TwoByTwo, associate
from playbooks import join
from playbooks.hosts.logs import Lost
from playbooks.hosts.specs import spec_of
from playbooks.playbook import Collect, Compare, LogSide


@dataclass
class _Log:
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

    def lines(self) -> Iterator[bytes]:
        return join.log_lines(self.chunks())


def collect(session: Session, place: Place, step_id: str, action: Collect) -> str:
    """Keeps the logs of the services since the boot began as artifacts."""
    said = []
    for service in action.services:
        log = _Log(session, place, service, action.grep, action.max_bytes)
        with ArtifactFile(session, place.run, step_id, f"{service}.log") as artifact:
            for chunk in log.chunks():
                artifact.write(chunk)
        lost = f", {log.lost}" if log.lost else ""
        said.append(f"{service} {artifact.size} bytes{lost}")
    return "; ".join(said)


def compare(session: Session, place: Place, step_id: str, action: Compare, seen: Seen) -> str:
    """Joins two logs by key, sets the mismatches against the trials, and stores both."""
    left, right = _side(session, place, action.left), _side(session, place, action.right)
    bad = _side(session, place, action.known_bad) if action.known_bad else None
    joined = join.join(
        left.rows(),
        right.rows(),
        bad.rows(needs_value=False) if bad else (),
        detector=_detector(session, place, action),
    )
    lost = left.lost + right.lost
    comparison = replace(joined.comparison, lost=lost.count, coverage_known=not lost)
    table = associate(seen.trials, comparison)
    seen.comparison, seen.table = comparison, table
    _store(session, place, step_id, comparison, joined.lines, table)
    return (
        f"{len(comparison.matched)} match, {len(comparison.mismatched)} mismatch, "
        f"{len(comparison.left_only)} left only, {len(comparison.right_only)} right only, "
        f"{len(comparison.duplicate)} duplicate"
    )


@dataclass(frozen=True)
class _Side:
    """The logs of a side: one, or those of all replicas one after the other."""

    match: str
    logs: tuple[_Log, ...]

    @property
    def lost(self) -> Lost:
        return sum((log.lost for log in self.logs), Lost())

    def rows(self, *, needs_value: bool = True) -> Iterator[join.Row]:
        """What the lines say; of several logs each line begins with whose it is."""
        for log in self.logs:
            for row in join.scan(log.lines(), self.match, needs_value=needs_value):
                several = len(self.logs) > 1
                yield replace(row, line=f"{log.service}: {row.line}") if several else row


def _side(session: Session, place: Place, side: LogSide) -> _Side:
    logs = (_Log(session, place, name, grep=side.match) for name in side.services)
    return _Side(side.match, tuple(logs))


def _detector(session: Session, place: Place, action: Compare) -> str:
    """What was compared: both patterns and the instrumented files, not the variables set."""
    services = session.system.services.values()
    env_files = {(one.host, one.env.path) for one in services if one.env is not None}
    files = [
        (edit.where, edit.after.sha256)
        for edit in place.boot.edits
        if (edit.host, edit.where) not in env_files
    ]
    return join.detector_identity(action.left, action.right, files)


def _store(
    session: Session,
    place: Place,
    step_id: str,
    comparison: Comparison,
    lines: Mapping[str, tuple[str, str]],
    table: TwoByTwo,
) -> None:
    record = records.Comparison(
        id=session.recorder.new_id(),
        run=place.run,
        boot=place.boot_id,
        step=step_id,
        detector=comparison.detector,
        matched=len(comparison.matched),
        mismatched=len(comparison.mismatched),
        left_only=len(comparison.left_only),
        right_only=len(comparison.right_only),
        duplicate=len(comparison.duplicate),
        lost=comparison.lost,
        known_bad=len(comparison.known_bad),
        coverage=comparison.coverage,
        fail_mismatch=table.fail_mismatch,
        fail_match=table.fail_match,
        pass_mismatch=table.pass_mismatch,
        pass_match=table.pass_match,
        uncovered=table.uncovered,
        at=session.clock(),
    )
    session.recorder.add(record)
    session.recorder.add_all(
        [
            records.ComparisonKey(record.id, key, _state(key, comparison), left, right)
            for key, (left, right) in lines.items()
        ]
    )


def _state(key: str, comparison: Comparison) -> str:
    states = {
        "mismatched": comparison.mismatched,
        "left-only": comparison.left_only,
        "right-only": comparison.right_only,
        "duplicate": comparison.duplicate,
    }
    return next(name for name, keys in states.items() if key in keys)
