"""A run without a terminal, followed from any other one."""

import json
import os
import signal

import pytest
from cli_terminal import Terminal
from toy import Toy

MANY = ("-e", "trials=1000000")


@pytest.fixture
def ready(toy: Toy) -> Toy:
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    return toy


def detached(toy: Toy, *words: str) -> tuple[str, int]:
    """The id and the process of a run that goes on by itself."""
    done = toy.run("run", "fix", "-y", "--detach", "--json", *words)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert f"{facts['run']} goes on by itself" in done.stderr
    assert os.getsid(facts["pid"]) == facts["pid"]
    return facts["run"], facts["pid"]


def test_it_goes_on_and_can_be_followed_to_its_end(ready: Toy) -> None:
    repro, hold = ready.root / "repro.py", ready.root / "hold"
    held = 'while os.path.exists("hold"):\n    time.sleep(0.01)\nport, count'
    repro.write_text(repro.read_text("utf-8").replace("port, count", held, 1), "utf-8")
    hold.touch()
    run, _ = detached(ready)
    follower = ready.start("attach", run)
    assert follower.stderr is not None
    begun = follower.stderr.readline()
    hold.unlink()
    told = begun + follower.stderr.read()
    follower.communicate(timeout=60)
    assert follower.returncode == 0, told
    said = told.splitlines()
    assert f"[1] fix  {run}" in said
    assert any(line.startswith("  2  restart app  ok  ") for line in said)
    assert any(line.startswith("  3  reproduce trials  ok  ") for line in said)
    assert "     verdict (rule): " in told
    assert said[-2:] == [f"{run} completed", "Everything was put back."]
    assert "bug True" in ready.ask("/health")
    over = ready.run("attach", run)
    assert (over.returncode, f"{run} is over: completed" in over.stderr) == (6, True)
    assert "no run is under way" in ready.run("attach").stderr


def test_control_c_leaves_or_aborts(ready: Toy) -> None:
    run, pid = detached(ready, *MANY)
    with Terminal(ready, "attach") as terminal:
        terminal.until("restart app  ok")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("[l/a/F] ")
        terminal.type("l\n")
        assert terminal.end() == (0, "")
        assert f"{run} goes on; campaign attach {run} follows it again" in terminal.text
    os.kill(pid, 0)
    with Terminal(ready, "attach", "fix") as terminal:
        terminal.until("restart app  ok")
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("[l/a/F] ")
        terminal.type("a\n")
        code, _ = terminal.end()
        assert code == 130
        for text in ("was asked to stop", "undo: correct the rule  ok", f"{run} aborted"):
            assert text in terminal.text
    assert "bug True" in ready.ask("/health")


def test_a_run_that_dies_under_it(ready: Toy) -> None:
    run, pid = detached(ready, *MANY)
    follower = ready.start("attach", run)
    assert follower.stderr is not None
    assert any("restart app  ok" in line for line in follower.stderr)
    os.kill(pid, signal.SIGKILL)
    _, said = follower.communicate(timeout=60)
    assert follower.returncode == 5
    assert f"{run} interrupted" in said
    assert "run: campaign recover" in said
    assert ready.run("recover").returncode == 0


def test_one_that_cannot_begin_says_why(ready: Toy) -> None:
    refused = ready.run("run", "fix", "--detach")
    assert (refused.returncode, "add -y to run it" in refused.stderr) == (6, True)
    with (ready.root / "campaign.yaml").open("a", encoding="utf-8") as file:
        file.write("budget: {restarts: 1}\n")
    late = ready.run("run", "fix", "-y", "--detach")
    assert (late.returncode, late.stdout) == (6, "")
    assert "campaign: the budget does not reach for this" in late.stderr


def test_a_plan_beside_it_says_who_is_at_work(ready: Toy) -> None:
    run, _ = detached(ready, *MANY)
    follower = ready.start("attach", run)
    assert follower.stderr is not None
    assert any("restart app  ok" in line for line in follower.stderr)
    refused = ready.run("run", "fix", "-y", "--detach")
    assert (refused.returncode, refused.stdout) == (6, "")
    assert f"host here has changes outstanding of {run}: " in refused.stderr
    assert "works on it: wait for it to end" in refused.stderr
    assert ready.run("runs", "abort", run).returncode == 0
    follower.communicate(timeout=60)
    assert follower.returncode == 130
