"""Spawned commands: streamed, on a leash, ended whole."""

import contextlib
import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from playbooks.agent import procfs, spawn
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.host import Host
from playbooks.hosts.processes import Exit
from playbooks.hosts.specs import EmbeddedSpec

PYTHON = (sys.executable, "-I", "-S", "-u", "-c")
DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    nothing = os.open("/dev/null", os.O_RDWR)
    os.write(1, b"daemon %d\\n" % os.getpid())
    os.dup2(nothing, 1)
    os.dup2(nothing, 2)
    time.sleep(600)
os.wait()
"""
MAIN = """
os.write(1, b"main %d\\n" % os.getpid())
time.sleep(600)
"""


class Output:
    """A sink that keeps all."""

    def __init__(self) -> None:
        self.streams = {"stdout": b"", "stderr": b""}

    def __call__(self, stream: str, data: bytes) -> None:
        self.streams[stream] += data

    @property
    def text(self) -> str:
        return self.streams["stdout"].decode()

    def pid(self, name: str) -> int:
        """The pid that a process said it had."""
        return int(dict(line.split() for line in self.text.splitlines())[name])


def run(host: Host, code: str, sink: Callable[[str, bytes], None], **options: object) -> Exit:
    settings = {"cwd": "/", "timeout_s": 60.0, **options}
    return host.spawn((*PYTHON, code), sink=sink, **settings)  # type: ignore[arg-type]


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def gone(pid: int) -> bool:
    process = procfs.read(pid)
    return process is None or not process.running


def test_output_code_place_and_environment(host: Host, tmp_path: Path) -> None:
    sink = Output()
    code = """
