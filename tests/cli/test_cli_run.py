"""run and plan: asking first, expectations, JSON, and readers that go away."""

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from cli_terminal import Terminal
from toy import Toy


@pytest.fixture
def ready(toy: Toy) -> Toy:
    """The toy with its hypotheses, so that all its playbooks run."""
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    return toy


def runs(toy: Toy) -> list[tuple[str, str, str]]:
    """Playbook, status and state of each run, the oldest first."""
    listed = json.loads(toy.run("runs", "list", "--json").stdout)
    found = [one["run"] for one in listed]
    return [(run["playbook"], run["status"], run["state"]) for run in reversed(found)]


def files(toy: Toy) -> dict[Path, int]:
    """When each file of the workspace was changed, those aside that SQLite needs for reading."""
    found = (path for path in toy.root.rglob("*") if path.is_file())
    return {path: path.stat().st_mtime_ns for path in found if ".db-" not in path.name}


def test_nothing_runs_unasked(ready: Toy) -> None:
    before = ready.tree()
    for words, said in (
        (("run", "fix"), "nobody is there to confirm the plan; add -y to run it"),
        (("run", "fix", "--yes-i-mean", "other"), "this campaign is toy, not other"),
    ):
        refused = ready.run(*words)
        assert (refused.returncode, refused.stdout) == (6, "")
        assert "+BUG = False" in refused.stderr
        assert said in refused.stderr
    assert ready.tree() == before
    assert runs(ready) == []


def test_a_dry_run_is_the_plan_and_changes_nothing(ready: Toy) -> None:
    before = files(ready)
    dry = ready.run("run", "fix", "--dry-run")
    assert dry.returncode == 0
    assert dry.stdout == ready.run("plan", "fix").stdout
    assert json.loads(ready.run("run", "fix", "-C", "--json").stdout)["restarts"] == 2
    assert files(ready) == before


def test_a_protected_campaign_is_run_only_by_its_name(ready: Toy) -> None:
    config = ready.root / "campaign.yaml"
    config.write_text(config.read_text("utf-8") + "protected: true\n", encoding="utf-8")
    for words, said in (
        (("-y",), "add --yes-i-mean toy to run it"),
        (("-y", "--yes-i-mean", "tay"), "this protected campaign is toy, not tay"),
    ):
        refused = ready.run("run", "baseline", *words)
        assert refused.returncode == 6
        assert said in refused.stderr
    with Terminal(ready, "run", "baseline") as terminal:
        terminal.until("toy is protected. Type its name to run this: ")
        terminal.type("yes\n")
        assert terminal.end() == (6, "")
        assert "not confirmed; nothing was changed" in terminal.text
    assert runs(ready) == []
    with Terminal(ready, "run", "baseline") as terminal:
        terminal.until("Type its name to run this: ")
        terminal.type("toy\n")
        assert terminal.end() == (0, "")
    assert ready.run("run", "baseline", "--yes-i-mean", "toy").returncode == 0
    assert runs(ready) == [("baseline", "completed", "clean")] * 2


def test_control_c_at_the_question_runs_nothing(ready: Toy) -> None:
    with Terminal(ready, "run", "fix") as terminal:
        terminal.until("Run this? [y/N] ")
        terminal.interrupt()
        assert terminal.end() == (130, "")
        assert "campaign: interrupted before the run began; nothing was changed" in terminal.text
        assert "Traceback" not in terminal.text
    assert runs(ready) == []
    assert ready.run("recover").stdout == "Nothing to recover.\n"


def test_a_terminal_shows_the_run_as_it_goes(ready: Toy) -> None:
    with Terminal(ready, "run", "fix") as terminal:
        terminal.until("Run this? [y/N] ")
        terminal.type("y\n")
        assert terminal.end() == (0, "")
    for text in ("correct the rule  ok", "failed 0/40", "verdict (rule): ", "put back"):
        assert text in terminal.text


def test_an_expectation_without_a_verdict_is_refused(ready: Toy) -> None:
    for words in ((), ("--dry-run",)):
        refused = ready.run("run", "baseline", "-y", "--expect", "supported", *words)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert "no verdict will be given, since baseline has no `verdict:`" in refused.stderr
    assert runs(ready) == []


