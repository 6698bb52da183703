"""A whole campaign on another machine: patched, restarted, measured from here, put back."""

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from ports import free_port
from toy import SOURCE, Toy

pytestmark = pytest.mark.hosts
THERE = "/srv/toy"


@pytest.fixture
def remote(alpha: Machine, ssh_config: Path, tmp_path: Path) -> Iterator[Toy]:
    """The toy workspace here, its service and sources on alpha."""
    folder = tmp_path / "toy"
    toy = Toy(folder, 0)
    toy.port = free_port(toy)
    shutil.copytree(SOURCE, folder)
    _send(alpha, toy.port)
    _describe(folder, ssh_config, toy.port)
    assert toy.run("hypothesis", "import", str(folder / "hypotheses.yaml")).returncode == 0
    try:
        yield toy
    finally:
        toy.run("recover")
        toy.run("services", "stop")


def _send(alpha: Machine, port: int) -> None:
    there = alpha.root / THERE[1:]
    shutil.rmtree(there, ignore_errors=True)
    for part in ("src", "env"):
        shutil.copytree(SOURCE / part, there / part, ignore=shutil.ignore_patterns("__pycache__"))
    (there / "env/app.env").write_text(f"PORT={port}\nMODE=plain\n")


def _describe(folder: Path, ssh_config: Path, port: int) -> None:
    """The workspace's files, with the service on alpha and the reproducer here."""
    alpha = f"alpha: {{ssh: alpha, config: {ssh_config}, state_dir: {THERE}/.state}}"
    _change(
        folder / "campaign.yaml",
        ("here: {local: true}", f"here: {{local: true}}\n  {alpha}"),
        ("    host: here\n", "    host: alpha\n"),
        (
            '["@PYTHON@", -S, -B, src/app.py], cwd: "."',
            f"[/usr/bin/python3, -B, src/app.py], cwd: {THERE}",
        ),
        ("env/app.env", f"{THERE}/env/app.env"),
        ("@PORT@", str(port)),
        ("@PYTHON@", sys.executable),
    )
    _change(folder / "playbooks/fix.yaml", ("root: src", f"host: alpha, root: {THERE}/src"))


def _change(path: Path, *changes: tuple[str, str]) -> None:
    text = path.read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    path.write_text(text)


def _tree(alpha: Machine) -> dict[str, tuple[bytes, int, int]]:
    """What the playbooks change: bytes, mode and modification time of each file."""
    there = alpha.root / THERE[1:]
    return {
        str(path.relative_to(there)): (
            path.read_bytes(),
            path.stat().st_mode,
            path.stat().st_mtime_ns,
        )
        for part in ("src", "env")
        for path in sorted((there / part).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def test_a_campaign_on_another_machine(remote: Toy, alpha: Machine) -> None:
    before = _tree(alpha)
    done = remote.run("run", "baseline", "safe-mode", "fix", "-y", "--json")
    assert done.returncode == 0, done.stderr
    runs = json.loads(done.stdout)["runs"]
    assert [one["status"] for one in runs] == ["completed"] * 3
    assert [one["verdict"] and one["verdict"]["qualifier"] for one in runs] == [
        None,
        "leading",
        "leading",
    ]
    assert _tree(alpha) == before
    assert remote.ask("/env") == "plain"
    assert remote.run("recover").stdout.strip() == "Nothing to recover."


@pytest.fixture
def starts(remote: Toy, alpha: Machine) -> Path:
    """Where each start of an agent on alpha leaves a line."""
    noted, python = (alpha.root / THERE[1:] / name for name in ("starts", "python"))
    python.write_text(f'#!/bin/sh\necho >>{THERE}/starts\nexec /usr/bin/python3 "$@"\n')
    python.chmod(0o755)
    _change(remote.root / "campaign.yaml", ("alpha, ", f"alpha, python: {THERE}/python, "))
    noted.touch()
    return noted


def test_a_run_starts_one_agent(remote: Toy, starts: Path) -> None:
    assert remote.run("run", "fix", "--dry-run").returncode == 0
    assert len(starts.read_text().splitlines()) == 1
    assert remote.run("run", "fix", "-y").returncode == 0
    assert len(starts.read_text().splitlines()) == 2


@pytest.mark.usefixtures("starts")
def test_files_that_are_wrong_leave_no_agent_and_no_lock(remote: Toy, alpha: Machine) -> None:
    (remote.root / "playbooks/wrong.yaml").write_text("name: wrong\n")
    assert remote.run("run", "wrong", "-y").returncode == 2
    wait_until(lambda: not alpha.processes(f"{THERE}/python"), 60, "the agent to end")
    assert not (alpha.root / THERE[1:] / ".state/lock").exists()


def test_an_operator_that_dies_is_recovered_from_the_hosts_journal(
    remote: Toy, alpha: Machine
) -> None:
    """Also with an empty ledger: the journal is on the host."""
    before = _tree(alpha)
    assert remote.run("services", "start").returncode == 0
    running = remote.start("run", "fix", "-y", "-e", "trials=100000")
    assert running.stderr is not None
    for line in running.stderr:
        if "restart app  ok" in line:
            break
    running.kill()
    running.communicate()
    assert _tree(alpha) != before
    (remote.root / "campaign.db").unlink()
    recovered = remote.run("recover")
    assert recovered.returncode == 0, recovered.stderr
    assert _tree(alpha) == before
    assert "bug True" in remote.ask("/health")
    assert remote.run("recover").stdout.strip() == "Nothing to recover."
