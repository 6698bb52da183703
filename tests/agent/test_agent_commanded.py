"""Services that commands manage: a serve script, with and without pids and a log of its own."""

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.specs import CommandedSpec
from playbooks.system import HealthCheck, LogProbe

SERVE = """\
import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (os.unlink("pid"), sys.exit()))
print("ready with", os.environ.get("MODE"), flush=True)
open("pid", "w").write(str(os.getpid()))
while True: time.sleep(1)
"""
START = f"rm -f pid; {sys.executable} -I -S serve.py & while [ ! -s pid ]; do sleep .02; done"
STOP = "kill $(cat pid); while [ -e pid ]; do sleep .02; done"


def shell(text: str) -> tuple[str, ...]:
    return ("/bin/sh", "-c", text)


@pytest.fixture
def spec(tmp_path: Path, host: Host) -> Iterator[CommandedSpec]:
    (tmp_path / "serve.py").write_text(SERVE)
    (tmp_path / "mode.env").write_text("MODE='slow one'\n")
    made = CommandedSpec(
        "svc",
        shell(START),
        shell(STOP),
        shell("kill -0 $(cat pid) 2>/dev/null"),
        str(tmp_path),
        restart=shell(f"{STOP}; {START}"),
        pids=("cat", "pid"),
        env_file=str(tmp_path / "mode.env"),
    )
    yield made
    host.service_stop(made, 60)


def test_it_starts_and_stops(host: Host, spec: CommandedSpec) -> None:
    assert not host.service_state(spec).running
    started = host.service_start(spec)
    health = host.await_health(spec, [HealthCheck(LogProbe("ready with slow one"))], started)
    assert health.healthy_at >= started.started_at
    state = host.service_state(spec)
    assert (state.running, state.pid) == (True, started.pid)
    assert [one.pid for one in state.processes] == [started.pid]
    (environ,) = host.environ([started.pid or 0], ["MODE"], b"k" * 16)
    assert environ.values == {"MODE": "slow one"}
    with pytest.raises(HostError) as caught:
        host.service_start(spec)
    assert caught.value.kind == "running"
    assert host.service_stop(spec, 60).was_running
    assert not host.service_state(spec).running
    assert not host.service_stop(spec, 60).was_running


def test_it_restarts_by_its_own_command(host: Host, spec: CommandedSpec) -> None:
    first = host.service_start(spec)
    second = host.service_restart(spec)
    assert second.pid != first.pid
    host.await_health(spec, [HealthCheck(LogProbe("ready"))], second)
    assert b"".join(host.service_log(spec, second.cursor)).count(b"ready") == 1


def test_without_pids_it_has_no_process(host: Host, spec: CommandedSpec) -> None:
    blind = replace(spec, pids=None)
    started = host.service_start(blind)
    assert started.pid is None
    host.await_health(blind, [], started)
    state = host.service_state(blind)
    assert (state.running, state.pid, state.processes) == (True, None, ())


def test_a_start_that_fails_shows_what_it_said(host: Host, spec: CommandedSpec) -> None:
    with pytest.raises(HostError, match="svc: its start command exited 3") as caught:
        host.service_start(replace(spec, start=shell("echo no such image; exit 3")))
    assert caught.value.kind == "start-failed"
    assert caught.value.detail["log"] == ["no such image"]
    with pytest.raises(HostError, match="start command /nowhere: No such file") as caught:
        host.service_start(replace(spec, start=("/nowhere",)))
    assert caught.value.kind == "start-failed"


def test_a_service_that_goes_is_seen(host: Host, spec: CommandedSpec) -> None:
    for pids in (spec.pids, None):
        named = replace(spec, pids=pids)
        started = host.service_start(named)
        os.kill(int(Path(spec.cwd, "pid").read_text()), 15)
        with pytest.raises(HostError) as caught:
            host.await_health(named, [HealthCheck(LogProbe("never"), timeout_s=1)], started)
        assert caught.value.kind == ("crashed" if pids else "unhealthy")


def test_one_that_does_not_stop_is_told(host: Host, spec: CommandedSpec) -> None:
    host.service_start(spec)
    with pytest.raises(HostError, match="did not stop") as caught:
        host.service_stop(replace(spec, stop=("true",)), 0.3)
    assert caught.value.kind == "stuck"


Rotate = Callable[[Path], None]


def renamed(log: Path) -> None:
    log.rename(log.with_name("app.log.1"))
    log.write_text("after\n")


def copied_and_cut(log: Path) -> None:
    log.with_name("app.log.1").write_bytes(log.read_bytes())
    log.write_text("after\n")


def compressed(log: Path) -> None:
    log.unlink()
    log.with_name("app.log.1.gz").write_bytes(b"")
    log.with_name("other").write_text("takes the inode")
    log.write_text("after\n")


@pytest.mark.parametrize(
    ("rotate", "found", "gap"),
    [
        (renamed, b"two\nthree\nafter\n", False),
        (copied_and_cut, b"after\n", True),
        (compressed, b"after\n", True),
    ],
)
def test_a_log_of_its_own_is_followed_through_rotation(
    host: Host, spec: CommandedSpec, tmp_path: Path, rotate: Rotate, found: bytes, gap: bool
) -> None:
    log = tmp_path / "app.log"
    logging = replace(spec, log=str(log))
    log.write_text("one\n")
    cursor = host.service_log_end(logging)
    log.write_text("one\ntwo\nthree\n")
    assert b"".join(host.service_log(logging, cursor)) == b"two\nthree\n"
    rotate(log)
    stream = host.service_log(logging, cursor)
    assert b"".join(stream) == found
    assert stream.lost.gap == gap
    assert b"".join(host.service_log(logging, stream.next_cursor)) == b""


def test_a_log_that_is_not_there_yet(host: Host, spec: CommandedSpec, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    logging = replace(spec, log=str(log))
    cursor = host.service_log_end(logging)
    assert b"".join(host.service_log(logging, cursor)) == b""
    log.write_text("one\n")
    stream = host.service_log(logging, cursor)
    assert b"".join(stream) == b"one\n"
    assert not stream.lost


def test_a_large_log_comes_in_pieces(host: Host, spec: CommandedSpec, tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_bytes(b"".join(b"line %d\n" % number for number in range(300_000)))
    stream = host.service_log(replace(spec, log=str(log)), "0:0:0:0")
    chunks = list(stream)
    assert len(chunks) > 1
    assert b"".join(chunks) == log.read_bytes()
    assert all(chunk.endswith(b"\n") for chunk in chunks)
