"""One boot of a run: the transition into it, the proof, its measures, the proof again."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial

from campaign.engine import (
    belief,
    cycle,
    evidence,
    measure,
    proof,
    survival,
    transition,
    versions,
)
from campaign.engine.booking import Books
from campaign.engine.cycle import CycleFailed, Lived
from campaign.engine.judge import BootEvidence
from campaign.engine.measure import Place, Seen, StepFailed
from campaign.engine.proof import Proof
from campaign.engine.reproduce import reproduce
from campaign.engine.session import Session
from campaign.engine.steps import Steps, kind_of, undo_of
from campaign.engine.stop import Stopped
from campaign.engine.survival import Death
from campaign.engine.together import all_at_once
from campaign.ledger import records
from campaign.ledger.records import ARM
from playbooks.diff import unified
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.logs import Cursor
from playbooks.hosts.specs import spec_of
from playbooks.plan import Boot
from playbooks.playbook import Collect, Command, Compare, Http, Reproduce, Step, Wait
from playbooks.services.specs import JournalSpecs, specs_of
from playbooks.system import Service


class BootWalk:
    """Brings the system into a boot, and measures in it."""

    def __init__(self, session: Session, boot: Boot, run: str, steps: Steps) -> None:
        self.boot = boot
        self.id = session.recorder.new_id()
        self._session = session
        self._run = run
        self._steps = steps
        self._started = session.clock()
        self._cycle_id: str | None = None
        self._cursors: dict[str, Cursor] = {}
        self._since: float | None = None
        self._proof = Proof(())
        self._beside: Mapping[str, Mapping[str, str]] = {}
        self._versions: Mapping[str, str] = {}

    @property
    def taken(self) -> tuple[records.Step, ...]:
        """The steps that were begun in it so far, in order."""
        return self._steps.taken(self.id)

    def enter(self, previous: Boot | None) -> None:
        """The transition: undo `previous` (None: the base), make this boot, restart, prove.

        Errors: StepFailed, Stopped, HostLost, CampaignError.
        """
        self._record()
        self._undo_commands(previous)
        self._apply(previous)
        for step in self.boot.before:
            self._perform(step, Seen())
        self._restart()
        self._proof = self._prove("start")
        session, proven = self._session, {one.service for one in self._proof.services}
        others = [one for one in session.system.services.values() if one.name not in proven]
        self._beside = proof.environments(others, session.hosts, session.hash_key)
        self._versions = versions.read(self._session)

    def measure(self) -> BootEvidence:
        """Performs the measures and reads the proof again.

        Errors: StepFailed, Stopped, HostLost, CampaignError.
        """
        seen = Seen()
        try:
            for step in self.boot.measures:
                self._session.stop.check()
                self._perform(step, seen)
        finally:
            died = survival.deaths(self._session, self._proof)
            survival.note(self._session, died)
        invalid = self._still_proven(seen, died)
        return BootEvidence(self.boot.arm, self._proof.effect, self._proof.reasons, seen, invalid)

    def close(self) -> None:
        """Books the time that the boot occupied the system; however it ended."""
        occupied = self._session.clock() - self._started
        self._session.recorder.update(
            records.Boot,
            self.id,
            ended_at=self._session.clock(),
            occupied_s=occupied,
            money=self._session.system.cost.money(0.0, occupied),
        )

    def _record(self) -> None:
        boot = records.Boot(
            self.id,
            self._session.batch,
            self._run,
            self.boot.position,
            self.boot.arm,
            "\n".join(transition.toggles(self.boot)),
            self._started,
        )
        removed = transition.removes(self.boot)
        self._session.recorder.add_all([boot, *(records.Removal(self.id, one) for one in removed)])

    def _undo_commands(self, previous: Boot | None) -> None:
        steps = (*previous.before, *previous.measures) if previous else ()
        hosts = {one.action.on for one in steps if isinstance(one.action, Command)}
        for name in sorted(hosts):
            result = self._session.hosts[name].undo_commands()
            for conflict in result.conflicts:
                raise StepFailed(conflict.instructions)

    def _apply(self, previous: Boot | None) -> None:
        changes = transition.difference(previous, self.boot)
        if not changes and not self.boot.changes:
            return
        first, *rest = self.boot.changes or (None,)
        name = first.name if first else "put back the files of the boot before"
        kind = kind_of(first.action) if first else "restore"
        undo = undo_of(first.action) if first else ""
        with self._steps.doing(self.id, name, kind, undo) as doing:
            all_at_once(partial(self._apply_on, *one) for one in changes.items())
            self._record_edits()
            doing.detail = _applied(changes.values())
        with self._session.recorder.transaction():
            for step in rest:
                kind, undo = kind_of(step.action), undo_of(step.action)
                with self._steps.doing(self.id, step.name, kind, undo) as doing:
                    doing.detail = f"with {name!r}"

    def _apply_on(self, name: str, change: transition.HostChange) -> None:
        try:
            self._session.hosts[name].apply(
                change.changes, change.restore, run=self._session.batch, specs=self._specs(name)
            )
        except HostLost:
            raise
        except HostError as error:
            raise StepFailed(f"host {name}: {error}") from error

    def _specs(self, host: str) -> JournalSpecs:
        """What the host's journal needs to restart its services without the ledger."""
        return specs_of(self._session.system, host)

    def _record_edits(self) -> None:
        self._session.recorder.add_all(
            [
                records.Edit(
                    self._session.recorder.new_id(),
                    self.id,
                    self._run,
                    edit.host,
                    edit.where,
                    edit.before.sha256,
                    edit.after.sha256,
                    unified(edit.base, edit.content, edit.path),
                    "\n".join(edit.steps),
                )
                for edit in self.boot.edits
            ]
        )

    def _perform(self, step: Step, seen: Seen) -> None:
        kind, undo = kind_of(step.action), undo_of(step.action)
        with self._steps.doing(self.id, step.name, kind, undo) as doing:
            try:
                doing.detail = self._measure(step, doing.id, seen)
            except HostLost:
                raise
            except HostError as error:
                self._session.stop.check()
                raise StepFailed(str(error)) from error

    def _measure(self, step: Step, step_id: str, seen: Seen) -> str:
        session, place = self._session, self._place()
        match step.action:
            case Reproduce() as action:
                return reproduce(session, place, step_id, action, seen)
            case Collect() as action:
                return evidence.collect(session, place, step_id, action)
            case Compare() as action:
                return evidence.compare(session, place, step_id, action, seen)
            case Command() as action:
                return measure.command(session, step_id, action)
            case Http() as action:
                return measure.http(session, action)
            case Wait() as action:
                session.stop.wait(action.seconds)
                return f"waited {action.seconds:g} s"
        raise StepFailed(f"{kind_of(step.action)} is not a measure")

    def _place(self) -> Place:
        return Place(
            self._run,
            self.id,
            self._cycle_id,
            self.boot,
            self._cursors,
            self._conditions(),
            self._proof,
        )

    def _conditions(self) -> Mapping[str, str]:
        """Versions, and the services' environment as keyed hashes, but for what this boot sets."""
        own = set(transition.toggles(self.boot))
        digests = {**self._beside, **{one.service: one.digests for one in self._proof.services}}
        found = {
            f"env.{service}.{name}": f"hash {digest}"
            for service, values in digests.items()
            for name, digest in values.items()
            if not proof.is_session(name)
        }
        return {**found, **self._versions, **{name: ARM for name in own if name.startswith("env.")}}

    def _restart(self) -> None:
        self._cursors = self._log_ends(_logs_read(self.boot) - {*self.boot.services})
        if not self.boot.services:
            return
        services = [self._session.system.services[name] for name in self.boot.services]
        homes = dict.fromkeys(one.host for one in services)
        all_at_once(partial(self._note_restart, host, services) for host in homes)
        with self._steps.doing(
            self.id,
            f"restart {', '.join(self.boot.services)}",
            "restart",
            "restarts on the way back" if self.boot.changed else "",
        ) as doing:
            doing.detail = self._live(services).told()
        if not self.boot.changed:
            hosts = self._session.hosts
            all_at_once(hosts[name].settle for name in hosts.names())

    def _note_restart(self, host: str, services: Sequence[Service]) -> None:
        names = [one.name for one in services if one.host == host]
        self._session.hosts[host].note_restart(
            names, run=self._session.batch, specs=self._specs(host)
        )

    def _live(self, services: Sequence[Service]) -> Lived:
        """A restart cycle, booked whichever way it ends."""
        groups = self._session.system.restart_groups
        lived = cycle.begin(services, self._session.hosts, groups)
        outcome = "failed"
        try:
            cycle.live(lived, self._session.hosts, self._session.stop, [belief.load_ahead])
            outcome = "healthy"
        except Stopped:
            outcome = "aborted"
            raise
        except CycleFailed as error:
            raise StepFailed(str(error)) from error
        finally:
            self._book(lived, outcome)
        return lived

    def _log_ends(self, names: Iterable[str]) -> dict[str, Cursor]:
        services = (self._session.system.services[name] for name in names)
        return {
            one.name: self._session.hosts[one.host].service_log_end(spec_of(one))
            for one in services
        }

    def _book(self, lived: Lived, outcome: str) -> None:
        self._since = lived.requested_at
        books = Books(self._session.recorder, self._session.system.cost)
        self._cycle_id = books.cycle(self.id, self._run, lived, outcome)
        self._cursors.update({name: one.cursor for name, one in lived.started.items()})

    def _prove(self, moment: str) -> Proof:
        found = proof.read(
            self.boot, self._session.system, self._session.hosts, self._session.hash_key,
            self._since,
        )  # fmt: skip
        self._session.recorder.add_all(
            [
                records.ServiceState(
                    id=self._session.recorder.new_id(),
                    boot=self.id,
                    service=one.service,
                    moment=moment,
                    pid=one.pid,
                    started_at=one.started_at,
                    effect=one.effect.value,
                    proof=json.dumps(asdict(one), sort_keys=True),
                )
                for one in found.services
            ]
        )  # fmt: skip
        if moment == "start":
            self._session.recorder.update(
                records.Boot,
                self.id,
                effect=found.effect.value,
                effect_reasons="\n".join(found.reasons),
            )
        return found

    def _still_proven(self, seen: Seen, died: Iterable[Death]) -> tuple[str, ...]:
        if not seen.observations:
            return ()
        changed = (
            *(one.told(seen.arrivals) for one in died if one.service not in seen.crashed),
            *proof.changes(self._proof, self._prove("end")),
        )
        if changed:
            reason = "; ".join(changed)
            for observation in seen.observations:
                self._session.recorder.update(records.Observation, observation, invalid=reason)
        return changed


def _logs_read(boot: Boot) -> set[str]:
    """The services whose logs the boot's measures read."""
    names: set[str] = set()
    for step in boot.measures:
        match step.action:
            case Collect(services=services):
                names.update(services)
            case Compare(left=left, right=right, known_bad=bad):
                names.update(side.log for side in (left, right, bad) if side is not None)
    return names


def _applied(changes: Collection[transition.HostChange]) -> str:
    written = sum(len(one.changes) for one in changes)
    back = sum(len(one.restore) for one in changes)
    said = [f"{written} file{'s' if written != 1 else ''} changed"] if written else []
    return ", ".join([*said, f"{back} put back"] if back else said) or "no file changed"
