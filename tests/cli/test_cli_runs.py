"""runs list, show, log, retract; status; report: what a finished campaign can be asked."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
import toy as toys
from forked import await_that
from toy import Toy
from toy_stop import stop_services


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Toy]:
    """A campaign that has run a baseline twice and the fix once; to be looked at only."""
    made = toys.make(tmp_path_factory.mktemp("finished") / "toy")
    try:
        made.run("hypothesis", "import", str(made.root / "hypotheses.yaml"))
        for playbooks in (("baseline", "fix"), ("baseline",)):
            ran = made.run("run", *playbooks, "-y")
            assert ran.returncode == 0, ran.stderr
        yield made
    finally:
        stop_services(made)


@pytest.fixture
def copy(finished: Toy, tmp_path: Path) -> Toy:
    """The finished campaign's files, to be changed at will."""
    shutil.copytree(finished.root, tmp_path / "toy", ignore=shutil.ignore_patterns("host"))
    return Toy(tmp_path / "toy", finished.port)


def ids(toy: Toy, *words: str) -> list[str]:
    listed = json.loads(toy.run("runs", "list", *words, "--json").stdout)
    return [one["run"]["id"] for one in listed]


def test_runs_are_listed_newest_first_by_what_is_asked(finished: Toy) -> None:
    second, fix, first = ids(finished)
    assert (second.split("-")[0], fix.split("-")[0]) == ("baseline", "fix")
    assert ids(finished, "-l", "1") == [second]
    assert ids(finished, "--playbook", "baseline") == [second, first]
    assert ids(finished, "--hypothesis", "rule") == [fix]
    assert ids(finished, "--hypothesis", "mode") == []
    assert ids(finished, "--status", "failed") == []
    header, *rows = finished.run("runs", "list").stdout.splitlines()
    assert header.split() == ["run", "started", "status", "failed", "verdict", "down", "cost"]
    assert [row.split()[0] for row in rows] == [second, fix, first]
    assert "8/40, 20.0% (10.5-34.8%)" in rows[0]
    assert "inconclusive, leading" in rows[1]
    assert len({len(row) for row in rows}) == 1  # the last column is aligned to the right
    for words, said in (
        (("--playbook", "basline"), "there is no playbook 'basline'; did you mean 'baseline'?"),
        (("--hypothesis", "rul"), "there is no hypothesis 'rul'; did you mean 'rule'?"),
    ):
        wrong = finished.run("runs", "list", *words)
        assert (wrong.returncode, wrong.stderr) == (2, f"campaign: {said}\n")


def test_a_run_is_found_by_part_of_its_id(finished: Toy) -> None:
    second, fix, first = ids(finished)
    assert finished.run("runs", "show", fix[4:8]).stdout.startswith(f"{fix}: completed, clean")
    assert finished.run("runs", "show", "baseline").stdout.startswith(f"{second}: ")
    ambiguous = finished.run("runs", "show", "baselin")
    assert ambiguous.returncode == 2
    assert f"'baselin' matches 2 runs: {second}, {first}; say which" in ambiguous.stderr
    part = finished.run("runs", "retract", fix[4:8], "--reason", "a part is too little")
    assert part.returncode == 2
    assert f"no run matches '{fix[4:8]}'; did you mean {fix}?" in part.stderr
    unknown = finished.run("runs", "show", "nothing-like-it")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "no run matches 'nothing-like-it'" in unknown.stderr


def test_a_run_shows_what_was_done_seen_and_judged(finished: Toy) -> None:
    shown = finished.run("runs", "show", "fix").stdout
    for text in (
        "question    Does it fail with the rule corrected?",
        "variables   trials=40",
        "correct the rule  completed",
        "src/rule.py  put back",
        "+BUG = False",
        "effect: effective",
        "observed [fix] by trials: 0/40, at most 8.8%",
        "verdict on rule: inconclusive, leading",
        "still needed: ",
        "output.log",
    ):
        assert text in shown
    assert "+BUG = False" not in finished.run("runs", "show", "fix", "--no-diff").stdout
    found = json.loads(finished.run("runs", "show", "fix", "--json").stdout)
    assert found["listed"]["counts"] == {"fail": 0, "passed": 40, "censored": 0}
    assert [step["status"] for step in found["steps"]] == ["completed"] * 5


def test_the_output_of_a_run_is_kept_as_it_was(finished: Toy, copy: Toy) -> None:
    log = finished.run("runs", "log", "fix").stdout.splitlines()
    assert json.loads(log[0]) == {"outcome": "good", "key": 1}
    assert len(log) == 40
    unknown = finished.run("runs", "log", "fix", "nope.log")
    assert unknown.returncode == 2
    assert "kept no nope.log; it kept: output.log" in unknown.stderr
    shutil.rmtree(copy.root / ".campaign" / "artifacts")
    gone = copy.run("runs", "log", "fix")
    assert gone.returncode == 2
    assert "is gone; the numbers are still in the ledger" in gone.stderr


