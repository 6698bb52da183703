"""Trials none of which counts: nothing that shows them reads as a pass."""

from engine_stage import Stage

SAID = "no trial counts: all 4 censored (good 4)"


def test_where_every_trial_is_censored_all_that_tells_of_the_run_says_so(bare: Stage) -> None:
    bare.edit("campaign.yaml", "pass: [good]", "censored: [good]")
    bare.edit("playbooks/baseline.yaml", "trials: 40", "trials: 4")
    bare.up_again()
    xml = bare.root / "night.xml"
    done = bare.run("run", "-y", "baseline", "--junit-xml", str(xml))
    assert done.code == 0, done.err
    assert f"! {bare.newest()['id']}: {SAID}" in done.err
    assert f'<error message="{SAID}"' in xml.read_text(encoding="utf-8")
    assert SAID in bare.run("runs", "show", "baseline").out
    assert SAID in bare.run("report").out

    judged = bare.run("run", "-y", "fix", "-e", "trials=4")
    assert "verdict (rule): inconclusive, no trials" in judged.err, judged.err
    assert f"       - {SAID}\n" in judged.err

    alone = bare.run("autopilot", "-y", "--restarts", "9")
    assert f"Ended after 1 run: baseline: {SAID}" in alone.err
    assert alone.code == 6
