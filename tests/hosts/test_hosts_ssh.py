"""The agent over SSH, on real machines."""

import hashlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until

from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.host import Change, Host
from playbooks.hosts.specs import CommandedSpec
from playbooks.hosts.ssh import SshChannel
from playbooks.hosts.ssh_config import SshTarget

pytestmark = pytest.mark.hosts

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]

CONFIG = b"mode = safe\n"


def placed(machine: Machine, path: str, data: bytes, mode: int = 0o640) -> Path:
    """A file on the machine that others may not read."""
    where = machine.root / path.lstrip("/")
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_bytes(data)
    where.chmod(mode)
    return where


def edited(root: str) -> Change:
    return Change(root, "app.conf", hashlib.sha256(CONFIG).hexdigest(), b"mode = fast\n")


def spawned(host: Host, code: str, sink: Callable[[str, bytes], object], limit: float = 60) -> int:
    argv = ["/usr/bin/python3", "-I", "-S", "-c", code]
    ended = host.spawn(argv, cwd="/", timeout_s=limit, sink=sink)
    assert ended.code is not None
    return ended.code


def test_greets(alpha: Machine, reach: Reach, open_host: OpenHost) -> None:
    host = open_host(reach("alpha"))
    assert host.greeting.hostname == "alpha"
    assert host.greeting.pid in alpha.processes("python3 -I -S")


@pytest.mark.parametrize("user", ["root", "ops"])
def test_changes_and_puts_back(
    alpha: Machine, reach: Reach, open_host: OpenHost, user: str
) -> None:
    path = placed(alpha, f"/opt/{user}/app.conf", CONFIG)
    before = path.stat()
    host = open_host(reach("alpha", user=user, sudo=user != "root"))
    state, content = host.read(f"/opt/{user}", "app.conf")
    assert (content, state.mode, state.uid) == (CONFIG, 0o640, 0)

    host.apply([edited(f"/opt/{user}")], run="run-1")
    assert path.read_bytes() == b"mode = fast\n"
    assert path.stat().st_mode == before.st_mode
    assert host.put_back().restored == (f"/opt/{user}/app.conf",)
    assert path.read_bytes() == CONFIG
    assert path.stat().st_mtime_ns == before.st_mtime_ns


def test_without_sudo_reads_no_more_than_the_user_may(
    alpha: Machine, reach: Reach, open_host: OpenHost
) -> None:
    placed(alpha, "/opt/guest/app.conf", CONFIG)
    host = open_host(reach("alpha", user="guest"))
    with pytest.raises(HostError) as refused:
        host.read("/opt/guest", "app.conf")
    assert refused.value.kind == "denied"


@pytest.mark.parametrize(
    ("user", "sudo", "where"),
    [("guest", False, "home/guest/.local/state/campaign"), ("ops", True, "var/lib/campaign")],
)
def test_usual_state_directory(
    beta: Machine, reach: Reach, open_host: OpenHost, user: str, sudo: bool, where: str
) -> None:
    host = open_host(reach("beta", user=user, sudo=sudo, state_dir=None))
    host.close()
    state = beta.root / where
    assert (state / "lock").exists()
    assert state.stat().st_mode & 0o777 == 0o700


def test_two_operators_never_hold_one_host(reach: Reach, open_host: OpenHost) -> None:
    open_host(reach("alpha"), run="first")
    with pytest.raises(HostError) as refused:
        open_host(reach("alpha"), run="second")
    assert refused.value.kind == "locked"
    assert refused.value.detail["run"] == "first"


def test_two_hosts_side_by_side(reach: Reach, open_host: OpenHost) -> None:
    hosts = [open_host(reach(name)) for name in ("alpha", "beta")]
    assert [host.greeting.hostname for host in hosts] == ["alpha", "beta"]


