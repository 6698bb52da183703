"""Hooks, guards and reloads on a real machine, by SSH and with systemd."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from hosts_toy import WAIT_S, UnitToy, unit_toy

pytestmark = pytest.mark.hosts

HANDLER = """\
def read_again(*_: object) -> None:
    import importlib

    importlib.reload(rule)
    print("read again", flush=True)


signal.signal(signal.SIGHUP, read_again)
print("ready", flush=True)"""
RELOADING = """\
name: reloading
hypothesis: rule
kind: fix
question: Does it fail with the rule corrected while it runs?
vars: {trials: 5}
steps:
  - patch: {host: there, root: ROOT, diff: patches/fix.diff, removes: [rule]}
  - restart: {services: [app], action: reload}
  - reproduce: {use: trials}
verdict: {by: rate, expect: drop, against: baseline}
"""
HOOKS = """\
    before_stop:
      - do: echo drain >> FOLDER/calls; touch FOLDER/drained
        undo: echo undrain >> FOLDER/calls; rm FOLDER/drained
        check: test -e FOLDER/drained
    reload: {logged: read again}
    ports:"""


@pytest.fixture
def kept(alpha: Machine, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[UnitToy]:
    """A unit that can be reloaded, drained before it stops, with a guard on its machine."""
    name = request.node.name.replace("_", "-")
    with unit_toy(alpha, tmp_path / "toy", name) as made:
        change(made.there / "src/app.py", 'print("ready", flush=True)', HANDLER)
        unit = alpha.root / f"etc/systemd/system/{name}.service"
        change(unit, "[Install]", "ExecReload=/bin/kill -HUP $MAINPID\n[Install]")
        alpha.run("systemctl", "daemon-reload")
        alpha.run("systemctl", "restart", name)
        folder = f"/srv/{name}"
        config = made.root / "campaign.yaml"
        change(config, "    ports:", HOOKS.replace("FOLDER", folder))
        guard = f"guard: [{{command: 'test ! -e {folder}/broken', on: there, every: 50ms}}]\n"
        change(config, "reproducers:", f"{guard}reproducers:")
        made.playbook("reloading", RELOADING.replace("ROOT", f"{folder}/src"))
        wait_until(lambda: "bug True" in health(made), WAIT_S, "the service to be up")
        yield made


@pytest.fixture
def lone(gamma: Machine, tmp_path: Path) -> Iterator[UnitToy]:
    """The toy workspace with its service on a machine that may be booted."""
    with unit_toy(gamma, tmp_path / "toy", "keeping") as made:
        yield made


def test_what_is_kept_outlives_another_operators_lease_and_a_boot(lone: UnitToy) -> None:
    with (lone.root / "campaign.yaml").open("a") as file:
        file.write("lease: 5s\n")
    before = lone.files()
    done = lone.run("run", "fix", "-y", "--keep", "-e", "trials=5")
    assert done.returncode == 0, done.stderr
    kept, running = lone.files(), lone.trying("safe-mode", trials=100_000)
    running.kill()
    running.communicate()
    wait_until(lambda: lone.files() == kept != before, WAIT_S, "its own files to be put back")
    wait_until(
        lambda: "host there put itself back" in lone.run("status").stdout, WAIT_S, "its word"
    )
    lone.machine.reboot()
    wait_until(lambda: "bug False" in health(lone), WAIT_S, "the service to be up")
    assert "kept by fix-" in lone.run("plan", "safe-mode").stdout
    back = lone.run("recover", "fix")
    assert back.returncode == 0, (back.stdout, back.stderr)
    lone.check_as_before(before)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def health(toy: UnitToy) -> str:
    try:
        return toy.ask("/health")
    except OSError:
        return ""


def test_a_unit_is_reloaded_by_systemd(kept: UnitToy) -> None:
    before, pid = kept.files(), kept.show("MainPID")
    done = kept.run("run", "reloading", "-y")
    assert done.returncode == 0, done.stderr
    assert "reload app  ok" in done.stderr
    assert "effect unproven" not in done.stderr
    assert kept.show("MainPID") == pid
    kept.check_as_before(before)


def test_a_guard_that_trips_there_drains_and_puts_back(kept: UnitToy) -> None:
    before, running = kept.files(), kept.measuring("fix")
    (kept.there / "broken").touch()
    _, said = running.communicate(timeout=WAIT_S)
    assert running.returncode == 3, said
    assert f"guard: /bin/sh -c test ! -e /srv/{kept.unit}/broken: exit 1" in said
    assert (kept.there / "calls").read_text().split() == ["drain", "undrain"] * 2
    assert not (kept.there / "drained").exists()
    kept.check_as_before(before)
    assert kept.run("recover").stdout == "Nothing to recover.\n"
