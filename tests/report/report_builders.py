"""A ledger told as a story: one call a run, with times and ids that are always the same."""

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from campaign.ledger import records
from campaign.ledger.owner import current_owner
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.report.content import collect
from campaign.report.markdown import page
from hypotheses.hypothesis import Hypothesis
from hypotheses.observation import Counts, Observation
from hypotheses.verdict import Verdict

START = 1_767_605_400.0
"""2026-01-05 09:30:00 UTC."""
RESTART_S = 2.5
OCCUPIED_S = 20.0
COMPARISON_COUNTS = (
    "matched",
    "mismatched",
    "left_only",
    "right_only",
    "duplicate",
    "lost",
    "known_bad",
    "fail_mismatch",
    "fail_match",
    "pass_mismatch",
    "pass_match",
    "uncovered",
)
NO_OWNER = {"owner_pid": 1, "owner_start": 0, "owner_boot": "another machine"}


@dataclass(frozen=True)
class Arm:
    """One boot of a run and what was seen in it."""

    counts: Counts
    name: str = ""
    effect: str | None = "effective"
    effect_reasons: str = ""
    toggles: str = ""
    diffs: Mapping[str, str] = field(default_factory=dict)
    invalid: str | None = None
    killed: str = ""
    removes: str = ""


class Story:
    """Writes runs into a ledger as the engine does, their ids numbered from `first`."""

    def __init__(self, recorder: Recorder, first: int = 1) -> None:
        self.recorder = recorder
        self._seconds = itertools.count()
        self._ids = itertools.count(first)

    def tick(self) -> float:
        """A second later than the last time."""
        return START + next(self._seconds)

    def new_id(self) -> str:
        return f"{next(self._ids):06d}"

    def begin(self, name: str = "pd-toolcalls", symptom: str = "markup leaks") -> None:
        self.recorder.set_campaign(name, symptom, "USD")

    def hypothesis(self, slug: str, claim: str = "it is so", *assumptions: str) -> None:
        self.recorder.add_hypothesis(Hypothesis(slug, claim, assumptions=assumptions))

    def run(
        self,
        playbook: str,
        kind: str = "baseline",
        arms: Sequence[Arm] = (),
        speaks_to: Sequence[str] = (),
        verdict: Verdict | None = None,
        comparison: Mapping[str, int] | None = None,
        conditions: Mapping[str, str] | None = None,
        **fields: object,
    ) -> str:
        """Stores a run with its boots, each with one restart and one observation; its id."""
        run = self._run(playbook, kind, fields)
        self.recorder.add(run)
        self.recorder.link_run(run.id, speaks_to)
        for position, arm in enumerate(arms):
            self._boot(run, position, arm, {"concurrency": "60", **(conditions or {})})
        if comparison is not None:
            self._compare(run, comparison)
        if verdict is not None:
            self.judge(run.id, verdict, *(speaks_to or (None,)))
        return run.id

    def judge(self, run: str, verdict: Verdict, *slugs: str | None) -> None:
        self.recorder.add_all(
            records.Verdict(
                self.new_id(),
                run,
                slug,
                verdict.word,
                verdict.qualifier,
                "\n".join(verdict.reasons),
                json.dumps(dict(verdict.numbers)),
                verdict.still_needed,
                self.tick(),
            )
            for slug in slugs
        )

    def way_back(self, run: str, seconds: float = 4.0) -> None:
        """The final boot, charged to `run`."""
        boot = records.Boot(
            self.new_id(),
            f"batch of {run}",
            None,
            99,
            "",
            "",
            self.tick(),
            self.tick(),
            seconds,
            0.04,
        )
        self.recorder.add_all((boot, self._cycle(boot, run, "")))

    def ledger(self) -> Ledger:
        return Ledger.open(self.recorder.path)

    def report(self, width: int = 100) -> str:
        with self.ledger() as ledger:
            return page(collect(ledger), width)

    def observed(self) -> tuple[Observation, ...]:
        with self.ledger() as ledger:
            return ledger.observations_of()

    def _run(self, playbook: str, kind: str, fields: Mapping[str, object]) -> records.Run:
        owner, id = current_owner(), f"{playbook}-{self.new_id()}"
        started = self.tick()
        values: dict[str, object] = {
            "id": id,
            "batch": f"batch of {id}",
            "playbook": playbook,
            "kind": kind,
            "question": f"What does {playbook} show?",
            "if_true": "fewer failures",
            "if_false": "as many failures",
            "playbook_text": f"name: {playbook}\n",
            "playbook_sha256": "00",
            "variables": "{}",
            "command": f"campaign run {playbook}",
            "status": "completed",
            "state": "clean",
            "started_at": started,
            "ended_at": started + 60,
            "owner_pid": owner.pid,
            "owner_start": owner.start,
            "owner_boot": owner.boot,
        }
        return records.Run(**{**values, **fields})

    def _boot(
        self, run: records.Run, position: int, arm: Arm, conditions: Mapping[str, str]
    ) -> None:
        boot = records.Boot(
            self.new_id(),
            run.batch,
            run.id,
            position,
            arm.name,
            arm.toggles,
            self.tick(),
            self.tick(),
            OCCUPIED_S,
            0.21,
            arm.effect,
            arm.effect_reasons,
        )
        cycle = self._cycle(boot, run.id, arm.killed)
        step = records.Step(
            self.new_id(), run.id, boot.id, position + 1, "drive the sessions", "reproduce",
            self.tick(), self.tick(), "completed",
        )  # fmt: skip
        self.recorder.add_all((boot, cycle, step))
        if arm.removes:
            self.recorder.add(records.Removal(boot.id, arm.removes))
        self._edits(run, boot, arm.diffs)
        if arm.counts.total:
            self._observe(cycle, step, arm, conditions)

    def _edits(self, run: records.Run, boot: records.Boot, diffs: Mapping[str, str]) -> None:
        back = run.ended_at if run.state == "clean" else None
        for path, diff in diffs.items():
            after = hashlib.sha256(diff.encode()).hexdigest()
            edit = records.Edit(
                self.new_id(), boot.id, run.id, "here", path, "00", after, diff, "patch", back
            )
            self.recorder.add(edit)

    def _cycle(self, boot: records.Boot, run: str, killed: str) -> records.Cycle:
        at = self.tick()
        return records.Cycle(
            id=self.new_id(),
            boot=boot.id,
            run=run,
            services="prefill decode",
            requested_at=at,
            down_at=at,
            healthy_at=at + RESTART_S,
            downtime_s=RESTART_S,
            drain_s=0.5,
            down_s=0.5,
            warmup_s=1.5,
            killed=killed,
            outcome="healthy",
            proof="{}",
            money=0.28,
        )

    def _observe(
        self, cycle: records.Cycle, step: records.Step, arm: Arm, conditions: Mapping[str, str]
    ) -> None:
        observation = records.Observation(
            self.new_id(),
            step.run,
            step.boot,
            cycle.id,
            step.id,
            "agent-sessions",
            arm.name,
            json.dumps(dict(conditions)),
            self.tick(),
            self.tick(),
            0,
            "fixed",
            arm.invalid,
        )
        counts = arm.counts
        results = ["fail"] * counts.fail + ["pass"] * counts.passed + ["censored"] * counts.censored
        self.recorder.add_all(
            (
                observation,
                *(
                    records.Trial(observation.id, at, result, result, None, "", None, START)
                    for at, result in enumerate(results)
                ),
            )
        )

    def _compare(self, run: records.Run, numbers: Mapping[str, int]) -> None:
        with self.ledger() as ledger:
            step = ledger.steps(run.id)[0]
        counts = dict.fromkeys(COMPARISON_COUNTS, 0)
        self.recorder.add(
            records.Comparison(
                id=self.new_id(),
                run=run.id,
                boot=step.boot,
                step=step.id,
                detector="idxk",
                coverage=1.0,
                at=self.tick(),
                **{**counts, **numbers},
            )
        )
