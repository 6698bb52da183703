"""What would make a restart a wasted one is found before the first, in one line, on all ways."""

import os
import re
import socket

import pytest
from engine_stage import Stage

HELPER = """\
  helper:
    host: here
    process: {command: [sleep, "600"], cwd: "."}
restart_groups: [[helper, app]]
reproducers:
"""


def refused(stage: Stage, code: int, said: str) -> None:
    """By `plan` and by `run`: nothing was stopped, and nothing written."""
    for command in (["plan", "fix"], ["run", "fix", "-y"]):
        ended = stage.run(*command)
        assert (ended.code, ended.err.count("\n")) == (code, 1), ended.err
        assert re.search(said, ended.err), ended.err
    assert stage.rows("SELECT id FROM run") == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("repro.py", "repor.py", "there is no file /.*/repor.py; correct its command: or cwd:"),
        ("command: [", "command: [no-such, ", "there is no program no-such in PATH"),
        ("command: [", "command: [./repro.py, ", "/.*/repro.py may not be run: chmod [+]x"),
        ("on: here", "on: here\n    cwd: none", "there is no folder /.*/none"),
    ],
)
def test_a_reproducer_that_cannot_start(stage: Stage, old: str, new: str, said: str) -> None:
    config = stage.root / "campaign.yaml"
    head, mark, tail = config.read_text("utf-8").partition("reproducers:")
    config.write_text(head + mark + tail.replace(old, new, 1), encoding="utf-8")
    refused(stage, 2, f"reproducer 'trials' cannot run on host here: {said}")
    stage.check_untouched()


@pytest.mark.parametrize(
    "step",
    [
        "patch: {host: here, root: ., upload: repro.py, to: made.py}",
        "command: {on: here, do: [cp, repro.py, made.py]}",
    ],
)
def test_one_that_a_step_makes_is_believed(stage: Stage, step: str) -> None:
    stage.edit("campaign.yaml", "-S, repro.py", "-S, made.py")
    stage.edit("playbooks/fix.yaml", "  - restart", f"  - {step}\n  - restart")
    ended = stage.run("run", "fix", "-y")
    assert ended.code == 0, ended.err


def test_a_port_that_someone_else_holds(bare: Stage) -> None:
    with socket.create_server(("127.0.0.1", bare.toy.port)):
        who = rf"pid {os.getpid()} \(.+\), which is no process of it"
        refused(bare, 6, rf"port {bare.toy.port} of app is held by {who}; end that process")


def test_a_group_that_is_partly_down(bare: Stage) -> None:
    bare.edit("campaign.yaml", "reproducers:\n", HELPER)
    bare.up()
    assert bare.run("services", "stop", "helper").code == 0
    refused(bare, 6, "helper does not run, and app, which restarts with it, does; start it first")
    assert bare.run("services", "start", "helper").code == 0
    assert bare.run("plan", "fix").code == 0


def test_the_env_file_of_another_service_was_changed_since_this_one_started(bare: Stage) -> None:
    """What that one runs is what the file says; this one does not read it."""
    method = 'cwd: "."}\n    env: {via: env_file, path: env/helper.env}'
    helper = HELPER.replace('cwd: "."}', method).replace("restart_groups: [[helper, app]]\n", "")
    bare.edit("campaign.yaml", "reproducers:\n", helper)
    (bare.root / "env/helper.env").write_text("MODE=plain\n")
    bare.edit("playbooks/safe-mode.yaml", "{services: [app], set", "{services: [app, helper], set")
    bare.edit("playbooks/safe-mode.yaml", "{services: [app]}", "{services: [app, helper]}")
    bare.up()
    (bare.root / "env/helper.env").write_text("MODE=other\n")
    ended = bare.run("plan", "safe-mode")
    assert ended.code == 6
    assert "env/helper.env was changed after helper started" in ended.err
    assert "campaign services restart helper" in ended.err
    assert bare.run("services", "restart", "helper").code == 0
    assert bare.run("plan", "safe-mode").code == 0