import os, sys
print(os.getcwd(), os.environ["MODE"], "PATH" in os.environ, sys.stdin.read() == "")
print("complaint", file=sys.stderr)
sys.exit(3)
"""
    before = time.time()
    done = run(host, code, sink, cwd=str(tmp_path), env={"MODE": "one"})
    assert (done.code, done.signal) == (3, None)
    assert not any((done.timed_out, done.stopped, done.killed, done.out_of_memory))
    assert sink.text == f"{tmp_path} one True True\n"
    assert sink.streams["stderr"] == b"complaint\n"
    assert abs(done.started_at - before) < 5
    assert 0 < done.seconds < 30


def test_a_signal_is_told_apart(host: Host) -> None:
    done = run(host, "import os; os.kill(os.getpid(), 9)", Output())
    assert (done.code, done.signal, done.killed) == (None, signal.SIGKILL, False)


@pytest.mark.parametrize("place", ["/", "/no/such/place"])
def test_what_cannot_start_says_so(host: Host, place: str) -> None:
    with pytest.raises(HostError, match="cannot run no-such-program: ") as caught:
        host.spawn(["no-such-program"], cwd=place, timeout_s=5, sink=Output())
    assert caught.value.kind == "start-failed"


def test_fifty_megabytes_arrive_in_order_with_flat_memory(host: Host) -> None:
    size, seen = 50 * 1024 * 1024, 0
    block = bytes(range(256)) * 256

    def check(_stream: str, data: bytes) -> None:
        nonlocal seen
        start = seen % 256
        assert data == (block * 2)[start : start + len(data)]
        seen += len(data)

    code = f"import os, sys\nfor _ in range({size // len(block)}):\n"
    code += " sys.stdout.buffer.write(bytes(range(256)) * 256)"
    done = run(host, code, check)
    assert (done.code, seen) == (0, size)
    status = Path(f"/proc/{host.greeting.pid}/status").read_text()
    peak_kib = int(dict(re.findall(r"(\w+):\s+(\d+)", status))["VmHWM"])
    assert peak_kib < 48 * 1024


def test_a_stalled_reader_stalls_the_command_and_nobody_else(host: Host) -> None:
    code = "import sys\nfor n in range(20 * 16): sys.stdout.write('x' * 65536)"
    held, release, got = threading.Event(), threading.Event(), []

    def stall(_stream: str, data: bytes) -> None:
        held.set()
        release.wait(60)
        got.append(len(data))

    done: list[Exit] = []
    thread = threading.Thread(target=lambda: done.append(run(host, code, stall)))
    thread.start()
    assert held.wait(60)
    another = EmbeddedSpec("another", (), "/", None, 1 << 20, 4)
    assert not host.service_state(another).running
    release.set()
    thread.join()
    assert sum(got) == 20 * 16 * 65536
    assert done[0].code == 0


def test_timeout_ends_what_left_the_group_too(host: Host) -> None:
    sink = Output()
    done = run(host, DAEMON + MAIN, sink, timeout_s=3.0)
    assert done.timed_out
    assert not done.stopped
    assert done.seconds >= 3.0
    assert gone(sink.pid("main"))
    assert gone(sink.pid("daemon"))


def test_a_command_that_ignores_sigterm_is_killed(host: Host) -> None:
    code = "import signal, time; signal.signal(15, signal.SIG_IGN); print(1); time.sleep(600)"
    sink, stop = Output(), threading.Event()

    def stop_on_output(stream: str, data: bytes) -> None:
        sink(stream, data)
        stop.set()

    done = run(host, code, stop_on_output, stop=stop)
    assert (done.stopped, done.killed, done.signal) == (True, True, signal.SIGKILL)
    assert sink.text == "1\n"


def test_stop_before_the_start_is_heard(host: Host) -> None:
    stop = threading.Event()
    stop.set()
    assert run(host, "import time; time.sleep(600)", Output(), stop=stop).stopped


def test_a_sink_that_raises_ends_the_command(host: Host) -> None:
    pids = []

    def fail(_stream: str, data: bytes) -> None:
        pids.append(int(data))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(host, "import os, time; print(os.getpid()); time.sleep(600)", fail)
    assert gone(pids[0])


def test_what_a_command_leaves_behind_ends_with_it(host: Host) -> None:
    sink = Output()
    done = run(host, DAEMON, sink)
    assert (done.code, done.stopped) == (0, False)
    assert gone(sink.pid("daemon"))


def test_what_a_command_leaves_behind_may_stay(host: Host) -> None:
    sink = Output()
    done = run(host, DAEMON, sink, keep_children=True)
    daemon = sink.pid("daemon")
    try:
        assert done.code == 0
        assert not gone(daemon)
    finally:
        os.kill(daemon, signal.SIGKILL)


def test_the_end_of_the_visit_ends_the_command(host: Host) -> None:
    sink, lost = Output(), threading.Event()

    def follow() -> None:
        with contextlib.suppress(HostLost):
            run(host, DAEMON + MAIN, sink)
        lost.set()

    thread = threading.Thread(target=follow)
    thread.start()
    wait_for(lambda: sink.text.count("\n") == 2)
    host.close()
    assert lost.wait(60)
    thread.join()
    for name in ("daemon", "main"):
        wait_for(lambda name=name: gone(sink.pid(name)))


def test_the_death_of_the_agent_ends_the_command(host: Host) -> None:
    sink, lost = Output(), threading.Event()

    def follow() -> None:
        with contextlib.suppress(HostLost):
            run(host, DAEMON + MAIN, sink)
        lost.set()

    thread = threading.Thread(target=follow)
    thread.start()
    wait_for(lambda: sink.text.count("\n") == 2)
    os.kill(host.greeting.pid, signal.SIGKILL)
    assert lost.wait(60)
    thread.join()
    for name in ("daemon", "main"):
        wait_for(lambda name=name: gone(sink.pid(name)))


def test_what_outlived_agent_and_leash_is_reaped(tmp_path: Path) -> None:
    sid = "0123abcd"
    pid = os.posix_spawn(
        sys.executable, [*PYTHON, DAEMON + "time.sleep(600)"], {**os.environ, spawn.MARK: sid}
    )
    main = procfs.identify(pid)
    assert main is not None
    own = procfs.identify(os.getpid())
    assert own is not None
    gone_leash = own._replace(start_ticks=own.start_ticks - 1)
    record = spawn.Record(procfs.boot_id(), sid, gone_leash, main)
    folder = tmp_path / "spawned"
    folder.mkdir()
    (folder / f"{sid}.json").write_text(json.dumps(record._asdict()))
    (folder / "torn.json").write_text("{")
    wait_for(lambda: len(record.processes()) == 2)
    assert pid in spawn.reap(str(tmp_path))
    os.waitpid(pid, 0)
    assert list(folder.iterdir()) == []
    assert spawn.reap(str(tmp_path)) == []


def test_a_recycled_pid_is_not_reaped() -> None:
    own = procfs.identify(os.getpid())
    assert own is not None
    recycled = own._replace(start_ticks=own.start_ticks - 1)
    record = spawn.Record(procfs.boot_id(), "none", recycled, recycled)
    assert record.processes() == []
