"""Services of systemd and of commands in campaign.yaml, and as JSON for a host's journal."""

import json
from pathlib import Path

import pytest
from load_workspace import CAMPAIGN, Workspace, edited

from playbooks.services.specs import from_specs, specs_of
from playbooks.system import CommandSpec, EnvMethod, Hook, SystemdSpec

PREFILL = """\
    process: {command: [python, prefill.py], cwd: system}
    env: {via: env_file, path: env/prefill.env}
"""
UNIT = "    systemd: sglang-prefill.service\n"
COMMANDS = """\
    command:
      start: docker compose up -d prefill
      stop: [docker, compose, stop, prefill]
      status: ./is_up.sh
      restart: [docker, compose, restart, prefill]
      pids: [docker, inspect, -f, "{{ .State.Pid }}", prefill]
      cwd: compose
      log: logs/prefill.log
    env: {via: env_file, path: compose/prefill.env}
"""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_a_unit(workspace: Workspace) -> None:
    text = edited(CAMPAIGN, (PREFILL, UNIT + "    env: {via: dropin}\n"))
    service = workspace.system(text).services["prefill"]
    assert service.manager == SystemdSpec("sglang-prefill.service")
    path = "/etc/systemd/system/sglang-prefill.service.d/zz-campaign.conf"
    assert service.env == EnvMethod("dropin", path)
    assert service.env.place == (
        "/etc/systemd/system",
        "sglang-prefill.service.d/zz-campaign.conf",
    )


def test_a_unit_of_the_user(workspace: Workspace) -> None:
    unit = (
        "    systemd: {unit: one@2.service, user: true}\n    env: {via: script, path: /srv/s.sh}\n"
    )
    service = workspace.system(edited(CAMPAIGN, (PREFILL, unit))).services["prefill"]
    assert service.manager == SystemdSpec("one@2.service", user=True)
    assert service.env == EnvMethod("script", "/srv/s.sh")
    assert service.env.place == ("/srv", "s.sh")


def test_commands(workspace: Workspace) -> None:
    service = workspace.system(edited(CAMPAIGN, (PREFILL, COMMANDS))).services["prefill"]
    root = workspace.root
    assert service.manager == CommandSpec(
        start=("/bin/sh", "-c", "docker compose up -d prefill"),
        stop=("docker", "compose", "stop", "prefill"),
        status=("/bin/sh", "-c", "./is_up.sh"),
        cwd=str(root / "compose"),
        restart=("docker", "compose", "restart", "prefill"),
        pids=("docker", "inspect", "-f", "{{ .State.Pid }}", "prefill"),
        log=str(root / "logs/prefill.log"),
    )


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("    systemd: a.socket\n", "8:14: expected the name of a service unit"),
        ("    systemd: prefill\n", "8:14: expected the name of a service unit"),
        ("    systemd: {user: true}\n", "8:5: missing key 'unit'"),
        ("    systemd: {unit: a.service, usr: true}\n", "8:32: unknown key 'usr'"),
        (UNIT + "    process: {command: x}\n", "9:5: 'process' beside 'systemd'"),
        ("    command: {start: a, stop: b}\n", "8:5: missing key 'status'"),
        (UNIT + "    env: {via: script}\n", "9:5: missing key 'path'"),
        ("    process: {command: x}\n    env: {via: dropin}\n", "9:16: only a systemd unit has"),
        (
            "    systemd: {unit: a.service, user: true}\n    env: {via: dropin}\n",
            "9:5: missing key 'path': the drop-in",
        ),
        (PREFILL + "    proof: {A: {log: a=1}}\n", "10:13: it would hold whatever A is: say"),
        (PREFILL + "    proof: {A: {log: '{{ b }}'}}\n", "10:22: only {{ value }} is filled in"),
        (PREFILL + "    reload: {logged: again}\n", "10:5: missing key 'command': only a systemd"),
        (PREFILL + "    before_stop: [{do: x, on: there}]\n", "10:31: unknown host 'there'"),
        (PREFILL + "    after_healthy: [{do: x, check: y}]\n", "10:29: 'check' says whether"),
    ],
)
def test_mistakes(workspace: Workspace, new: str, expected: str) -> None:
    found = workspace.campaign_problems((PREFILL, new))
    assert any(one.startswith(expected) for one in found), found


def test_mistakes_of_guards_and_captures(workspace: Workspace) -> None:
    text = (
        "guard: [{command: x, on: there, every: 0s}, {log: x}]\n"
        "on_failure: {capture: [{do: x, service: prefil}, {do: y, on: here, service: decode}],"
        " collect: [dcode]}\ncost:"
    )
    found = workspace.campaign_problems(("cost:", text))
    for expected in (
        "unknown host 'there'",
        "expected more than nothing",
        "unknown key 'log'",
        "unknown service 'prefil' (did you mean 'prefill'",
        "it runs on the host of its service",
        "unknown service 'dcode'",
    ):
        assert any(expected in one for one in found), (expected, found)


def test_hooks_run_where_they_are_said_to(workspace: Workspace) -> None:
    hooks = "    before_stop: [{do: drain, undo: undrain, cwd: lb}]\n"
    text = PREFILL + hooks + "    after_healthy: [{do: [warm]}]\n"
    service = workspace.system(edited(CAMPAIGN, (PREFILL, text))).services["prefill"]
    root, sh = str(workspace.root), ("/bin/sh", "-c")
    assert service.before_stop == (Hook((*sh, "drain"), f"{root}/lb", undo=(*sh, "undrain")),)
    assert service.after_healthy == (Hook(("warm",), root),)


@pytest.mark.parametrize(
    "manager",
    [
        PREFILL,
        PREFILL + "    before_stop: [{do: x, undo: y}]\n",
        UNIT + "    env: {via: dropin}\n",
        COMMANDS,
    ],
)
def test_a_journal_brings_them_back(workspace: Workspace, manager: str) -> None:
    system = workspace.system(edited(CAMPAIGN, (PREFILL, manager)))
    services, groups = from_specs(json.loads(json.dumps(specs_of(system, "here"))))
    assert services == tuple(system.services.values())
    assert groups == (("prefill", "decode"),)