def test_300_mb_of_output_in_flat_memory(reach: Reach, open_host: OpenHost) -> None:
    host, size, blocks = open_host(reach("alpha")), 0, 300
    resident = []

    def sink(_stream: str, data: bytes) -> None:
        nonlocal size
        size += len(data)
        if size // (50 << 20) == len(resident):
            resident.append(memory())

    code = f"import os\nfor _ in range({blocks}): os.write(1, b'x' * (1 << 20))"
    assert spawned(host, code, sink) == 0
    assert size == blocks << 20
    assert resident[-1] - resident[0] < 32 << 20


def test_200_mb_of_a_log_in_flat_memory(
    alpha: Machine, reach: Reach, open_host: OpenHost, request: pytest.FixtureRequest
) -> None:
    log, size, resident = "/var/tmp/huge.log", 200 << 20, []
    request.addfinalizer(lambda: alpha.run("rm", "-f", log))
    alpha.run("touch", log)
    host, true = open_host(reach("alpha"), lock=False), ("/bin/true",)
    spec = CommandedSpec("svc", true, true, true, "/", log=log)
    cursor, read = host.service_log_end(spec), 0
    alpha.run("sh", "-c", f"yes {'x' * 99} | head -c {size} > {log}")
    stream = host.service_log(spec, cursor)
    for chunk in stream:
        read += len(chunk)
        if read // (50 << 20) == len(resident) + 1:
            resident.append(memory())
    assert (read, bool(stream.lost)) == (size // 100 * 100, False)
    assert resident[-1] - resident[0] < 32 << 20


def memory() -> int:
    """The bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_both_streams_at_once(reach: Reach, open_host: OpenHost) -> None:
    sizes = {"stdout": 0, "stderr": 0}

    def sink(stream: str, data: bytes) -> None:
        sizes[stream] += len(data)

    code = "import os\nfor _ in range(8):\n for fd in (1, 2): os.write(fd, b'x' * (1 << 20))"
    assert spawned(open_host(reach("alpha")), code, sink) == 0
    assert sizes == {"stdout": 8 << 20, "stderr": 8 << 20}


def test_a_call_takes_no_time(reach: Reach, open_host: OpenHost) -> None:
    host = open_host(reach("alpha"), lock=False)
    took = []
    for _ in range(200):
        began = time.perf_counter()
        host.clock()
        took.append(time.perf_counter() - began)
    assert min(took) < 0.01, "the quickest met nobody else"


class TestLostConnection:
    """The host's sshd lets go of a connection while a command runs."""

    @pytest.fixture
    def lost(self, alpha: Machine, reach: Reach, open_host: OpenHost) -> SshTarget:
        """A target whose connection was cut during the command `sleep 4711`."""
        target = reach("alpha", user="ops", sudo=True)
        host = open_host(target)
        before = set(alpha.processes("sleep 4711"))

        def cut(_stream: str, data: bytes) -> None:
            assert data == b"running\n"
            cut_connection(alpha, host.greeting.pid)

        with pytest.raises(HostLost):
            host.spawn(
                ["/bin/sh", "-c", "echo running; sleep 4711"], cwd="/", timeout_s=60, sink=cut
            )
        assert not before
        return target

    def test_leaves_no_process(self, alpha: Machine, lost: SshTarget) -> None:
        wait_until(lambda: not alpha.processes("sleep 4711"), 60, "the command to end")
        assert lost.state_dir
        wait_until(lambda: not alpha.processes(lost.state_dir), 60, "the agent to end")

    def test_redials_and_takes_over(self, lost: SshTarget, open_host: OpenHost) -> None:
        again = open_host(lost, run="again")
        seen = []
        again.spawn(
            ["/bin/echo", "here"], cwd="/", timeout_s=60, sink=lambda *got: seen.append(got)
        )
        assert seen == [("stdout", b"here\n")]


def cut_connection(machine: Machine, agent: int) -> None:
    """Kills the processes of sshd that serve the connection of an agent, nothing else."""
    serving = [str(pid) for pid in serving_sshd(machine, agent)]
    assert serving
    machine.run("kill", "-9", *serving, check=False)  # the end of one may end the other first


def serving_sshd(machine: Machine, agent: int) -> list[int]:
    """Above the agent; the last one up is the listener, which serves everyone."""
    pid, found = agent, []
    while pid > 1:
        status = (machine.root / f"proc/{pid}/status").read_text()
        facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
        if facts["Name"] == "sshd":
            found.append(pid)
        pid = int(facts["PPid"])
    return found[:-1]


@pytest.mark.parametrize("ends", ["timeout", "stop"])
def test_ended_command_leaves_no_process(
    alpha: Machine, reach: Reach, open_host: OpenHost, ends: str
) -> None:
    """Not even one that left its session and ignores SIGTERM, and runs as another user."""
    host = open_host(reach("alpha", user="ops", sudo=True))
    stop = threading.Event()
    sleep = f"sleep {4712 if ends == 'stop' else 4714}"
    code = f"trap '' TERM; setsid sh -c 'trap \"\" TERM; {sleep}' & echo running; wait"
    ended = host.spawn(
        ["/bin/sh", "-c", code],
        cwd="/",
        timeout_s=0.5 if ends == "timeout" else 60,
        sink=lambda *_: stop.set() if ends == "stop" else None,
        stop=stop,
    )
    assert (ended.timed_out, ended.stopped) == (ends == "timeout", ends == "stop")
    assert not alpha.processes(sleep)


def test_host_that_falls_silent(
    alpha: Machine, reach: Reach, open_host: OpenHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No reset and no end of file comes, here or there: as with a cable pulled."""
    monkeypatch.setattr("playbooks.hosts.ssh.KEEPALIVE_S", 2.0)
    target = reach("alpha", user="ops", sudo=True)
    host = open_host(target)
    serving = [str(pid) for pid in serving_sshd(alpha, host.greeting.pid)]
    alpha.run("kill", "-STOP", *serving)
    with pytest.raises(HostLost, match="nothing came back"):
        host.clock()
    monkeypatch.undo()
    again = open_host(target, run="again", replaces=host.greeting.pid)
    assert host.greeting.pid not in alpha.processes("python3")
    assert again.clock() > 0
    alpha.run("kill", "-CONT", *serving)


def test_only_our_own_agent_is_replaced(reach: Reach, open_host: OpenHost) -> None:
    other = open_host(reach("alpha"), run="other")
    with pytest.raises(HostError) as refused:
        open_host(reach("alpha"), replaces=other.greeting.pid + 1)
    assert refused.value.kind == "locked"
    assert other.clock() > 0


def test_quiet_host_is_not_given_up(
    reach: Reach, open_host: OpenHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("playbooks.hosts.ssh.KEEPALIVE_S", 2.0)
    host = open_host(reach("alpha"), lock=False)
    ended = host.spawn(["/bin/sleep", "5"], cwd="/", timeout_s=60, sink=lambda *_: None)
    assert ended.code == 0


def test_outstanding_changes_outlive_the_connection(
    alpha: Machine, reach: Reach, open_host: OpenHost
) -> None:
    path = placed(alpha, "/opt/cut/app.conf", CONFIG)
    host = open_host(reach("alpha"))
    host.apply([edited("/opt/cut")], run="run-1")
    cut_connection(alpha, host.greeting.pid)
    with pytest.raises(HostLost):
        host.clock()

    again = open_host(reach("alpha"), run="recover", takes_over=True)
    assert again.greeting.outstanding.entries == 1
    again.put_back()
    assert path.read_bytes() == CONFIG


def test_close_ends_the_agent(alpha: Machine, reach: Reach, open_host: OpenHost) -> None:
    host = open_host(reach("alpha"))
    host.close()
    assert host.greeting.pid not in alpha.processes("python3")


def test_channel_may_be_closed_twice(reach: Reach) -> None:
    channel = SshChannel(reach("alpha"))
    channel.close()
    channel.close()
    assert channel.read(1) == b""
