"""Reproducers that fail, hang, babble or fall silent: no clean run comes of it."""

import re
from pathlib import Path

import pytest
from engine_stage import Stage
from forked import Command, await_that

SHORT = ("timeout: 2m", "timeout: 3s")

TWO = """
import json, sys, time
for key in range(2):
    print(json.dumps({"outcome": "good", "key": key}), flush=True)
"""

BABBLE = """
import json, sys
line = b"." * 999 + b"\\n"
for _ in range(50):
    sys.stdout.buffer.write(line * 1_000)
sys.stdout.buffer.write(b"x" * 8_000_000 + b"\\n")
for key in range(40):
    print(json.dumps({"outcome": "good", "key": key}), flush=True)
"""

ENDLESS = """
import json, sys
for _ in range(200):
    sys.stdout.buffer.write(b"." * 1_000_000)
print()
for key in range(40):
    print(json.dumps({"outcome": "good", "key": key}), flush=True)
"""


def drive(stage: Stage, program: str, *arguments: str) -> Command:
    (stage.root / "repro.py").write_text(program, encoding="utf-8")
    return stage.run("run", "fix", "-y", *arguments)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (TWO + "sys.exit('the harness broke')", "exit 1 after 2 trials: the reproducer itself"),
        ("print('all good')", "no trials in 1 line of output"),
        ("", "no trials, since there was no output"),
        (TWO + 'print(json.dumps({"outcome": "odd"}))', 'outcome "odd" is in none of'),
        ("import os; os.kill(os.getpid(), 11)", "killed by SIGSEGV after 0 trials"),
    ],
)
def test_it_fails_and_everything_goes_back(stage: Stage, program: str, said: str) -> None:
    ended = drive(stage, program)
    assert ended.code == 3, ended.err
    assert said in ended.err
    assert "Everything was put back." in ended.err
    stage.check_untouched()
    run = stage.newest()
    assert (run["status"], run["state"]) == ("failed", "clean")
    assert said in run["error"]
    (observed,) = stage.rows("SELECT invalid FROM observation")
    assert said in observed["invalid"]
    stage.check_recovered()


def test_an_unknown_outcome_ends_a_reproducer_at_once(stage: Stage) -> None:
    ended = drive(stage, 'import time; print(\'{"outcome": "odd"}\', flush=True); time.sleep(300)')
    assert ended.code == 3
    assert 'outcome "odd"' in ended.err


@pytest.mark.parametrize("means", ["censored", "fail"])
def test_a_timeout_keeps_the_output_and_counts_the_rest(stage: Stage, means: str) -> None:
    stage.edit("campaign.yaml", *SHORT)
    stage.edit("campaign.yaml", "on_timeout: censored", f"on_timeout: {means}")
    ended = drive(stage, TWO + "time.sleep(300)")
    assert ended.code == 0, ended.err
    assert "timed out after 3 s" in ended.err
    trials = stage.rows("SELECT result, count(*) AS n FROM trial GROUP BY result ORDER BY n")
    assert trials == [{"result": "pass", "n": 2}, {"result": means, "n": 38}]
    (observed,) = stage.rows("SELECT stop_reason, invalid FROM observation")
    assert observed == {"stop_reason": "timeout", "invalid": None}
    if means == "censored":
        show = stage.run("runs", "show", "fix").out
        assert "38 of 40 trials of the treatment were cut short" in show
    stage.check_untouched()


def test_trials_are_in_the_ledger_while_the_reproducer_is_silent(stage: Stage) -> None:
    silence = "import os\nwhile not os.path.exists('go'):\n    time.sleep(0.01)\n"
    (stage.root / "repro.py").write_text(TWO + silence, encoding="utf-8")
    running = stage.start("run", "fix", "-y")
    running.until("restart app  ok")
    await_that(lambda: len(stage.rows("SELECT at FROM trial")) == 2, "two trials")
    (stage.root / "go").touch()
    assert running.wait().code == 0


def peak_kib(running: Command) -> int:
    """The largest resident set of a command, as last seen before its end."""
    peak = 0
    while running.process.exitcode is None:
        try:
            status = Path(f"/proc/{running.pid}/status").read_text(encoding="utf-8")
        except OSError:
            break
        found = re.search(r"VmHWM:\s+(\d+) kB", status)
        peak = int(found[1]) if found else peak
        running.process.join(0.05)
    running.wait()
    return peak


@pytest.mark.parametrize(("program", "size"), [(BABBLE, 58_000_000), (ENDLESS, 200_000_000)])
def test_output_of_any_size_streams(stage: Stage, program: str, size: int) -> None:
    """In many lines, and in one."""
    small = peak_kib(stage.start("run", "baseline", "-y"))
    (stage.root / "repro.py").write_text(program, encoding="utf-8")
    running = stage.start("run", "fix", "-y")
    large = peak_kib(running)
    assert running.code == 0, running.err
    assert large - small < 24 * 1024, f"{large - small} KiB more"
    (kept,) = stage.rows("SELECT path, bytes FROM artifact ORDER BY rowid DESC LIMIT 1")
    assert kept["bytes"] > size
    assert (stage.root / kept["path"]).stat().st_size == kept["bytes"]
    (observed,) = stage.rows(
        "SELECT length(tail) AS n FROM observation ORDER BY rowid DESC LIMIT 1"
    )
    assert 1000 < observed["n"] <= 65536
