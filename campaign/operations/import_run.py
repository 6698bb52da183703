"""import-run: a result from elsewhere becomes a run of this ledger, marked as imported."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from campaign.engine.artifacts import ArtifactFile
from campaign.engine.begin import run_row
from campaign.engine.conditions import numbering, own_conditions, planned_conditions
from campaign.engine.hosts import Hosts, operator
from campaign.engine.session import Session
from campaign.engine.stop import Stop
from campaign.errors import CampaignError, Exit
from campaign.ledger import records
from campaign.ledger.recorder import Recorder
from campaign.ledger.records import ARM
from campaign.operations.plan import Request, load
from campaign.workspace import Workspace
from hypotheses.observation import Result
from playbooks.parsers.parser import MAX_TRIALS
from playbooks.playbook import Patch, Playbook, Reproduce
from playbooks.redact import Redactor

CHUNK = 1 << 20


class PastResult(Struct, frozen=True):
    """What was seen: `fail` of `trials` failed, `censored` more were cut short.

    `at` is when, in seconds since the epoch (None: now); `by` who saw it (None: the operator);
    `log` the output, kept with the run; `conditions` add to those that the playbook tells.
    """

    playbook: str
    fail: int
    trials: int
    censored: int = 0
    arm: str | None = None
    at: float | None = None
    by: str | None = None
    log: Path | None = None
    conditions: Mapping[str, str] = field(default_factory=dict)
    variables: Mapping[str, str] = field(default_factory=dict)


def import_run(workspace: Workspace, past: PastResult, command: str) -> records.Run:
    """Stores a past result as a completed run without a restart cycle. Touches no host.

    It has no verdict, since nothing proves what ran; later runs compare with it as far as its
    conditions are theirs. Errors: LoadError, CampaignError (USAGE).
    """
    system, (playbook,) = load(workspace, Request((past.playbook,), past.variables))
    _check(past)
    arm = _arm(playbook, past.arm)
    action = _reproduction(playbook, arm)
    redactor = Redactor(system.secrets)
    with Recorder.open(workspace.ledger, create=True, redact=redactor.text) as recorder:
        recorder.set_campaign(system.campaign, system.symptom, system.cost.currency)
        session = Session(
            workspace, system, Hosts(workspace, {}, ""), recorder, redactor, lambda _: None, Stop(),
            b"", recorder.new_id(), redactor.text(command),
        )  # fmt: skip
        with recorder.transaction():
            return _Import(session, playbook, arm, action, past).store()


def _check(past: PastResult) -> None:
    if past.fail > past.trials:
        what = f"{past.fail} of {past.trials} trials cannot have failed"
        raise CampaignError(Exit.USAGE, what, "--trials counts failed and passed ones")
    if past.trials + past.censored == 0:
        raise CampaignError(Exit.USAGE, "a result without trials says nothing", "give --trials")
    if past.trials + past.censored > MAX_TRIALS:
        raise CampaignError(Exit.USAGE, f"more than {MAX_TRIALS} trials", "check the numbers")
    if past.at is not None and past.at > time.time():
        raise CampaignError(Exit.USAGE, "a past result cannot be of the future", "check --date")
    if past.log is not None and not past.log.is_file():
        raise CampaignError(Exit.USAGE, f"{past.log} is not a file", "check --log")


def _arm(playbook: Playbook, arm: str | None) -> str:
    """The arm that was seen; "" for a playbook of one configuration."""
    if playbook.arms and arm not in playbook.arms:
        what = f"{playbook.name} has no arm {arm!r}" if arm else f"{playbook.name} has arms"
        raise CampaignError(Exit.USAGE, what, f"give --arm, one of: {', '.join(playbook.arms)}")
    if arm and not playbook.arms:
        raise CampaignError(Exit.USAGE, f"{playbook.name} has no arms", "leave --arm out")
    return arm or ""


def _reproduction(playbook: Playbook, arm: str) -> Reproduce:
    for step in playbook.steps:
        if isinstance(step.action, Reproduce) and step.when in (None, arm):
            return step.action
    what = f"{playbook.name} has no reproduce step: it would have no trials"
    raise CampaignError(Exit.USAGE, what, "name the playbook that stands for what was done")


class _Import(Struct, frozen=True):
    session: Session
    playbook: Playbook
    arm: str
    action: Reproduce
    past: PastResult

    @property
    def at(self) -> float:
        return self.session.clock() if self.past.at is None else self.past.at

    def store(self) -> records.Run:
        recorder, at = self.session.recorder, self.at
        run = replace(run_row(self.session, self.playbook, at), status="completed", ended_at=at)
        toggles = sorted({*self._toggles(), *self._files()})
        boot = records.Boot(
            recorder.new_id(), run.batch, run.id, 0, self.arm, "\n".join(toggles), at, at,
            effect="unproven", effect_reasons="imported: nothing proves what ran",
        )  # fmt: skip
        step = records.Step(
            recorder.new_id(), run.id, boot.id, 1, "import", "import", at, at, "completed"
        )
        terms = records.RunTerms(run.id, imported_by=self.past.by or operator())
        recorder.add_all([run, terms, boot, step])
        recorder.link_run(run.id, self.playbook.hypotheses)
        observation = self._observation(run, boot, step)
        recorder.add(observation)
        recorder.add_all(self._trials(observation.id))
        self._keep_log(run, step)
        return run

    def _toggles(self) -> frozenset[str]:
        """The conditions that the arm sets itself, as far as the playbook alone tells."""
        return own_conditions(self.playbook, self.arm)

    def _files(self) -> Iterator[str]:
        """The folders that the arm patches: no host was asked which files those are."""
        for step in self.playbook.steps:
            if isinstance(step.action, Patch) and step.when in (None, self.arm):
                yield from (f"file.{host}:{root}" for host, root in step.action.places)

    def _observation(
        self, run: records.Run, boot: records.Boot, step: records.Step
    ) -> records.Observation:
        system = self.session.system
        known = {
            **planned_conditions(system, self.playbook, self.action),
            **dict.fromkeys(self._toggles(), ARM),
            **self.past.conditions,
        }
        known.pop(numbering(system.reproducers[self.action.use]) or "", None)
        return records.Observation(
            id=self.session.recorder.new_id(),
            run=run.id,
            boot=boot.id,
            cycle=None,
            step=step.id,
            reproducer=self.action.use,
            arm=self.arm or self.playbook.name,
            conditions=json.dumps(known, sort_keys=True),
            started_at=self.at,
            ended_at=self.at,
            stop_reason="imported",
        )

    def _trials(self, observation: str) -> Iterator[records.Trial]:
        past = self.past
        results = (
            *(Result.FAIL,) * past.fail,
            *(Result.PASS,) * (past.trials - past.fail),
            *(Result.CENSORED,) * past.censored,
        )
        for position, result in enumerate(results):
            yield records.Trial(
                observation, position, result.value, result.value, None, "", None, self.at
            )

    def _keep_log(self, run: records.Run, step: records.Step) -> None:
        if self.past.log is None:
            return
        with (
            self.past.log.open("rb") as log,
            ArtifactFile(self.session, run.id, step.id, "output.log") as kept,
        ):
            while chunk := log.read(CHUNK):
                kept.write(chunk)
