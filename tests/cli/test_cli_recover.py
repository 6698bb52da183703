"""recover: what someone else changed meanwhile is theirs until the operator says otherwise."""

import json
import shutil
import signal

import pytest
from toy import Toy


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
    kept = conflict.run("recover", "--accept", str(rule))
    assert kept.returncode == 0, kept.stderr
    assert kept.stdout.startswith(f"kept {rule} as it is now; ")
    assert "restarted app" in kept.stdout
    original = conflict.root / ".campaign" / "kept" / str(rule).lstrip("/")
    assert "BUG = True" in original.read_text("utf-8")
    assert rule.read_text("utf-8") == "BUG = False  # mine\n"
    assert "bug False" in conflict.ask("/health")
    assert conflict.run("recover").stdout == "Nothing to recover.\n"
    assert conflict.run("run", "baseline", "-y").returncode == 0


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
