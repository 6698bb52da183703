"""The campaign that the pictures of the README show: the demo's, with times that never change."""

import json
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace
from report_builders import Arm, Story
from report_demo import CHECKSUM, CHECKSUM_ON, FIX_DIFF

from campaign.engine.belief import weigh
from campaign.engine.standing import judge_anew
from campaign.ledger import records
from campaign.ledger.owner import current_owner
from hypotheses.assumptions import Settings
from hypotheses.by_mismatch import judge_detector, judge_mismatch
from hypotheses.by_rate import judge_rate
from hypotheses.comparison import BootCompared, Comparison, TwoByTwo
from hypotheses.observation import Counts
from hypotheses.verdict import Effect, Expect

CAUSE = "idxk-transfer"
FIX = "sentinel-after-transfer"
FIXED = {"/srv/system/prefill.py": FIX_DIFF}
BACK = "restored from the host's journal"
SEEN, OF = 41, 60
"""Trials of the run under way that have ended, and that it drives."""

_Row = tuple[str, str, float, str, str]
"""A step: its name, its kind, seconds, how it goes back, and what came of it."""

_RESTART: _Row = (
    "restart prefill, decode, router", "restart", 2.6, "restarts on the way back",
    "down 2.5 s: drain 0.5, down 0.5, warm-up 1.5",
)  # fmt: skip
_TOGGLE: tuple[_Row, ...] = (
    ("switch topk_v2 off", "env", 0.1, BACK, "2 files changed"),
    _RESTART,
    ("drive the sessions", "reproduce", 9.2, "", "failed 17/60, 28.3% (18.5-40.8%)"),
)
_FIX_SO_FAR: tuple[_Row, ...] = (
    ("announce after landing", "patch", 0.1, BACK, "1 file changed"),
    _RESTART,
    ("drive the sessions", "reproduce", 0.0, "", ""),
)


def until_the_fix(story: Story) -> None:
    """The baseline, the innocent toggle and the detector."""
    story.begin(symptom="tool-call markup leaks into assistant content under load")
    story.run("baseline", arms=[Arm(Counts(13, 47))])
    toggled = Arm(Counts(18, 42), toggles="env.decode.DEMO_OPT_USE_TOPK_V2", removes="topk-v2")
    run = story.run("topk-v2-off", "toggle", [toggled], ["topk-v2"])
    _judge(story, run, "topk-v2-off", "topk-v2")
    rooms = frozenset({"3", "6", "9"})
    seen = Comparison(frozenset("124578"), rooms, known_bad=rooms, detector="idxk")
    found = judge_detector([seen], Effect.EFFECTIVE)
    counts = {"matched": 6, "mismatched": 3, "known_bad": 3}
    arm = Arm(Counts(0, 9), toggles=CHECKSUM_ON, diffs=CHECKSUM)
    alone = {"concurrency": "1"}
    story.run("idxk-known-bad", "detector", [arm], [CAUSE], found, counts, alone)


def confirmed(story: Story) -> None:
    """The rest of it: the mechanism is seen, and the failure is gone, back, and gone again."""
    rooms, bad = (frozenset(str(room) for room in range(n)) for n in (60, 14))
    joined = Comparison(rooms - bad, bad, detector="idxk")
    seen = judge_mismatch(
        [BootCompared(joined, TwoByTwo(14, 0, 0, 46), Counts(14, 46))],
        min_coverage=0.95, trusted=True, effect=Effect.EFFECTIVE,
    )  # fmt: skip
    arm = Arm(Counts(14, 46), toggles=CHECKSUM_ON, diffs=CHECKSUM)
    counts = {"matched": 46, "mismatched": 14, "fail_mismatch": 14, "pass_match": 46}
    story.run("idxk-checksum", "probe", [arm], [CAUSE], seen, counts)
    _fix(story)
    run = story.run("sentinel-back", "baseline", [Arm(Counts(14, 46))], [CAUSE])
    _judge(story, run, "sentinel-back", CAUSE, against=FIX, expect=Expect.RISE)
    story.way_back(_fix(story))
    judge_anew(story.recorder, [CAUSE, "topk-v2"], Settings())


def _fix(story: Story) -> str:
    """A run of the fix, without a failure; its id."""
    clean = Arm(Counts(0, 60), toggles="file.here:/srv/system", removes=CAUSE, diffs=FIXED)
    run = story.run(FIX, "fix", [clean], [CAUSE])
    _judge(story, run, FIX, CAUSE)
    return run


