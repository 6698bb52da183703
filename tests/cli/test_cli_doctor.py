"""doctor on this machine: what would stand in a run's way is found before it, and left alone."""

import getpass
import json
import os
import re
import signal
import socket
from pathlib import Path

import pytest
from forked import await_that
from toy import Toy

from campaign.operations.host_checks import clock, space
from playbooks.hosts.survey import Survey

MODE = """\
name: mode
kind: probe
steps:
  - env: {services: [app], set: {MODE: safe}}
  - restart: {services: [app]}
"""

Found = dict[str, tuple[str, str, str]]


def looked(toy: Toy, code: int) -> Found:
    """What doctor found by place and check: state, what, fix. It ends with `code`."""
    done = toy.run("doctor", "--json")
    assert (done.returncode, done.stderr) == (code, ""), done.stdout
    answer = json.loads(done.stdout)
    assert answer["exit"] == code
    found = answer["findings"]
    return {
        f"{one['place']} {one['check']}": (one["state"], one["what"], one["fix"]) for one in found
    }


def all_files(folder: Path) -> dict[Path, tuple[int, int]]:
    found = {path: path.lstat() for path in folder.rglob("*")}
    return {path: (state.st_mtime_ns, state.st_size) for path, state in found.items()}


@pytest.fixture
def started(toy: Toy) -> Toy:
    """The toy with its service up, whose first line is in its log."""
    assert toy.run("services", "start").returncode == 0
    logs = toy.root / ".campaign" / "host" / "services"
    await_that(lambda: any(path.read_bytes() for path in logs.glob("*/log/*")), "its log")
    return toy


@pytest.fixture
def env_file(toy: Toy) -> Path:
    return toy.root / "env" / "app.env"


def test_all_is_well(started: Toy) -> None:
    before = all_files(started.root)
    done = started.run("doctor")
    assert (done.returncode, done.stderr) == (0, "")
    *lines, summary = done.stdout.splitlines()
    assert summary == "11 checks: 0 failed, 0 warnings"
    assert {tuple(line.split()[:2]) for line in lines} == {("ok", "here"), ("ok", "app")}
    for said in (
        "nobody works on it",
        "nothing is left to put back",
        "reproducer trials can start",
        f"env steps can write {started.root}/env/app.env, and nothing beats it",
        f"GET http://127.0.0.1:{started.port}/health: status 200",
        "the environment of 1 of 1 processes is seen",
    ):
        assert any(line.endswith(said) for line in lines), said
    assert all_files(started.root) == before


def test_before_anything_ran_it_leaves_no_state(toy: Toy) -> None:
    before = all_files(toy.root)
    assert looked(toy, 0)["app service"] == (
        "warn",
        "does not run",
        "start it: campaign services start app",
    )
    assert all_files(toy.root) == before


def test_a_service_that_ended_by_itself(started: Toy) -> None:
    os.kill(int(started.ask("/health").split()[1]), signal.SIGKILL)
    kept = started.root / ".campaign" / "host" / "services" / "app" / "state.json"
    await_that(lambda: json.loads(kept.read_bytes())["over"], "its keeper to note that")
    state, what, _ = looked(started, 0)["app service"]
    assert (state, what) == ("warn", "does not run; it ended by signal 9")


def test_a_port_that_someone_else_holds(toy: Toy) -> None:
    with socket.create_server(("127.0.0.1", toy.port)):
        state, what, fix = looked(toy, 6)["app ports"]
    assert (state, "end that process" in fix) == ("fail", True)
    assert re.match(rf"port {toy.port} is held by pid {os.getpid()} \(.+\), which is no pro", what)


def test_a_probe_that_does_not_answer(started: Toy) -> None:
    config = started.root / "campaign.yaml"
    config.write_text(config.read_text("utf-8").replace('/health"', '/health", expect: 204'))
    state, what, fix = looked(started, 6)["app health"]
    assert state == "fail"
    assert "status 200, expected 204" in what
    assert "campaign services list" in fix