def test_a_retracted_run_leaves_the_counts_and_stays_in_the_costs(copy: Toy) -> None:
    before = json.loads(copy.run("status", "--json").stdout)
    fix = ids(copy, "--playbook", "fix")[0]
    done = copy.run("runs", "retract", "fix", "--reason", "the load was off")
    assert done.stdout.startswith(f"retracted {fix}\nrule: leading -> open; ")
    after = json.loads(copy.run("status", "--json").stdout)
    assert after["total"] == before["total"]
    (rule,) = (one for one in after["hypotheses"] if one["hypothesis"] == "rule")
    assert (rule["n"], rule["standing"]) == (0, "open")
    assert "the load was off" in copy.run("runs", "show", "fix").stdout
    assert "retracted" in copy.run("runs", "list", "--playbook", "fix").stdout
    shown = copy.run("hypothesis", "show", "rule").stdout
    assert "standing open (by rule)" in shown
    again = copy.run("runs", "retract", "fix", "--reason", "again")
    assert again.returncode == 2
    assert "retracted already: the load was off" in again.stderr
    baseline = copy.run("runs", "retract", ids(copy)[-1], "--reason", "the load was off")
    assert len(baseline.stdout.splitlines()) == 1  # no verdict is left that rests on it
    empty = copy.run("runs", "retract", "baseline", "--reason", " ")
    assert (empty.returncode, "needs a reason" in empty.stderr) == (2, True)


def test_status_says_where_the_campaign_stands(finished: Toy) -> None:
    lines = finished.run("status").stdout.splitlines()
    assert lines[0].startswith("toy | 3 runs | 4 restarts, ")
    assert lines[0].endswith(" USD")
    assert lines[1] == "symptom: every fifth trial fails while the bug is in"
    assert lines[2] == "baseline: 16/80, 20.0% (12.7-30.0%)"
    assert any(line.startswith("◐  rule        leading     0/40") for line in lines)


def test_an_empty_ledger_says_what_would_fill_it(tmp_path: Path) -> None:
    made = Toy(tmp_path, 0)
    made.run("init")
    said = made.run("status").stdout
    assert "my-campaign | 0 runs | 0 restarts" in said
    assert "baseline: not measured yet" in said
    assert "no hypotheses yet; add one: campaign hypothesis add SLUG --claim '...'" in said
    assert "campaign hypothesis add" in made.run("hypothesis", "list").stdout
    assert "campaign run PLAYBOOK" in made.run("runs", "list").stdout
    assert made.run("report").stdout.startswith("# my-campaign\n")


def test_the_report_goes_to_the_screen_or_to_a_file(finished: Toy, tmp_path: Path) -> None:
    shown = finished.run("report")
    assert shown.returncode == 0
    assert shown.stdout.startswith("# toy\n")
    target = tmp_path / "report.md"
    written = finished.run("report", "-o", str(target))
    assert (written.returncode, written.stdout) == (0, "")
    assert target.read_text(encoding="utf-8") == shown.stdout
    for place, said in (
        (tmp_path / "none" / "report.md", "No such file or directory"),
        (Path("/proc/version"), "cannot write /proc/version: "),
        (tmp_path, "is a directory"),
    ):
        failed = finished.run("report", "-o", str(place))
        assert failed.returncode == 2
        assert said in failed.stderr
        assert len(failed.stderr.splitlines()) == 1


def test_a_killed_run_is_shown_as_interrupted_until_it_is_recovered(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    before = toy.tree()
    process = toy.start("run", "fix", "-y", "-e", "trials=5000")
    assert process.stderr is not None
    assert any("restart app  ok" in line for line in process.stderr)
    running = toy.run("status").stdout
    assert f"(pid {process.pid})" in running
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert "interrupted; run: campaign recover" in toy.run("status").stdout
    assert ids(toy, "--status", "interrupted") == ids(toy)
    await_that(lambda: "is gone; agent pid" in toy.run("run", "fix", "-y").stderr, "the agent")
    refused = toy.run("run", "fix", "-y")
    assert refused.returncode == 6
    assert "campaign recover does so now" in refused.stderr
    recovered = toy.run("recover")
    assert recovered.returncode == 0, recovered.stderr
    assert toy.tree() == before
    assert toy.run("recover").stdout == "Nothing to recover.\n"
    assert "!" not in toy.run("status").stdout
