"""A whole campaign as a story: the case that the product's demo is a miniature of."""

from report_builders import Arm, Story

from hypotheses.by_mismatch import judge_detector, judge_mismatch
from hypotheses.by_rate import judge_rate
from hypotheses.comparison import BootCompared, Comparison, TwoByTwo
from hypotheses.hypothesis import Standing
from hypotheses.observation import Counts
from hypotheses.verdict import Effect, Expect, Verdict, Word

SUM_DIFF = """\
--- prefill.py
+++ prefill.py
@@ -1,2 +1,3 @@
 buffer = pool.take(room)
+log(f"idxk room={room} sum={checksum(buffer)}")
 send(buffer)
"""
ENV_DIFF = "--- prefill.env\n+++ prefill.env\n@@ -0,0 +1 @@\n+DEMO_IDXK_CKSUM=1\n"
FIX_DIFF = """\
--- prefill.py
+++ prefill.py
@@ -1,2 +1,3 @@
 transfer.submit(buffer)
+transfer.wait_landed()
 notify("```ready```")
"""
CHECKSUM = {"/srv/system/prefill.py": SUM_DIFF, "/srv/env/prefill.env": ENV_DIFF}
CHECKSUM_ON = "env.prefill.DEMO_IDXK_CKSUM\nenv.decode.DEMO_IDXK_CKSUM\nfile.here:/srv/system"


def tell(story: Story) -> None:
    """Baseline, innocent toggle, detector, probe, fix, and the bug again."""
    story.begin(symptom="tool-call markup leaks into assistant content under load")
    _hypotheses(story)
    story.run("baseline", arms=[Arm(Counts(21, 39))])
    _topk(story)
    _detector(story)
    _probe(story)
    _fix_and_back(story)
    _troubles(story)
    _standings(story)


def _hypotheses(story: Story) -> None:
    story.hypothesis("topk-v2", "The second top-k picks wrong positions.", "0 switches it off")
    story.hypothesis("mtp", "Multi-token prediction runs past a call.")
    story.hypothesis("detokenizer", "The detokenizer misses complete calls.")
    story.hypothesis(
        "idxk-transfer",
        "Decode reads an index_k buffer that has not fully landed.",
        "The checksum covers the bytes that decode reads",
        "Summing does not move the read past the landing",
    )


def _topk(story: Story) -> None:
    run = story.run(
        "topk-v2-off",
        "toggle",
        [Arm(Counts(18, 40, 2), toggles="env.decode.DEMO_OPT_USE_TOPK_V2")],
        ["topk-v2"],
    )
    story.judge(run, _by_rate(story, "topk-v2-off", "baseline", Expect.DROP), "topk-v2")


def _detector(story: Story) -> None:
    rooms = frozenset({"3", "6", "9"})
    seen = Comparison(frozenset("124578"), rooms, known_bad=rooms, detector="idxk")
    story.run(
        "idxk-known-bad",
        "detector",
        [Arm(Counts(0, 9), toggles=CHECKSUM_ON, diffs=CHECKSUM)],
        ["idxk-transfer"],
        judge_detector([seen], Effect.EFFECTIVE),
        {"matched": 6, "mismatched": 3, "known_bad": 3, "pass_mismatch": 3, "pass_match": 6},
        {"concurrency": "1"},
    )


def _probe(story: Story) -> None:
    rooms = frozenset(str(room) for room in range(60))
    bad = frozenset(str(room) for room in range(22))
    table = TwoByTwo(20, 0, 2, 38)
    joined = Comparison(rooms - bad, bad, detector="idxk")
    verdict = judge_mismatch(
        [BootCompared(joined, table, Counts(20, 40))],
        min_coverage=0.95, trusted=True, effect=Effect.EFFECTIVE,
    )  # fmt: skip
    numbers = {"fail_mismatch": 20, "pass_mismatch": 2, "pass_match": 38}
    arm = Arm(Counts(20, 40), toggles=CHECKSUM_ON, diffs=CHECKSUM, killed="decode")
    counts = {"matched": 38, "mismatched": 22, **numbers}
    story.run("idxk-checksum", "probe", [arm], ["idxk-transfer"], verdict, counts)


def _fix_and_back(story: Story) -> None:
    run = story.run(
        "sentinel-after-transfer",
        "fix",
        [Arm(Counts(0, 60), diffs={"/srv/system/prefill.py": FIX_DIFF})],
        ["idxk-transfer"],
    )
    fix = _by_rate(story, "sentinel-after-transfer", "baseline", Expect.DROP)
    story.judge(run, fix, "idxk-transfer")
    run = story.run("sentinel-back", "baseline", [Arm(Counts(24, 36))], ["idxk-transfer"])
    back = _by_rate(story, "sentinel-back", "sentinel-after-transfer", Expect.RISE)
    story.judge(run, back, "idxk-transfer")
    story.way_back(run)


def _troubles(story: Story) -> None:
    """A failed run, and one whose results were taken back."""
    story.run(
        "mtp-off", "toggle", speaks_to=["mtp"], status="failed", error="decode: not healthy | 30 s"
    )
    verdict = Verdict(Word.REFUTED, reasons=("a wrong log was compared",))
    arm = Arm(Counts(3, 5), "treatment", "unproven", "decode worker 12: unreadable")
    run = story.run("detok-log", "probe", [arm], ["detokenizer", "mtp"], verdict)
    story.recorder.retract(run, "the log of another day")


def _standings(story: Story) -> None:
    reason = "its mechanism was seen (idxk-checksum), and what else is needed to confirm it"
    story.recorder.set_standing("idxk-transfer", Standing.CONFIRMED, reason, "rule")
    story.recorder.set_standing("mtp", Standing.ABANDONED, "mtp is off in production", "operator")


def _by_rate(story: Story, playbook: str, against: str, expect: Expect) -> Verdict:
    observed = story.observed()
    return judge_rate(
        [one for one in observed if one.playbook == playbook],
        [one for one in observed if one.playbook == against],
        expect=expect,
        effect=Effect.EFFECTIVE,
        against=against,
    )
