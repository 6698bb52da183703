"""Compare steps: keys of several parts with their lines, and outputs that must agree exactly."""

import json

from engine_stage import Stage

ROOMS = """\
name: rooms
hypothesis: rule
kind: {kind}
vars: {{trials: 12}}
steps:
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
  - compare:
      left: {{log: app, match: 'sent {groups}', key: [room, part], value: [k, v]}}
      right: {{log: app, match: 'got {groups}', key: [room, part], value: [k, v]}}
      {bad}
      skip: ready
      repeats: in_order
      only: trials
verdict: {{by: mismatch, min_coverage: 95%}}
"""
GROUPS = r"key=(?P<room>\d)(?P<part>\d*) sum=(?P<k>[0-9a-f])(?P<v>[0-9a-f]*)"
BAD = r"known_bad: {log: app, match: 'sent key=(?P<room>(1|)5)(?P<part>)', key: [room, part]}"
DIGESTS = """\
name: digests
hypothesis: [rule]
kind: {kind}
arms: [plain, fixed]
vars: {{trials: 20}}
steps:
  - patch: {{root: src, diff: patches/fix.diff}}
    when: fixed
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
  - compare:
      left: {{output: plain, key: key, value: outcome}}
      right: {{output: fixed, key: key, value: outcome}}
      {bad}
verdict: {{by: mismatch}}
"""
KNOWN = r"known_bad: {output: plain, match: '\"bad\", \"key\": (?P<key>\d+)'}"


PROBED = """\
name: probed
hypothesis: rule
kind: {kind}
vars: {{trials: 12}}
steps:
  - patch: {{root: src, probe: checksum}}
  - patch: {{root: src, diff: patches/probed.diff}}
  - env: {{services: [app], set: {{CHECKSUM_PROBE: "1", CHECKSUM_PROBE_LINES: "{lines}"}}}}
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
  - compare:
      left: {{checkpoint: a trial, of: app, side: sent}}
      right: {{checkpoint: a trial, of: app, side: got}}
verdict: {{by: mismatch, min_coverage: 80%}}
"""
CALLS = """\
--- a/app.py
+++ b/app.py
@@ -10,2 +10,3 @@

+from checksum_probe import checkpoint
 import rule
@@ -17,4 +18,4 @@
         bad = rule.BUG and os.environ.get("MODE") != "safe" and number % 5 == 0
-        print(f"sent key={number} sum={number:x}", flush=True)
-        print(f"got key={number} sum={number + bad:x}", flush=True)
+        checkpoint("a trial", b"%d" % number, key=number, side="sent")
+        checkpoint("a trial", bytearray(b"%d" % (number + bad)), key=number, side="got")
         return "bad" if bad else "good"
"""


def test_a_key_of_several_parts_is_shown_with_the_lines_around_it(stage: Stage) -> None:
    stage.toy.playbook("rooms", ROOMS.format(kind="probe", groups=GROUPS, bad=""))
    done = stage.run("run", "rooms", "-y")
    assert done.code == 0, done.err
    (found,) = stage.rows("SELECT * FROM comparison")
    assert (found["matched"], found["mismatched"], found["left_only"]) == (10, 2, 0)
    assert (found["fail_mismatch"], found["pass_mismatch"], found["pass_match"]) == (1, 1, 7)
    told = stage.run("runs", "show", "rooms").out
    assert "mismatched 1/0 (k differs)\n    left, line 20:\n" in told
    assert "      > sent key=10 sum=a\n      | got key=10 sum=b\n" in told
    shown = json.loads(stage.run("runs", "show", "rooms", "--json").out)
    (contexts,) = shown["contexts"].values()
    assert contexts["5/"]["right_before"].splitlines()[-1] == "sent key=5 sum=5"


def test_outputs_of_two_arms_and_of_an_earlier_run_agree_but_where_trials_fail(
    stage: Stage,
) -> None:
    stage.toy.playbook("digests", DIGESTS.format(kind="probe", bad=""))
    stage.toy.playbook(
        "known", DIGESTS.format(kind="detector", bad=KNOWN).replace("digests", "known")
    )
    early = stage.run("run", "digests", "-y")
    assert early.code == 0, early.err
    assert "fixed has not run yet: compared once it has" in early.err
    assert "detector not yet trusted" in early.err
    needed = "run known, which tests this comparison, under the same patch"
    assert f"still needed: {needed}" in early.err
    known = stage.run("run", "known", "-y")
    assert "supported, detector seen right" in known.err, known.err
    late = stage.run("run", "digests", "-y")
    assert "verdict (rule): supported" in late.err
    assert "mismatch in 4 of 4 failing trials, 4 of 36 passing" in late.err
    before = DIGESTS.format(kind="probe", bad="").replace("name: digests", "name: again")
    before = before.replace("arms: [plain, fixed]\n", "").replace("    when: fixed\n", "")
    before = before.replace("output: plain", "output: baseline").replace("fixed,", "again,")
    stage.toy.playbook("again", before)
    refused = stage.run("run", "again", "-y", "-e", "trials=5")
    assert refused.code == 6
    assert "again compares with the output of baseline, which has no completed run" in refused.err
    assert stage.run("run", "baseline", "-y", "-e", "trials=5").code == 0
    again = stage.run("run", "again", "-y", "-e", "trials=6")
    assert "4 match, 1 mismatch, 0 left only, 1 right only, 0 duplicate" in again.err