def test_a_file_newer_than_what_runs(started: Toy, env_file: Path) -> None:
    (started.root / "src" / "app.py").touch()
    state, what, fix = looked(started, 0)["app files"]
    assert (state, what) == ("warn", f"newer than what runs: {started.root}/src/app.py")
    assert fix == "restart it: campaign services restart app"
    env_file.touch()
    state, what, _ = looked(started, 6)["app files"]
    assert (state, what.count("env/app.env")) == ("fail", 1)
    assert started.run("services", "restart").returncode == 0
    assert looked(started, 0)["app files"][0] == "ok"


def test_an_env_file_that_cannot_be_edited(toy: Toy, env_file: Path) -> None:
    env_file.write_text("MODE='plain\n", encoding="utf-8")
    state, what, _ = looked(toy, 6)["app env"]
    assert (state, "line 1: the quote is never closed" in what) == ("fail", True)
    env_file.unlink()
    env_file.symlink_to("elsewhere")
    assert looked(toy, 6)["app env"][1].endswith(f"is a link to {env_file.parent}/elsewhere")
    env_file.unlink()
    env_file.parent.rmdir()
    assert looked(toy, 6)["app env"][1].endswith("is not a directory here")


def test_a_file_with_other_names_is_told_of_before_it_is_replaced(
    started: Toy, env_file: Path
) -> None:
    """They keep the base; what is put back is a file of its own, with all else as before."""
    base, other = env_file.read_bytes(), env_file.with_name("other")
    other.hardlink_to(env_file)
    started.playbook("mode", MODE)
    _, what, fix = next(one for one in looked(started, 0).values() if one[0] == "warn")
    assert f"{env_file} has another name (hard links)" in what
    assert fix == f"see which: find / -xdev -samefile {env_file}"
    plan = started.run("plan", "mode").stdout
    assert "it has 1 other name (hard links): left as they are, and no links of it any more" in plan
    (edit,) = json.loads(started.run("plan", "mode", "--json").stdout)["boots"][0]["edits"]
    assert edit["other_names"] == 1
    before = env_file.stat()
    assert started.run("run", "mode", "-y").returncode == 0
    after = env_file.stat()
    assert (env_file.read_bytes(), other.read_bytes()) == (base, base)
    assert (after.st_mtime_ns, after.st_mode) == (before.st_mtime_ns, before.st_mode)
    assert (after.st_nlink, other.stat().st_nlink) == (1, 1)
    assert "other name" not in started.run("plan", "mode").stdout


def test_a_reproducer_that_cannot_start(started: Toy) -> None:
    (started.root / "repro.py").rename(started.root / "moved.py")
    state, what, _ = looked(started, 6)["here reproducer"]
    said = f"reproducer trials cannot start: there is no file {started.root}/repro.py"
    assert (state, what) == ("fail", said)


def test_a_script_that_beats_the_env_file(toy: Toy) -> None:
    script = toy.root / "serve.sh"
    script.write_text("#!/bin/sh\nexport MODE=plain\nexec python3 src/app.py\n", encoding="utf-8")
    config = toy.root / "campaign.yaml"
    text = re.sub(r"command: \[.*?\], cwd", "command: [sh, serve.sh], cwd", config.read_text())
    config.write_text(text, encoding="utf-8")
    found = json.loads(toy.run("doctor", "--json").stdout)["findings"]
    (beaten,) = (one for one in found if one["state"] == "warn" and one["check"] == "env")
    where = f"{script} beats {toy.root}/env/app.env for MODE: env steps cannot set that"
    assert beaten["what"] == where
    assert f"use env: {{via: script, path: {script}}}" in beaten["fix"]


