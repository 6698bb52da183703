"""Evidence from logs and outputs: kept whole by collect, joined by key by compare."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from campaign.engine.artifacts import ArtifactFile
from campaign.engine.measure import Place, Seen, StepFailed
from campaign.engine.probed import SEE, without_probe
from campaign.engine.session import Session
from campaign.engine.sides import NotYet, ServiceLog, Sources
from campaign.ledger import records
from hypotheses.comparison import BootCompared, Comparison, KeyCounts, TwoByTwo, associate
from hypotheses.observation import Trial, count
from playbooks.join.detector import detector_identity
from playbooks.playbook import Collect, Compare, LogSide

if TYPE_CHECKING:
    from playbooks.join.excerpts import Excerpt
    from playbooks.join.joining import Joined, Odd


def collect(session: Session, place: Place, step_id: str, action: Collect) -> str:
    """Keeps the logs of the services since the boot began as artifacts."""
    said = []
    for service in action.services:
        log = ServiceLog(session, place, service, action.grep, action.max_bytes)
        with ArtifactFile(session, place.run, step_id, f"{service}.log") as artifact:
            for chunk in log.chunks():
                artifact.write(chunk)
        lost = f", {log.lost}" if log.lost else ""
        said.append(f"{service} {artifact.size} bytes{lost}")
    return "; ".join(said)


def compare(session: Session, place: Place, step_id: str, action: Compare, seen: Seen) -> str:
    """Joins two sides by key, sets the mismatches against the trials, and stores both.

    Errors: StepFailed, HostError, HostLost.
    """
    with Sources(session, place) as sources:
        try:
            joined, trials = _joined(sources, action, seen)
            joined = _told(sources, action, joined)
        except NotYet as reason:
            return str(reason)
        except OSError as error:
            raise StepFailed(f"cannot join: {error.strerror or error}") from error
        lost = sources.lost
        seen.printed.update(sources.printed)
    comparison = replace(
        joined.comparison,
        lost=lost.count + joined.cut_off,
        coverage_known=not lost,
        detector=_detector(session, place, action),
    )
    table = associate((_with_keys(trial, joined) for trial in trials), comparison)
    seen.compared = BootCompared(comparison, table, count(trials))
    silent = tuple(_silent(session, place, action, comparison.counts))
    seen.silent += silent
    _store(session, place, step_id, comparison, joined, table)
    return "; ".join((_said(comparison), *silent))


def _said(comparison: Comparison) -> str:
    counts = comparison.counts
    return (
        f"{counts.matched} match, {counts.mismatched} mismatch, {counts.left_only} left only, "
        f"{counts.right_only} right only, {counts.duplicate} duplicate"
        f"{f', {comparison.lost} lines lost' if comparison.lost else ''}"
    )


def _silent(session: Session, place: Place, action: Compare, counts: KeyCounts) -> Iterator[str]:
    """The sides on which the checksum probe told of no call, with what that may come from."""
    both = counts.joined + counts.duplicate
    sides = ((action.left, counts.left_only), (action.right, counts.right_only))
    quiet = [side for side, own in sides if not both + own]
    absent = [*without_probe(session, place)] if quiet else []
    for side in quiet:
        if not isinstance(side, LogSide) or not side.probed:
            continue
        if {*side.services} & {*absent}:
            yield f"{side.log} has not imported the checksum probe: {SEE}"
        else:
            yield f"{side.log} logged no such checkpoint: see that it makes the call, so named"


def _joined(sources: Sources, action: Compare, seen: Seen) -> "tuple[Joined, tuple[Trial, ...]]":
    """What the join found, and the trials that its keys may belong to."""
    from playbooks.join.joining import Side, join

    left, right = (Side(sources.of(one), one.rows) for one in (action.left, action.right))
    bad = Side(sources.of(action.known_bad), action.known_bad.rows) if action.known_bad else None
    trials = sources.trials(seen)
    joined = join(
        left,
        right,
        bad,
        in_order=action.in_order,
        trials=frozenset(key for trial in trials for key in trial.keys),
        only_trials=action.only_trials,
    )
    return joined, trials


def _told(sources: Sources, action: Compare, joined: "Joined") -> "Joined":
    """The odd keys with their lines as they are shown."""
    odd = (
        replace(
            one,
            left=sources.told(action.left, one.left),
            right=sources.told(action.right, one.right),
        )
        for one in joined.odd
    )
    return replace(joined, odd=tuple(odd))


def _with_keys(trial: Trial, joined: "Joined") -> Trial:
    """The trial with all keys that its own ones stand for."""
    more = (key for own in trial.keys for key in joined.keys_of.get(own, ()))
    return replace(trial, keys=(*trial.keys, *more))


def _detector(session: Session, place: Place, action: Compare) -> str:
    """What was compared: both sides and the instrumented files, not the variables set."""
    services = session.system.services.values()
    env_files = {(one.host, one.env.path) for one in services if one.env is not None}
    files = [
        (edit.where, edit.after.sha256)
        for edit in place.boot.edits
        if (edit.host, edit.where) not in env_files
    ]
    return detector_identity(action, files)


def _store(
    session: Session,
    place: Place,
    step_id: str,
    comparison: Comparison,
    joined: "Joined",
    table: TwoByTwo,
) -> None:
    counts = comparison.counts
    record = records.Comparison(
        id=session.recorder.new_id(),
        run=place.run,
        boot=place.boot_id,
        step=step_id,
        detector=comparison.detector,
        matched=counts.matched,
        mismatched=counts.mismatched,
        left_only=counts.left_only,
        right_only=counts.right_only,
        duplicate=counts.duplicate,
        lost=comparison.lost,
        known_bad=len(comparison.known_bad),
        coverage=counts.coverage,
        fail_mismatch=table.fail_mismatch,
        fail_match=table.fail_match,
        pass_mismatch=table.pass_mismatch,
        pass_match=table.pass_match,
        uncovered=table.uncovered,
        at=session.clock(),
    )
    session.recorder.add(record)
    session.recorder.add_all([_key(record.id, odd) for odd in joined.odd])
    session.recorder.add_all([_context(record.id, odd) for odd in joined.odd])


def _key(comparison: str, odd: "Odd") -> records.ComparisonKey:
    left, right = (one.line if one else "" for one in (odd.left, odd.right))
    return records.ComparisonKey(comparison, odd.key, odd.state.value, left, right)


def _context(comparison: str, odd: "Odd") -> records.ComparisonContext:
    return records.ComparisonContext(
        comparison, odd.key, "\n".join(odd.differs), *_around(odd.left), *_around(odd.right)
    )


def _around(excerpt: "Excerpt | None") -> tuple[int | None, str, str]:
    if excerpt is None:
        return None, "", ""
    return excerpt.number, "\n".join(excerpt.before), "\n".join(excerpt.after)