def test_blocks_are_judged_together_each_by_its_own_trials(stage: Stage) -> None:
    for kind, name, bad in (("probe", "rooms", ""), ("detector", "known", BAD)):
        text = ROOMS.format(kind=kind, groups=GROUPS, bad=bad).replace("trials: 12", "trials: 5")
        text = text.replace("vars:", "blocks: 3\nvars:").replace("name: rooms", f"name: {name}")
        stage.toy.playbook(name, text)
    known = stage.run("run", "known", "-y")
    assert "exactly the known-bad keys mismatched (3) and the others matched (12)" in known.err
    done = stage.run("run", "rooms", "-y")
    assert "verdict (rule): supported" in done.err, done.err
    told = "mismatch in 3 of 3 failing trials, 0 of 12 passing (p = .008 within 3 restarts)"
    assert told in done.err
    shown = stage.run("runs", "show", "rooms").out
    assert all(f"compared [{at}]: 4 match, 1 mismatch" in shown for at in (1, 2, 3))


def test_outputs_of_arms_in_blocks_are_compared_once_each(stage: Stage) -> None:
    text = DIGESTS.format(kind="probe", bad="").replace("trials: 20", "trials: 5")
    stage.toy.playbook("digests", text.replace("vars:", "schedule: abba\nvars:"))
    done = stage.run("run", "digests", "-y")
    assert done.code == 0, done.err
    assert "plain has not run again since it was compared" in done.err
    assert len(stage.rows("SELECT * FROM comparison")) == 2
    (verdict,) = stage.rows("SELECT * FROM verdict")
    assert json.loads(verdict["numbers"])["n"] == 20


def test_checkpoints_of_the_probe_are_joined_and_what_it_dropped_is_lost(stage: Stage) -> None:
    (stage.root / "patches" / "probed.diff").write_text(CALLS, encoding="utf-8")
    stage.toy.playbook("probed", PROBED.format(kind="probe", lines=1000))
    plan = stage.run("plan", "probed").out
    assert "the checksum probe, as it comes with campaign" in plan
    assert "+from checksum_probe import checkpoint" in plan
    assert "zlib" not in plan
    done = stage.run("run", "probed", "-y")
    assert done.code == 0, done.err
    (found,) = stage.rows("SELECT * FROM comparison")
    assert (found["mismatched"], found["fail_mismatch"], found["pass_mismatch"]) == (2, 2, 0)
    assert (found["left_only"], found["right_only"], found["lost"]) == (0, 0, 0)
    assert "name=a%20trial side=got key=10" in stage.run("runs", "show", "probed").out
    stage.check_untouched()

    stage.toy.playbook("probed", PROBED.format(kind="probe", lines=1))
    done = stage.run("run", "probed", "-y")
    assert done.code == 0, done.err
    (found,) = stage.rows("SELECT * FROM comparison ORDER BY at DESC LIMIT 1")
    assert found["lost"] > 0
    assert f"log lines lost: {found['lost']}, so nobody knows what was not compared" in done.err
    stage.check_untouched()

    unread = PROBED.format(kind="probe", lines=1000).replace('CHECKSUM_PROBE: "1"', 'OTHER: "1"')
    stage.toy.playbook("probed", unread)
    done = stage.run("run", "probed", "-y")
    told = "has not imported the checksum probe"
    early, late = done.err.index(f"! app {told} so far"), done.err.index(f"duplicate; app {told}: ")
    assert early < done.err.rindex("reproduce") < late
    assert f"       - app {told}: see that CHECKSUM_PROBE is set for it, " in done.err

    other = PROBED.format(kind="probe", lines=1000).replace("side: got", "side: gotten")
    stage.toy.playbook("probed", other)
    done = stage.run("run", "probed", "-y")
    assert told not in done.err
    assert "; app logged no such checkpoint: see that it makes the call, so named" in done.err
