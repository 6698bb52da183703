"""Rows for the tests: every argument that a test does not care about has a value here."""

import itertools
import json
from collections.abc import Sequence

from campaign.ledger import records
from campaign.ledger.owner import Owner, current_owner
from campaign.ledger.recorder import Recorder

_COUNTS = (
    *("matched", "mismatched", "left_only", "right_only", "duplicate", "lost", "known_bad"),
    *("fail_mismatch", "fail_match", "pass_mismatch", "pass_match", "uncovered"),
)

_clock = itertools.count(1_000)


def tick() -> float:
    """A time later than all before."""
    return float(next(_clock))


def make_run(id: str = "baseline-aaaaaa", **fields: object) -> records.Run:
    owner = fields.pop("owner", None) or current_owner()
    assert isinstance(owner, Owner)
    values: dict[str, object] = {
        "id": id,
        "batch": f"batch of {id}",
        "playbook": id.rpartition("-")[0] or id,
        "kind": "baseline",
        "question": "How often?",
        "if_true": "",
        "if_false": "",
        "playbook_text": "name: baseline",
        "playbook_sha256": "00",
        "variables": "{}",
        "command": "campaign run",
        "status": "completed",
        "state": "clean",
        "started_at": tick(),
        "owner_pid": owner.pid,
        "owner_start": owner.start,
        "owner_boot": owner.boot,
    }
    return records.Run(**{**values, **fields})


def make_boot(id: str, run: records.Run, /, **fields: object) -> records.Boot:
    values: dict[str, object] = {
        "id": id,
        "batch": run.batch,
        "run": run.id,
        "position": 0,
        "arm": "",
        "toggles": "",
        "started_at": tick(),
    }
    return records.Boot(**{**values, **fields})


def make_cycle(id: str, boot: records.Boot, run: str, **fields: object) -> records.Cycle:
    values: dict[str, object] = {
        "id": id,
        "boot": boot.id,
        "run": run,
        "services": "prefill decode",
        "requested_at": tick(),
        "down_at": 1.0,
        "healthy_at": 2.0,
        "downtime_s": 1.0,
        "drain_s": 0.2,
        "down_s": 0.3,
        "warmup_s": 0.5,
        "killed": "",
        "outcome": "healthy",
        "proof": "{}",
        "money": 0.0,
    }
    return records.Cycle(**{**values, **fields})


def make_step(id: str, boot: records.Boot, **fields: object) -> records.Step:
    values: dict[str, object] = {
        "id": id,
        "run": boot.run,
        "boot": boot.id,
        "position": 1,
        "name": "drive the sessions",
        "kind": "reproduce",
        "started_at": tick(),
    }
    return records.Step(**{**values, **fields})


def make_observation(id: str, step: records.Step, **fields: object) -> records.Observation:
    values: dict[str, object] = {
        "id": id,
        "run": step.run,
        "boot": step.boot,
        "cycle": None,
        "step": step.id,
        "reproducer": "agent-sessions",
        "arm": "",
        "conditions": json.dumps({"concurrency": "40"}),
        "started_at": tick(),
    }
    return records.Observation(**{**values, **fields})


def make_trials(observation: str, results: Sequence[str]) -> list[records.Trial]:
    return [
        records.Trial(observation, position, result, result, None, "", None, 1.0)
        for position, result in enumerate(results)
    ]


def make_comparison(id: str, step: records.Step, **fields: object) -> records.Comparison:
    values: dict[str, object] = {
        "id": id,
        "run": step.run,
        "boot": step.boot,
        "step": step.id,
        "detector": "0123456789abcdef",
        **dict.fromkeys(_COUNTS, 0),
        "coverage": 1.0,
        "at": tick(),
    }
    return records.Comparison(**{**values, **fields})


def make_verdict(id: str, run: str, word: str, **fields: object) -> records.Verdict:
    values: dict[str, object] = {
        "id": id,
        "run": run,
        "hypothesis": None,
        "word": word,
        "qualifier": "",
        "reasons": "",
        "numbers": "{}",
        "still_needed": "",
        "at": tick(),
    }
    return records.Verdict(**{**values, **fields})


def observe(
    recorder: Recorder, run: records.Run, results: Sequence[str], **fields: object
) -> records.Observation:
    """Stores `run` with one boot, one restart cycle and one observation of `results`."""
    boot = make_boot(f"boot of {run.id}", run)
    cycle = make_cycle(f"cycle of {run.id}", boot, run.id)
    step = make_step(f"step of {run.id}", boot)
    observation = make_observation(
        f"observation of {run.id}", step, **{"cycle": cycle.id, **fields}
    )
    trials = make_trials(observation.id, results)
    recorder.add_all([run, boot, cycle, step, observation, *trials])
    return observation
