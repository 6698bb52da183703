"""Runs that keep what they changed: conditions of later runs, and put back in any order."""

import json

from engine_stage import Stage

FEW = ("-e", "trials=20")


def kept(stage: Stage, playbook: str = "fix") -> str:
    """A run of `playbook` that keeps what it changed: its id."""
    ended = stage.run("run", playbook, "-y", "--keep", *FEW, "--accept-difference", "*")
    assert ended.code == 0, ended.err
    assert "Kept as changed:" in ended.err
    return str(stage.newest()["id"])


def test_a_kept_run_is_a_condition_of_the_next_and_put_back_by_its_name(stage: Stage) -> None:
    assert stage.run("run", "baseline", "-y", *FEW).code == 0
    restarts = stage.rows("SELECT count(*) AS n FROM cycle")[0]["n"]
    run = kept(stage)
    assert "bug False" in stage.toy.ask("/health")
    assert stage.rows("SELECT count(*) AS n FROM cycle")[0]["n"] == restarts + 1
    assert stage.run("recover").out.startswith("Nothing to recover.\nkept by " + run)

    refused = stage.run("run", "safe-mode", "-y", *FEW)
    assert refused.code == 6
    assert "was seen under other conditions: kept here:" in refused.err
    assert "against nothing" in refused.err
    other = stage.run("run", "safe-mode", "-y", *FEW, "--accept-difference", "kept")
    assert other.code == 0, other.err
    assert f"kept by {run}" in other.err
    assert "accepted difference: kept here:" in other.err
    assert "bug False" in stage.toy.ask("/health")
    gone = stage.rows(
        "SELECT hypothesis FROM removal JOIN boot ON boot.id = boot WHERE run = ? ORDER BY 1",
        stage.newest()["id"],
    )
    assert [row["hypothesis"] for row in gone] == ["mode", "rule"]

    status = stage.run("status")
    assert f"kept by {run} for rule since" in status.out
    assert f"campaign recover {run}" in status.out
    assert "here:" + str(stage.root / "src" / "rule.py") in status.out
    shown = stage.run("runs", "show", run).out
    assert f"kept, until campaign recover {run}" in shown
    report = stage.run("report").out
    assert f"{run} keeps what it changed" in " ".join(report.split())
    back = stage.run("recover", "fix")
    assert back.code == 0, back.err
    assert f"{run} keeps nothing any more" in back.out
    assert "restarted app" in back.out
    stage.check_untouched()
    stage.check_recovered()
    charged = stage.rows("SELECT count(*) AS n FROM cycle WHERE run = ?", run)
    assert charged[0]["n"] == 2
    assert "kept" not in stage.run("status").out
    assert stage.run("run", "baseline", "-y", *FEW).code == 0


def test_what_is_kept_is_not_touched(stage: Stage) -> None:
    mode, rule = kept(stage, "safe-mode"), kept(stage)
    for playbook, run, path in (("fix", rule, "why.txt"), ("safe-mode", mode, "app.env")):
        refused = stage.run("run", playbook, "-y", *FEW)
        assert refused.code == 6, refused.err
        assert f"{path} on host here is kept changed by {run}" in refused.err
        assert f"campaign recover {run}" in refused.err
    part = stage.run("recover", mode.rpartition("-")[2])
    assert (part.code, "no run whose id begins with" in part.err) == (2, True)
    assert stage.run("recover", mode).code == 0
    assert stage.toy.ask("/env") == "plain"
    assert "bug False" in stage.toy.ask("/health")
    assert stage.run("recover", rule).code == 0
    stage.check_untouched()
    stage.check_recovered()


def test_another_operator_with_an_empty_ledger_puts_it_back(stage: Stage) -> None:
    run = kept(stage)
    for path in stage.root.glob("campaign.db*"):
        path.unlink()
    assert stage.run("hypothesis", "import", str(stage.root / "hypotheses.yaml")).code == 0
    assert f"kept by {run}" in stage.run("plan", "safe-mode").out
    assert f"kept by {run}" in stage.run("doctor").out
    assert stage.run("recover", run).code == 0
    stage.check_untouched()
    stage.check_recovered()


