"""How the agent's code comes to a host, stays there, and starts."""

import fcntl
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts_machine import Machine

from playbooks.agent.boot import KEPT, MARK
from playbooks.hosts.bundle import bundle
from playbooks.hosts.host import Host
from playbooks.hosts.ssh_config import SshTarget

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]


def said_by_boot(state_dir: Path, *, sends: bool) -> list[str]:
    """What the program says here; `sends`: the bundle goes along."""
    program = bundle().program(str(state_dir), 0)
    code = f"import sys;exec(sys.stdin.buffer.read({len(program)}))"
    sent = program + (bundle().data if sends else b"")
    done = subprocess.run(
        ["/usr/bin/env", "python3", "-I", "-S", "-c", code],
        input=sent,
        capture_output=True,
        check=False,
    )
    assert b"Traceback" not in done.stderr
    return [line.removeprefix(MARK).decode() for line in done.stdout.splitlines()]


def test_asks_for_the_code_once(tmp_path: Path) -> None:
    assert said_by_boot(tmp_path / "state", sends=True) == ["send", "ready"]
    assert said_by_boot(tmp_path / "state", sends=False) == ["ready"]


def test_replaces_damaged_code(tmp_path: Path) -> None:
    said_by_boot(tmp_path / "state", sends=True)
    kept = tmp_path / "state/agent" / bundle().digest
    (kept / "playbooks/agent/journal.py").write_text("not python")
    assert said_by_boot(tmp_path / "state", sends=True) == ["send", "ready"]
    assert said_by_boot(tmp_path / "state", sends=False) == ["ready"]


def test_does_not_run_what_others_could_have_written(tmp_path: Path) -> None:
    said_by_boot(tmp_path / "state", sends=True)
    (tmp_path / "state/agent" / bundle().digest).chmod(0o777)
    assert said_by_boot(tmp_path / "state", sends=True) == ["send", "ready"]
    (tmp_path / "state/agent").chmod(0o777)
    assert said_by_boot(tmp_path / "state", sends=True)[0] == "send"


def test_refuses_code_that_arrived_damaged(tmp_path: Path) -> None:
    assert said_by_boot(tmp_path / "state", sends=False) == ["send"]
    assert not (tmp_path / "state").exists()


def test_old_versions_go_but_for_the_last_ones_and_one_that_runs(tmp_path: Path) -> None:
    above = tmp_path / "state/agent"
    said_by_boot(tmp_path / "state", sends=True)
    shutil.rmtree(above / bundle().digest)
    for age in range(6):
        (above / f"version-{age}/playbooks").mkdir(parents=True)
        os.utime(above / f"version-{age}", (1e9 - age, 1e9 - age))
    running = os.open(above / "version-5", os.O_RDONLY)
    fcntl.flock(running, fcntl.LOCK_SH)
    said_by_boot(tmp_path / "state", sends=True)
    kept = {bundle().digest, *(f"version-{age}" for age in (*range(KEPT - 1), 5))}
    assert {path.name for path in above.iterdir()} == kept
    os.close(running)


def test_same_code_makes_the_same_bundle() -> None:
    first = bundle()
    bundle.cache_clear()
    assert bundle() == first


@pytest.mark.hosts
def test_full_disk_runs_it_from_memory(
    alpha: Machine, reach: Reach, open_host: OpenHost, request: pytest.FixtureRequest
) -> None:
    """A host whose disk is full can still be looked at, and commands run there."""
    alpha.run("mkdir", "/mnt/full")
    alpha.run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", "/mnt/full")
    request.addfinalizer(lambda: alpha.run("umount", "--lazy", "/mnt/full"))
    host = open_host(reach("alpha", state_dir="/mnt/full/state"), lock=False)
    exits = host.spawn(["/bin/true"], cwd="/", timeout_s=20, sink=lambda *_: None)
    assert exits.code == 0
    assert not list((alpha.root / "mnt/full/state/agent").iterdir())


@pytest.mark.hosts
@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"])
def test_runs_on_every_python(reach: Reach, open_host: OpenHost, version: str) -> None:
    host = open_host(reach("alpha", python=interpreter(version)))
    assert host.greeting.python.rpartition(".")[0] == version
    output = []
    host.spawn(["/bin/echo", "x"], cwd="/", timeout_s=20, sink=lambda *got: output.append(got))
    assert output == [("stdout", b"x\n")]


def interpreter(version: str) -> str:
    """One of this machine, which the others share. Skips where there is none."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    if not found:
        pytest.skip(f"there is no Python {version} here")
    return str(found[-1])
