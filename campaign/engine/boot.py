"""One boot of a run: the transition into it, the proof, its measures, the proof again."""

import json
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from functools import partial
from math import inf, isinf

from msgspec import to_builtins

from campaign.engine import (
    evidence,
    kept,
    measure,
    probed,
    proof,
    survival,
    transition,
    versions,
)
from campaign.engine.budget import measuring_s
from campaign.engine.events import Note
from campaign.engine.hooks import Hooks
from campaign.engine.judge import BootEvidence
from campaign.engine.measure import Place, Seen, StepFailed
from campaign.engine.passage import Passage
from campaign.engine.proof import Proof
from campaign.engine.reproduce import reproduce
from campaign.engine.session import Session
from campaign.engine.sides import PROBED_S
from campaign.engine.steps import Doing, Steps, kind_of, undo_of
from campaign.engine.survival import Death
from campaign.engine.together import all_at_once
from campaign.ledger import records
from campaign.ledger.conditions import KEPT
from campaign.ledger.reads import Ledger
from campaign.ledger.records import ARM
from playbooks.diff import unified
from playbooks.hosts.connection import HostError, HostLost
from playbooks.plan import Boot
from playbooks.playbook import Collect, Command, Compare, Http, Reproduce, Step, Wait
from playbooks.services.specs import specs_of


class BootWalk:
    """Brings the system into a boot, and measures in it."""

    def __init__(
        self,
        session: Session,
        boot: Boot,
        run: str,
        steps: Steps,
        hooks: Hooks,
        printed: Collection[str] = (),
    ) -> None:
        self.boot = boot
        self.id = session.recorder.new_id()
        self.hooks = hooks
        self.run = run
        self._session = session
        self._steps = steps
        self._started = session.clock()
        self._passage = Passage(session, boot, self.id, steps, hooks)
        self._printed = printed
        self._proof = Proof(())
        self._until = inf
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
        self._passage.go()
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
        self._warn_without_probe()
        self._until = time.monotonic() + self._affordable_s()
        try:
            for step in self.boot.measures:
                self._session.stop.check()
                self._perform(step, seen)
        finally:
            died = survival.deaths(self._session, self._proof)
            survival.note(self._session, died, self.boot.batches)
        invalid = self._still_proven(seen, died)
        return BootEvidence(self.boot.arm, self._proof.effect, self._proof.reasons, seen, invalid)

    def _warn_without_probe(self) -> None:
        """Before trials are driven that would show nothing; a late import is no error."""
        with suppress(HostError):
            if any(probed.without_probe(self._session, self._place())):
                self._session.stop.wait(PROBED_S)
            for name in probed.without_probe(self._session, self._place()):
                told = f"{name} has not imported the checksum probe so far: {probed.SEE}"
                self._session.emit(Note(told, warn=True))

    def doing(self, name: str, kind: str) -> AbstractContextManager[Doing]:
        """Records a step in it that no playbook asks for, around its performance."""
        return self._steps.doing(self.id, name, kind)

    def collect(self, step_id: str) -> str:
        """Keeps the logs that are wanted of a failed run. Errors: HostError, HostLost."""
        began = {*self._passage.cursors}
        names = [one for one in self._session.system.on_failure.collect if one in began]
        return evidence.collect(self._session, self._place(), step_id, Collect(tuple(names)))

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
            self.run,
            self.boot.position,
            self.boot.arm,
            "\n".join(transition.toggles(self.boot)),
            self._started,
        )
        removed = {*transition.removes(self.boot), *self._removed_before()}
        rows = [records.Removal(self.id, one) for one in sorted(removed)]
        self._session.recorder.add_all([boot, *rows])

    def _removed_before(self) -> frozenset[str]:
        """The suspected causes that what is kept removes; those that this ledger knows."""
        gone = {slug for one in self._session.stack for slug in one.facts.removes}
        if not gone:
            return frozenset()
        with Ledger.open(self._session.workspace.ledger) as ledger:
            return frozenset(gone.intersection(one.slug for one in ledger.hypotheses()))

    def _undo_commands(self, previous: Boot | None) -> None:
        steps = (*previous.before, *previous.measures) if previous else ()
        names = {one.action.on for one in steps if isinstance(one.action, Command)}
        standing = {one.id for one in self.hooks.standing}
        for name in sorted(names):
            host = self._session.hosts[name]
            noted = [one.id for one in host.journal().commands if one.id not in standing]
            result = host.undo_commands(noted)
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
                change.changes,
                change.restore,
                run=self._session.batch,
                specs=specs_of(self._session.system, name, self.boot.batches),
            )
        except HostLost:
            raise
        except HostError as error:
            raise StepFailed(f"host {name}: {error}") from error

    def _record_edits(self) -> None:
        self._session.recorder.add_all(
            [
                records.Edit(
                    self._session.recorder.new_id(),
                    self.id,
                    self.run,
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

    def _affordable_s(self) -> float:
        """For how long it may measure; see `measuring_s`."""
        session = self._session
        if isinf(session.limits.seconds) and isinf(session.limits.money):
            return inf
        with Ledger.open(session.workspace.ledger) as ledger:
            left = session.limits.after(ledger.total_cost())
        back = self._passage.down_s if self.boot.changed else 0.0
        return measuring_s(left, session.clock() - self._started, back, session.system.cost)

    def _place(self) -> Place:
        return Place(
            self.run,
            self.id,
            self._passage.cycle_id,
            self.boot,
            self._passage.cursors,
            self._conditions(),
            self._proof,
            self._printed,
            self._until,
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
        own |= kept.environment(self._session.stack)
        arms = {name: ARM for name in own if name.startswith("env.")}
        standing = {KEPT: kept.condition(self._session.stack)} if self._session.stack else {}
        return {**found, **self._versions, **standing, **arms}

    def _prove(self, moment: str) -> Proof:
        found = proof.read(
            self.boot, self._session.system, self._session.hosts, self._session.hash_key,
            self._passage.since,
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
                    proof=json.dumps(to_builtins(one), sort_keys=True),
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


def _applied(changes: Collection[transition.HostChange]) -> str:
    written = sum(len(one.changes) for one in changes)
    back = sum(len(one.restore) for one in changes)
    said = [f"{written} file{'s' if written != 1 else ''} changed"] if written else []
    return ", ".join([*said, f"{back} put back"] if back else said) or "no file changed"