def test_someone_elses_change_of_what_is_kept_stops_plans_and_is_left(stage: Stage) -> None:
    run, rule = kept(stage), stage.root / "src" / "rule.py"
    rule.write_text("BUG = False  # mine\n", encoding="utf-8")
    refused = stage.run("run", "safe-mode", "-y", *FEW)
    assert refused.code == 6
    assert f"rule.py on host here is not as {run} kept it" in refused.err
    assert "was changed by someone else" in stage.run("status").out
    dirty = stage.run("recover", run)
    assert dirty.code == 5
    assert f"campaign recover --accept {rule}" in dirty.out
    assert rule.read_text(encoding="utf-8") == "BUG = False  # mine\n"
    assert stage.newest()["state"] == "dirty"
    status = stage.run("status").out
    assert f"! {run} could not be put back whole; run: campaign recover\n" in status
    assert "kept by" not in status
    accepted = stage.run("recover", "--accept", str(rule))
    assert accepted.code == 0, accepted.out
    assert (stage.newest()["state"], stage.toy.journal()) == ("clean", [])
    assert rule.read_text(encoding="utf-8") == "BUG = False  # mine\n"


WITH_COMMAND = """
name: marked
hypothesis: rule
kind: fix
question: Does it fail with the rule corrected?
vars: {trials: 5}
steps:
  - patch: {root: src, diff: patches/fix.diff, removes: [rule]}
  - restart: {services: [app]}
  - name: mark
    command: {do: [touch, marked], undo: [rm, marked]}
  - reproduce: {use: trials}
"""


def test_a_command_is_undone_where_files_stay(stage: Stage) -> None:
    stage.toy.playbook("marked", WITH_COMMAND)
    ended = stage.run("run", "marked", "-y", "--keep")
    assert ended.code == 0, ended.err
    assert "undo: mark  ok" in ended.err
    assert not (stage.root / "marked").exists()
    assert "bug False" in stage.toy.ask("/health")
    assert stage.run("recover", "marked").code == 0
    stage.check_untouched()


UNDONE = """
name: undone
kind: probe
hypothesis: rule
question: Does it fail with that done?
predicts: {if_true: a, if_false: b}
vars: {trials: 5}
steps:
  - patch: {root: src, diff: patches/fix.diff}
  - command: {do: [touch, marked], undo: [rm, marked]}
  - restart: {services: [app]}
  - reproduce: {use: trials}
"""


def test_what_cannot_be_kept_is_refused(bare: Stage) -> None:
    bare.toy.playbook("undone", UNDONE)
    for names, why in (
        (["baseline"], "changes no file: --keep has nothing to keep"),
        (["fix", "safe-mode"], "--keep keeps one configuration"),
        (["undone"], "is undone at the end: --keep cannot keep what was started after it"),
    ):
        refused = bare.run("run", *names, "-y", "--keep")
        assert refused.code == 2, refused.err
        assert why in refused.err


def test_a_run_that_fails_keeps_nothing(stage: Stage) -> None:
    (stage.root / "repro.py").write_text("raise SystemExit(3)\n", encoding="utf-8")
    failed = stage.run("run", "fix", "-y", "--keep", *FEW)
    assert failed.code == 3
    assert "Everything was put back." in failed.err
    stage.check_untouched()
    stage.check_recovered()


def test_one_whose_verdict_is_invalid_keeps_nothing(stage: Stage) -> None:
    touch = f"""
import pathlib
pathlib.Path({str(stage.root / "src" / "notes" / "why.txt")!r}).write_text("other")
print('{{"outcome": "good", "key": 1}}')
"""
    (stage.root / "repro.py").write_text(touch, encoding="utf-8")
    ended = stage.run("run", "fix", "-y", "--keep", *FEW)
    assert ended.code == 5
    assert "nothing is kept: the system changed during the measures" in ended.err


def test_a_service_older_than_what_is_kept_stops_the_plan(stage: Stage) -> None:
    run, journal = kept(stage), stage.root / ".campaign" / "host" / "journal.json"
    told = json.loads(journal.read_text(encoding="utf-8"))
    for entry in told["stack"][0]["entries"]:
        entry["changed_at"] += 1e6
    journal.write_text(json.dumps(told), encoding="utf-8")
    refused = stage.run("plan", "safe-mode")
    assert refused.code == 6
    assert f"runs since before what {run} keeps changed" in refused.err
