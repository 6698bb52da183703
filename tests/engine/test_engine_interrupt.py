"""Asked to stop, in every phase: everything goes back, and nothing that was spawned lives on."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_stage import Stage, staged
from forked import Command, await_that

EXITS = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}

SLOW = """
def leave(*_):
    if os.environ.get("SLOW_STOP"):
        open("stopping", "w").close()
        while not os.path.exists("go"):
            __import__("time").sleep(0.01)
    sys.exit(0)


signal.signal(signal.SIGTERM, leave)
if os.environ.get("SLOW_START"):
    open("starting", "w").close()
    __import__("time").sleep(60)
"""

PLAYBOOK = """
name: {name}
kind: fix
question: Does it fail with the rule corrected?
vars: {{trials: "{trials}"}}
steps:
  - patch: {{root: src, diff: patches/fix.diff}}
  - env: {{services: [app], set: {{MODE: safe, {variable}: "1"}}}}
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
"""

FAMILY = """
import os, subprocess, sys, time
sleep = [sys.executable, "-S", "-c", "import time; time.sleep(300)", "{mark}"]
subprocess.Popen(sleep, start_new_session=True)
subprocess.Popen(["sh", "-c", 'trap "" TERM; "$@"; true', "sh", *sleep])
open("family", "w").close()
time.sleep(300)
"""


@pytest.fixture
def slow() -> Iterator[Stage]:
    """A service that does not start, or stops once it may `go`, where its environment says so."""
    with staged("interrupt-") as stage:
        stage.edit("src/app.py", "signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))", SLOW)
        stage.edit("campaign.yaml", "stop_timeout: 5s", "stop_timeout: 60s")
        for name, variable, trials in (
            ("start", "SLOW_START", 1),
            ("drive", "HARMLESS", 1000000),
            ("stop", "SLOW_STOP", 1),
            ("drive-stop", "SLOW_STOP", 1000000),
        ):
            text = PLAYBOOK.format(name=name, variable=variable, trials=trials)
            stage.toy.playbook(name, text)
        stage.up()
        yield stage


PHASES = ("start", "drive")


def reach(stage: Stage, phase: str) -> Command:
    """A run that has come to `phase`: starting the service, driving it, or stopping it again."""
    running = stage.start("run", phase, "-y")
    if phase.startswith("drive"):
        await_that(lambda: "bad" in output(stage) or "good" in output(stage), "a trial")
    else:
        file = stage.root / {"start": "starting", "stop": "stopping"}[phase]
        await_that(file.exists, f"{file.name}: {running.err}")
    return running


def output(stage: Stage) -> str:
    found = (stage.root / ".campaign" / "artifacts").glob("*/*output.log")
    return "".join(path.read_text(encoding="utf-8") for path in found)


@pytest.mark.parametrize("number", EXITS)
@pytest.mark.parametrize("phase", PHASES)
def test_one_request_stops_and_puts_back(slow: Stage, phase: str, number: signal.Signals) -> None:
    running = reach(slow, phase)
    running.signal(number)
    running.wait()
    assert running.code == EXITS[number], running.err
    assert "Everything was put back." in running.err
    slow.check_untouched()
    assert slow.newest()["status"] == "aborted"
    slow.check_recovered()


def test_what_an_aborted_restart_cost_is_booked(slow: Stage) -> None:
    running = reach(slow, "start")
    running.signal(signal.SIGINT)
    running.wait()
    cycles = slow.rows("SELECT outcome, downtime_s, run FROM cycle ORDER BY requested_at")
    assert [one["outcome"] for one in cycles] == ["aborted", "healthy"]
    assert all(one["downtime_s"] > 0 and one["run"] == slow.newest()["id"] for one in cycles)


def test_an_aborted_observation_is_no_evidence(slow: Stage) -> None:
    running = reach(slow, "drive")
    running.signal(signal.SIGINT)
    running.wait()
    (observed,) = slow.rows("SELECT invalid, stop_reason FROM observation")
    assert observed == {"invalid": "aborted before its end", "stop_reason": "stopped"}


@pytest.mark.parametrize("phase", ["stop", "drive-stop"])
def test_a_request_while_putting_back_is_refused(slow: Stage, phase: str) -> None:
    """Of a run that had completed nothing was interrupted: it ends as completed."""
    running = reach(slow, phase)
    running.signal(signal.SIGINT)
    if phase == "drive-stop":
        await_that((slow.root / "stopping").exists, running.err)
        running.signal(signal.SIGINT)
    running.until("not stopped while restarting app: at most 80 s")
    (slow.root / "go").touch()
    running.wait()
    assert running.code == (0 if phase == "stop" else 130)
    assert slow.newest()["status"] == ("completed" if phase == "stop" else "aborted")
    slow.check_untouched()
    slow.check_recovered()


def test_a_third_request_abandons_and_recover_finishes(slow: Stage) -> None:
    running = reach(slow, "drive-stop")
    running.signal(signal.SIGINT)
    await_that((slow.root / "stopping").exists, running.err)
    running.signal(signal.SIGINT)
    running.until("not stopped while")
    running.signal(signal.SIGINT)
    running.wait()
    assert running.code == 5, running.err
    assert "abandoned while restarting app: at most 80 s; run 'campaign recover'" in running.err
    assert slow.newest()["state"] == "dirty"
    (slow.root / "go").touch()
    recovered = slow.run("recover")
    assert recovered.code == 0, recovered.out
    slow.check_untouched()
    slow.check_recovered()


def processes_marked(mark: str) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        if mark.encode() in words:
            found.append(path.parent.name)
    return found


@pytest.mark.parametrize("number", [*EXITS, signal.SIGKILL])
def test_no_process_of_a_reproducer_lives_on(stage: Stage, number: signal.Signals) -> None:
    mark = f"family of {stage.root}"
    (stage.root / "repro.py").write_text(FAMILY.format(mark=mark), encoding="utf-8")
    running = stage.start("run", "fix", "-y")
    await_that((stage.root / "family").exists, "the reproducer")
    await_that(lambda: len(processes_marked(mark)) >= 2, "its child")
    running.signal(number)
    running.wait()
    await_that(lambda: not processes_marked(mark), "their end")
    recovered = stage.run("recover")
    assert recovered.code == 0, recovered.out
    stage.check_untouched()