def test_a_run_under_way_and_one_that_was_killed(toy: Toy) -> None:
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    process = toy.start("run", "fix", "-y", "-e", "trials=100000")
    assert process.stderr is not None
    assert any("restart app  ok" in line for line in process.stderr)
    found = looked(toy, 6)
    state, what, fix = found["here lock"]
    assert (state, fix) == ("fail", "wait for it to end")
    assert re.match(rf"{getpass.getuser()}@\S+ works on it for fix \(agent pid \d+, since ", what)
    assert found["here leftovers"][0] == "warn"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    changed = toy.tree()
    await_that(lambda: " and is gone; " in toy.run("run", "fix", "-y").stderr, "the agent")
    found = looked(toy, 6)
    assert found["here lock"][2] == "put them back now: campaign recover"
    state, what, fix = found["here leftovers"]
    assert (state, fix) == ("fail", "put it back first: campaign recover")
    assert f"{toy.root}/src/rule.py" in what
    assert toy.tree() == changed
    assert toy.run("recover").returncode == 0
    assert looked(toy, 0)["here leftovers"][0] == "ok"


def test_a_journal_that_cannot_be_read(toy: Toy) -> None:
    state = toy.root / ".campaign" / "host"
    state.mkdir(parents=True)
    (state / "journal.json").write_text("{", encoding="utf-8")
    found = looked(toy, 6)
    assert [*found] == ["here leftovers"]
    assert "journal.json cannot be read" in found["here leftovers"][1]


def test_secrets_are_not_shown(started: Toy) -> None:
    config = started.root / "campaign.yaml"
    text = config.read_text("utf-8").replace('/health"', '/health-hunter22"')
    config.write_text(text + "secrets: {KEY: {env: KEY}}\n", encoding="utf-8")
    done = started.run("doctor", KEY="hunter22")
    assert done.returncode == 0, done.stdout
    assert "hunter22" not in done.stdout
    assert "/health-[redacted]" in done.stdout


def test_a_python_that_is_not_there(toy: Toy) -> None:
    config = toy.root / "campaign.yaml"
    text = config.read_text("utf-8").replace("{local: true}", "{local: true, python: /no/python}")
    config.write_text(text, encoding="utf-8")
    state, what, _ = looked(toy, 4)["here reach"]
    assert (state, "cannot start it with /no/python" in what) == ("fail", True)


@pytest.mark.parametrize(
    ("ahead_s", "unsure_s", "said"),
    [(0.9, 0.0, "within 1 s"), (-3.25, 3.0, "within 1 s"), (-3.25, 0.1, "3.2 s behind this one")],
)
def test_a_clock_that_differs(ahead_s: float, unsure_s: float, said: str) -> None:
    finding = clock("far", ahead_s, unsure_s)
    assert said in finding.what
    assert finding.state == ("ok" if "within" in said else "warn")


@pytest.mark.parametrize(
    ("bytes_left", "files_left", "state", "said"),
    [
        (3 << 30, None, "ok", "3.0 GiB free"),
        (30 << 20, None, "warn", "30.0 MiB free"),
        (900, 10**6, "fail", "900 B free"),
        (3 << 30, 7, "warn", "room for 7 more files only"),
        (3 << 30, 0, "fail", "room for 0 more files only"),
    ],
)
def test_a_disk_that_fills(bytes_left: int, files_left: int | None, state: str, said: str) -> None:
    finding = space("far", Survey(0, "root", None, "/state", bytes_left, files_left, ""))
    assert (finding.state, said in finding.what) == (state, True)


def test_no_journal_can_be_kept() -> None:
    finding = space("far", Survey(7, "ops", None, "/state", 3 << 30, None, "ops may not write"))
    assert finding.state == "fail"
    assert finding.what == "no journal can be kept in /state: ops may not write"


def test_invalid_files_come_first(toy: Toy) -> None:
    (toy.root / "campaign.yaml").write_text("campaign: [\n", encoding="utf-8")
    assert toy.run("doctor").returncode == 2
