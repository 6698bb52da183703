"""One operator a host; and how an agent's visit begins and ends."""

import ast
import contextlib
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_trees import write

from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.host import Change, Host
from playbooks.hosts.local import LocalChannel
from playbooks.hosts.specs import EmbeddedSpec
from playbooks.system import HealthCheck, LogProbe

OpenHost = Callable[..., Host]


def test_the_second_operator_is_refused_by_name(host: Host, open_host: OpenHost) -> None:
    with pytest.raises(HostError, match="tester works on this host for run-1") as caught:
        open_host(run="run-2")
    assert caught.value.kind == "locked"
    holder = caught.value.detail
    assert (holder["who"], holder["pid"], holder["run"]) == ("tester", host.greeting.pid, "run-1")
    assert 0 <= time.time() - holder["since"] < 60


@pytest.mark.usefixtures("host")
def test_others_may_look_but_not_touch(open_host: OpenHost, tmp_path: Path) -> None:
    guest = open_host(lock=False)
    assert guest.read(str(tmp_path), "none")[1] is None
    assert not guest.journal().outstanding
    for touch in (
        lambda: guest.apply([Change(str(tmp_path), "x", None, b"x")], run="run-1"),
        guest.put_back,
        guest.settle,
        lambda: guest.forget("x"),
        lambda: guest.note_command("1", ["true"], ["true"], None, "/", run="run-1"),
        lambda: guest.close_command("1"),
    ):
        with pytest.raises(HostError) as caught:
            touch()
        assert caught.value.kind == "unlocked"


def test_the_lock_ends_with_its_holder(open_host: OpenHost) -> None:
    open_host().close()
    killed = open_host()
    os.kill(killed.greeting.pid, signal.SIGKILL)
    killed.close()
    assert open_host().greeting.outstanding.entries == 0


def test_a_service_does_not_hold_it(open_host: OpenHost, tmp_path: Path) -> None:
    spec = EmbeddedSpec("idle", ("sleep", "600"), str(tmp_path), None, 1 << 20, 2)
    first = open_host()
    first.service_start(spec)
    first.close()
    second = open_host()
    assert second.service_state(spec).running
    second.service_stop(spec, 5)


def test_a_newcomer_waits_for_one_that_is_ending(open_host: OpenHost, tmp_path: Path) -> None:
    """Its operator is gone, and what it spawned takes its time to end."""
    first = open_host()
    code = "trap '' TERM; : > up; while :; do sleep 0.1; done"
    options = {"cwd": str(tmp_path), "env": None, "timeout_s": 60, "sink": lambda *_: None}
    spawned = threading.Thread(target=spawn_until_lost, args=(first, ["sh", "-c", code], options))
    spawned.start()
    while not (tmp_path / "up").exists():
        time.sleep(0.01)
    closing = threading.Thread(target=first.close)
    closing.start()
    assert open_host().clock()
    closing.join()
    spawned.join()


def spawn_until_lost(host: Host, argv: list[str], options: dict[str, Any]) -> None:
    with contextlib.suppress(HostLost):
        host.spawn(argv, **options)


def test_a_holder_that_has_not_written_its_name_yet(
    host: Host, open_host: OpenHost, state_dir: Path
) -> None:
    (state_dir / "lock").write_bytes(b'{"who": "te')
    with pytest.raises(HostError, match="someone works on this host") as caught:
        open_host()
    assert caught.value.kind == "locked"
    assert host.clock()


def ask_until(host: Host, deadline: float) -> None:
    while time.monotonic() < deadline:
        host.clock()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_visit(host: Host, open_host: OpenHost, number: int) -> None:
    os.kill(host.greeting.pid, number)
    deadline = time.monotonic() + 20
    with pytest.raises(HostLost):
        ask_until(host, deadline)
    host.close()
    assert open_host()


def test_a_terminal_does_not_reach_it(host: Host) -> None:
    assert os.getsid(host.greeting.pid) == host.greeting.pid


def test_private_from_the_start(host: Host, state_dir: Path, tmp_path: Path) -> None:
    digest = write(tmp_path / "tree" / "a", b"base")
    host.apply([Change(str(tmp_path / "tree"), "a", digest, b"x")], run="run-1")
    assert state_dir.stat().st_mode & 0o777 == 0o700
    inside = list(state_dir.rglob("*"))
    assert {path.name for path in inside} >= {"lock", "journal.json", "bases", digest}
    for path in inside:
        assert path.stat().st_mode & 0o077 == 0, path


def test_greeting(host: Host) -> None:
    greeting = host.greeting
    assert greeting.hostname == os.uname().nodename
    assert greeting.boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert abs(host.clock() - time.time()) < 5
    assert greeting.boot_clock <= host.boot_clock()
    assert not greeting.outstanding


def test_an_unknown_verb_and_a_bad_request_leave_it_alive(host: Host) -> None:
    with pytest.raises(HostError) as caught:
        host.connection.call("fly")
    assert caught.value.kind == "unknown-verb"
    with pytest.raises(HostError) as caught:
        host.connection.call("read")
    assert caught.value.kind == "fault"
    assert host.clock()


def test_an_agent_that_cannot_start(state_dir: Path) -> None:
    with pytest.raises(HostLost, match="cannot start it with /no/python"):
        LocalChannel(state_dir, python="/no/python")
    with pytest.raises(HostLost, match="its last words"):
        Host.open(LocalChannel(state_dir, python="/bin/sh"), lock=False, who="me", run="")


def test_a_state_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    channel = LocalChannel(tmp_path / "file" / "host")
    with pytest.raises(HostError, match="Not a directory"):
        Host.open(channel, lock=True, who="me", run="")


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.11", "3.12", "3.13"])
def test_on_every_python(version: str, state_dir: Path, tmp_path: Path) -> None:
    """All that a run asks of a host: files, commands, services, and the way back."""
    digest = write(tmp_path / "tree" / "a.py", b"base")
    service = EmbeddedSpec(
        "svc", ("/bin/sh", "-c", "echo up; exec sleep 300"), "/", None, 1 << 20, 4
    )
    channel = LocalChannel(state_dir, python=interpreter(version))
    with Host.open(channel, lock=True, who="me", run="r") as host:
        assert host.greeting.python.rpartition(".")[0] == version
        host.apply([Change(str(tmp_path / "tree"), "a.py", digest, b"x")], run="r")
        started = host.service_start(service)
        host.await_health(service, [HealthCheck(LogProbe("up"))], started)
        assert host.environ([started.pid or 0], ("PATH",), b"key")[0].readable
        output: list[tuple[str, bytes]] = []
        argv = ["/bin/sh", "-c", "echo out; exit 3"]
        ended = host.spawn(argv, cwd="/", timeout_s=60, sink=lambda *got: output.append(got))
        assert (ended.code, output) == (3, [("stdout", b"out\n")])
        assert host.service_stop(service, 10).was_running
        assert host.put_back().restored == (str(tmp_path / "tree" / "a.py"),)
        host.settle()
        assert not host.journal().outstanding


def interpreter(version: str) -> str:
    """One of this machine. Skips where there is none."""
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))
    python = str(found[0]) if found else shutil.which(f"python{version}")
    return python or pytest.skip(f"there is no Python {version} here")


def test_every_module_of_the_agent_reads_as_the_oldest_python() -> None:
    agent = Path(__file__).parents[2] / "playbooks" / "agent"
    for path in agent.glob("*.py"):
        ast.parse(path.read_text("utf-8"), str(path), feature_version=(3, 8))