def test_every_host_that_cannot_be_reached_is_named(ready: Toy) -> None:
    config = ready.root / "campaign.yaml"
    nobody = "{ssh: 127.0.0.1, port: 1, config: /dev/null}"
    hosts = f"hosts:\n  one: {nobody}\n  two: {nobody}\n"
    config.write_text(config.read_text("utf-8").replace("hosts:\n", hosts), encoding="utf-8")
    for command in ("plan", "run"):
        refused = ready.run(command, "baseline")
        assert refused.returncode == 4
        assert refused.stderr.startswith("campaign: host one: ")
        assert "; host two: " in refused.stderr


def test_expectations_decide_the_exit_and_output_is_pure_json(ready: Toy) -> None:
    met = ready.run("run", "baseline", "fix", "-y", "--expect", "inconclusive", "--json")
    assert met.returncode == 0, met.stderr
    answer = json.loads(met.stdout)
    assert answer["exit"] == 0
    assert [(one["playbook"], one["status"]) for one in answer["runs"]] == [
        ("baseline", "completed"),
        ("fix", "completed"),
    ]
    assert answer["runs"][1]["verdict"]["word"] == "inconclusive"
    assert "Everything was put back." in met.stderr
    unmet = ready.run("run", "safe-mode", "-y", "--expect", "supported", "--json")
    assert unmet.returncode == 1
    assert json.loads(unmet.stdout)["exit"] == 1
    assert "the verdicts are not all supported" in unmet.stderr
    nothing = ready.run("run", "baseline", "-y", "--expect", "supported")
    assert nothing.returncode == 2
    assert "no verdict will be given" in nothing.stderr


def test_json_is_all_of_the_output_of_every_command(ready: Toy) -> None:
    for words in (
        ("check",),
        ("status",),
        ("plan", "fix"),
        ("hypothesis", "list"),
        ("hypothesis", "show", "rule"),
        ("runs", "list"),
        ("services", "list"),
        ("recover",),
    ):
        answered = ready.run(*words, "--json")
        assert answered.returncode == 0, answered.stderr
        json.loads(answered.stdout)


def test_errors_are_json_too(ready: Toy) -> None:
    for words, code in (
        (("plan", "fxi"), 2),
        (("plan", "--nope"), 2),
        (("runs", "show", "nope"), 2),
        (("run", "fix"), 6),
    ):
        failed = ready.run(*words, "--json")
        assert failed.returncode == code
        answer = json.loads(failed.stdout)
        assert answer["exit"] == code
        assert answer["error"] in failed.stderr


def test_a_run_goes_on_when_nobody_reads_it_any_more(ready: Toy) -> None:
    before = ready.tree()
    reading, writing = os.pipe()
    process = subprocess.Popen(
        ready.command("run", "fix", "-y"),
        stdin=subprocess.DEVNULL,
        stdout=writing,
        stderr=writing,
    )
    os.close(writing)
    os.read(reading, 1)
    os.close(reading)
    assert process.wait(timeout=60) == 0
    assert runs(ready) == [("fix", "completed", "clean")]
    assert ready.tree() == before


def test_a_reader_may_go_away(ready: Toy) -> None:
    for words in (("report",), ("schema",), ("--help",)):
        reading, writing = os.pipe()
        os.close(reading)
        told = subprocess.run(
            ready.command(*words), stdout=writing, stderr=subprocess.PIPE, text=True, check=False
        )
        os.close(writing)
        assert (told.returncode, told.stderr) == (0, "")


def test_closed_streams_are_as_good_as_none(ready: Toy) -> None:
    words = shlex.join(ready.command("run", "baseline", "-y"))
    assert subprocess.run(["sh", "-c", f"{words} <&- >&- 2>&-"], check=False).returncode == 0
    words = shlex.join(ready.command("runs", "log", "baseline"))
    told = subprocess.run(["sh", "-c", f"{words} >&-"], stderr=subprocess.PIPE, check=False)
    assert (told.returncode, told.stderr) == (0, b"")


def test_a_full_output_is_no_traceback(ready: Toy) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        told = subprocess.run(
            ready.command("schema"), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert told.returncode == 6
    assert told.stderr == "campaign: cannot write: no space is left; free some and try again\n"
