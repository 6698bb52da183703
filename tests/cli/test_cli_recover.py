"""recover: what someone else changed meanwhile is theirs until the operator says otherwise."""

import json
import os
import re
import shutil
import signal
import subprocess
from typing import Any

import pytest
from forked import await_that
from toy import Toy


def newest(toy: Toy) -> dict[str, Any]:
    """The newest run."""
    (listed,) = json.loads(toy.run("runs", "list", "-l", "1", "--json").stdout)
    found: dict[str, Any] = listed["run"]
    return found


@pytest.fixture
def conflict(toy: Toy) -> Toy:
    """A toy whose run was killed, and one of whose files someone else has changed since."""
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    process = toy.start("run", "fix", "-y", "-e", "trials=5000")
    assert process.stderr is not None
    assert any("restart app  ok" in line for line in process.stderr)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    (toy.root / "src" / "rule.py").write_text("BUG = False  # mine\n", encoding="utf-8")
    return toy


def test_a_changed_file_is_kept_by_the_command_that_the_conflict_names(conflict: Toy) -> None:
    rule = conflict.root / "src" / "rule.py"
    dirty = conflict.run("recover")
    assert dirty.returncode == 5
    assert rule.read_text("utf-8") == "BUG = False  # mine\n"
    assert f"campaign recover --accept {rule}" in dirty.stdout
    assert not (conflict.root / "src" / "notes").exists()
    wrong = conflict.run("recover", "--accept", str(rule), "--accept", "src/other.py")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "nothing is outstanding at src/other.py" in wrong.stderr
    assert f"outstanding are: {rule}" in wrong.stderr
    run = newest(conflict)["id"]
    original = conflict.root / ".campaign" / "kept" / run / "here" / str(rule).lstrip("/")
    original.parent.mkdir(parents=True)
    original.write_text("kept before", encoding="utf-8")
    kept = conflict.run("recover", "--accept", f"here:{rule}")
    assert kept.returncode == 0, kept.stderr
    assert kept.stdout.startswith(f"kept here:{rule} as it is now\n  its original: {original}.2\n")
    assert f"to see: diff {original}.2 {rule}\n" in kept.stdout
    assert "restarted app" in kept.stdout
    assert original.read_text("utf-8") == "kept before"
    assert "BUG = True" in original.with_name("rule.py.2").read_text("utf-8")
    assert rule.read_text("utf-8") == "BUG = False  # mine\n"
    assert "bug False" in conflict.ask("/health")
    assert conflict.run("recover").stdout == "Nothing to recover.\n"
    shown = conflict.run("runs", "show", run).stdout
    assert f"here:{rule}  kept as found (accepted)\n" in shown
    assert "src/notes/why.txt  put back\n" in shown
    assert re.search(r"keep here:\S+  completed  .* its original: \.campaign/kept/", shown)
    report = conflict.run("report", "--run", run).stdout.replace("\n  ", " ")
    assert f"- Put back: yes, 1 file; here:{rule} kept as found (accepted)\n" in report
    assert conflict.run("run", "baseline", "-y").returncode == 0


def test_what_was_kept_while_the_ledger_was_unusable_is_booked_later(conflict: Toy) -> None:
    rule, ledger = conflict.root / "src" / "rule.py", conflict.root / "campaign.db"
    run = newest(conflict)["id"]
    whole = {path: path.read_bytes() for path in conflict.root.glob("campaign.db*")}
    for path in whole:
        path.unlink()
    ledger.write_bytes(b"this is no ledger" * 100)
    kept = conflict.run("recover", "--accept", str(rule))
    assert (kept.returncode, "this is not a ledger" in kept.stderr) == (6, True)
    assert f"kept here:{rule} as it is now" in kept.stdout
    for path, content in whole.items():
        path.write_bytes(content)
    assert f"closed run {run}" in conflict.run("recover").stdout
    shown = conflict.run("runs", "show", run).stdout
    assert f"here:{rule}  kept as found (accepted)\n" in shown
    assert "src/notes/why.txt  put back\n" in shown
    assert conflict.run("recover").stdout == "Nothing to recover.\n"


def test_the_original_comes_back_by_the_instructions(conflict: Toy) -> None:
    rule = conflict.root / "src" / "rule.py"
    answer = json.loads(conflict.run("recover", "--json").stdout)
    assert answer["exit"] == 5
    (remaining,) = answer["remaining"]
    original = remaining.partition("To bring the original back: cp ")[2].split()[0]
    shutil.copyfile(original, rule)
    assert conflict.run("recover").returncode == 0
    assert "BUG = True" in rule.read_text("utf-8")
    assert json.loads(conflict.run("recover", "--accept", str(rule), "--json").stdout)["exit"] == 2


def _refused(toy: Toy, asked: list[subprocess.CompletedProcess[str]]) -> str:
    """What a run is told that has to wait; the whole of it goes to `asked`."""
    asked.append(toy.run("run", "baseline", "-y"))
    return asked[-1].stderr


def test_who_left_changes_is_named_as_the_ledger_knows_it(conflict: Toy) -> None:
    run = newest(conflict)["id"]
    asked: list[subprocess.CompletedProcess[str]] = []
    await_that(lambda: " and is gone; " in _refused(conflict, asked), "the agent to notice")
    waits = asked[-1]
    assert (waits.returncode, waits.stdout) == (6, "")
    assert re.search(
        r"worked on this host for fix and is gone; agent pid \d+ puts it back at 20\d\d-\S+ \S+: "
        "campaign recover does so now",
        waits.stderr,
    )
    assert f"changed by {run} (" in conflict.run("doctor").stdout
    os.kill(int(waits.stderr.partition("agent pid ")[2].split()[0]), signal.SIGKILL)
    refused = conflict.run("run", "baseline", "-y")
    assert (refused.returncode, refused.stdout) == (6, "")
    assert f"host here has changes outstanding of {run}: " in refused.stderr
    (conflict.root / "campaign.db").unlink()
    refused = conflict.run("run", "baseline", "-y")
    assert re.search(r"changes outstanding of \w+ of another ledger: ", refused.stderr)


def test_the_trials_of_a_killed_run_do_not_count(toy: Toy) -> None:
    toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml"))
    process = toy.start("run", "fix", "-y", "-e", "trials=50000")
    await_that(lambda: "at most" in toy.run("runs", "list").stdout, "trials")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    for _ in range(2):
        shown = toy.run("runs", "show", "fix").stdout
        assert re.search(r"by trials: 0/\d+, at most \S+  INVALID: interrupted before its", shown)
        assert re.search(r"interrupted +- +-", toy.run("runs", "list").stdout)
        toy.run("recover")