def _judge(
    story: Story,
    run: str,
    playbook: str,
    slug: str,
    against: str = "baseline",
    expect: Expect = Expect.DROP,
) -> None:
    """By the engine's own rules."""
    observed = story.observed()
    verdict = judge_rate(
        [one for one in observed if one.playbook == playbook],
        [one for one in observed if one.playbook == against],
        expect=expect,
        effect=Effect.EFFECTIVE,
        against=against,
    )
    asked = {"expect": str(expect), "against": against}
    verdict = replace(verdict, numbers={**verdict.numbers, **asked})
    if expect is Expect.DROP:
        with story.ledger() as ledger:
            verdict = weigh(verdict, ledger, Settings(), run, slug)
    story.judge(run, verdict, slug)


def under_way(story: Story, artifacts: Path) -> float:
    """Two playbooks of one command: the first is over, the second drives its sessions; the time."""
    owner, batch = current_owner(), story.new_id()
    of_both = {
        "batch": batch,
        "command": f"campaign run topk-v2-off {FIX}",
        "owner_pid": owner.pid,
        "owner_start": owner.start,
        "owner_boot": owner.boot,
    }
    toggle = _run(story, story.run("topk-v2-off", "toggle", speaks_to=["topk-v2"], **of_both))
    _boot(story, toggle, 0, _TOGGLE)
    now = {"status": "running", "ended_at": None, **of_both}
    fix = _run(story, story.run(FIX, "fix", speaks_to=[CAUSE], **now))
    return _drive(story, fix, _boot(story, fix, 1, _FIX_SO_FAR), artifacts)


def _run(story: Story, id: str) -> records.Run:
    with story.ledger() as ledger:
        return ledger.run(id)


def _boot(
    story: Story, run: records.Run, position: int, rows: Sequence[_Row]
) -> tuple[records.Cycle, records.Step]:
    """A boot with its steps, the last of which is still under way where it took no time."""
    began = at = story.tick()
    boot = records.Boot(story.new_id(), run.batch, run.id, position, "", "", began)
    cycle = records.Cycle(
        story.new_id(), boot.id, run.id, "prefill decode router", at, at, at + 2.5,
        2.5, 0.5, 0.5, 1.5, "", "healthy", "{}", 0.28,
    )  # fmt: skip
    steps = []
    for number, (name, kind, took, undo, detail) in enumerate(rows, start=1):
        step = records.Step(
            story.new_id(), run.id, boot.id, number, name, kind, at, at + took,
            "completed", undo, detail,
        )  # fmt: skip
        steps.append(step)
        at += took
    if run.status == "running":
        steps[-1] = replace(steps[-1], ended_at=None, status="running")
    else:
        boot = replace(boot, ended_at=at, occupied_s=at - began, money=0.13, effect="effective")
    story.recorder.add_all((boot, cycle, *steps))
    return cycle, steps[-1]


def _drive(
    story: Story, run: records.Run, last: tuple[records.Cycle, records.Step], artifacts: Path
) -> float:
    """The sessions so far, in the ledger and in the reproducer's output; the time it is then."""
    cycle, step = last
    artifact = f"{run.id}/output.log"
    one = records.Observation(
        story.new_id(), run.id, step.boot, cycle.id, step.id, "agent-sessions", FIX,
        json.dumps({"concurrency": "60"}), step.started_at, artifact=artifact,
    )  # fmt: skip
    ended = [(at, step.started_at + 2 + at * 0.13) for at in range(SEEN)]
    words = ["maxrounds" if at % 5 else "done" for at, _ in ended]
    trials = [
        records.Trial(one.id, at, word, "pass", None, "", None, when)
        for (at, when), word in zip(ended, words, strict=True)
    ]
    story.recorder.add_all(
        (
            one,
            records.ObservationTerms(one.id),
            records.ObservationPlan(one.id, OF),
            records.Removal(step.boot, CAUSE),
            *trials,
        )
    )
    path = artifacts / artifact
    path.parent.mkdir(parents=True)
    path.write_text("".join(_line(at, word) for at, word in enumerate(words)), encoding="utf-8")
    return ended[-1][1] + 0.1


def _line(at: int, word: str) -> str:
    """What the demo's reproducer prints of a session."""
    told = {
        "session": f"1a228e9d852-{at * 37 % OF:03}",
        "outcome": word,
        "rooms": [f"17676063{at:04}{turn}" for turn in range(1 + at % 3)],
        "rounds": 1 + at % 3,
        "seconds": round(2 + at * 0.13, 3),
    }
    return f"{json.dumps(told)}\n"
