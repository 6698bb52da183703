"""Units of a real systemd, driven by the agent there."""

import itertools
import os
import signal
import socket
import time
import zlib
from collections.abc import Callable, Iterator

import pytest
from hosts_machine import Machine, wait_until
from ports import free_port
from systemd_units import TestUnit, unit

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.ssh_config import SshTarget
from playbooks.system import HealthCheck, LogProbe, TcpProbe

pytestmark = pytest.mark.hosts

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]

SLEEPS = "ExecStart=/bin/sh -c 'echo ready; exec sleep 600'\n"


@pytest.fixture
def host(reach: Reach, open_host: OpenHost) -> Host:
    return open_host(reach("alpha"))


@pytest.fixture
def svc(alpha: Machine, request: pytest.FixtureRequest) -> Iterator[TestUnit]:
    with unit(alpha, f"test-{zlib.crc32(request.node.name.encode()):x}.service") as made:
        yield made


def commands(host: Host, svc: TestUnit) -> list[str]:
    """What the unit's processes run; a shell's child is a shell before it is a program."""
    return [one.command for one in host.service_state(svc.spec).processes]


def refusal(call: Callable[[], object]) -> HostError:
    with pytest.raises(HostError) as caught:
        call()
    assert "\n" not in caught.value.message
    return caught.value


def test_starts_and_stops(host: Host, svc: TestUnit) -> None:
    svc.service("ExecStart=/bin/sh -c 'sleep 600 & echo ready; exec sleep 601'\n")
    assert not host.service_state(svc.spec).running
    started = host.service_start(svc.spec)
    health = host.await_health(svc.spec, [HealthCheck(LogProbe("^ready$"))], started)
    assert health.healthy_at >= started.started_at - 0.02
    state = host.service_state(svc.spec)
    assert state.running
    assert (state.pid, state.invocation) == (started.pid, started.invocation)
    wait_until(lambda: commands(host, svc) == ["sleep 601", "sleep 600"], 60, "both programs")
    assert refusal(lambda: host.service_start(svc.spec)).kind == "running"
    stopped = host.service_stop(svc.spec, 10)
    assert stopped.was_running
    assert not stopped.killed
    assert host.service_state(svc.spec).processes == ()
    assert not host.service_stop(svc.spec, 10).was_running


@pytest.mark.parametrize("held", [False, True])
def test_a_drop_in_that_got_an_older_date_is_read_before_the_start(
    host: Host, svc: TestUnit, held: bool
) -> None:
    """systemd forgets a stopped unit, and reads it anew, unless another one refers to it."""
    svc.service(SLEEPS)
    target = svc.name.replace(".service", ".target")
    if held:
        svc.write(f"/run/systemd/system/{target}", f"[Unit]\nAfter={svc.name}\n")
        svc.machine.run("systemctl", "start", target)
    dropin = f"/etc/systemd/system/{svc.name}.d/a.conf"
    for value in ("new", "old"):
        svc.write(dropin, f"[Service]\nEnvironment=TOLD={value}\n")
        if value == "old":
            os.utime(svc.machine.root / dropin.lstrip("/"), (1e9, 1e9))
        host.service_start(svc.spec)
        assert svc.environ()["TOLD"] == value
        host.service_stop(svc.spec, 10)
    svc.machine.run("systemctl", "stop", target, check=False)
    svc.machine.run("rm", "-f", f"/run/systemd/system/{target}")


def test_a_unit_that_stays_active_without_a_process_has_its_start(
    host: Host, svc: TestUnit
) -> None:
    """By it, it is known what it has read; a process would be there to tell."""
    svc.service("Type=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sleep .1\n")
    starts = []
    for _ in range(2):
        before = time.clock_gettime(time.CLOCK_BOOTTIME)
        host.await_health(svc.spec, [], host.service_start(svc.spec))
        state = host.service_state(svc.spec)
        assert (state.word, state.processes) == ("active (exited)", ())
        assert before < state.starts[0] < time.clock_gettime(time.CLOCK_BOOTTIME)
        starts += state.starts
        host.service_stop(svc.spec, 10)
        assert host.service_state(svc.spec).starts == ()
    assert len(set(starts)) == 2


def test_what_ignores_term_is_killed_and_flagged(host: Host, svc: TestUnit) -> None:
    svc.service("ExecStart=/bin/sh -c 'trap : TERM; echo up; while :; do sleep .1; done'\n")
    started = host.service_start(svc.spec)
    host.await_health(svc.spec, [HealthCheck(LogProbe("up"))], started)
    assert host.service_stop(svc.spec, 0.3).killed
    assert host.service_state(svc.spec).exit_signal == signal.SIGKILL


@pytest.mark.parametrize(("worker", "timeout_s"), [("willing", 60), ("deaf", 0.5)])
def test_what_systemd_leaves_behind_is_ended(
    host: Host, svc: TestUnit, worker: str, timeout_s: float
) -> None:
    """KillMode=process: workers are none of systemd's business, but would hold their port.

    They are told to end as soon as systemd is through, and killed where they do not.
    """
    deaf = "trap '' TERM;" if worker == "deaf" else ""
    svc.write(f"/opt/{svc.name}.sh", f"({deaf} exec sleep 700) & echo up; exec sleep 701\n")
    svc.service(f"KillMode=process\nExecStart=/bin/sh /opt/{svc.name}.sh\n")
    started = host.service_start(svc.spec)
    host.await_health(svc.spec, [HealthCheck(LogProbe("up"))], started)
    wait_until(lambda: svc.machine.processes("sleep 700"), 60, "the worker")
    assert host.service_stop(svc.spec, timeout_s).killed == bool(deaf)
    assert not svc.machine.processes("sleep 700")


def test_a_unit_that_is_not_there(host: Host, svc: TestUnit) -> None:
    for call in (host.service_state, host.service_start, host.unit_facts):
        error = refusal(lambda call=call: call(svc.spec))
        assert error.kind == "unit-not-found"
        assert svc.name in error.message


ANSWERS = """\
import os, socket
here = socket.socket(fileno=3)
while True:
    there = here.accept()[0]
    there.sendall(os.environ.get("MODE", "none").encode())
    there.close()
"""


@pytest.fixture
def on_demand(svc: TestUnit) -> Iterator[int]:
    """The port of `svc`'s socket unit, which starts it whenever somebody connects."""
    port = free_port(svc)
    listens = svc.name.replace(".service", ".socket")
    svc.write(f"/etc/systemd/system/{listens}", f"[Socket]\nListenStream=127.0.0.1:{port}\n")
    svc.write(f"/opt/{svc.name}.py", ANSWERS)
    svc.service(f"ExecStart=/usr/bin/python3 -S -B /opt/{svc.name}.py\n")
    svc.machine.run("systemctl", "start", listens)
    yield port
    svc.machine.run("systemctl", "stop", listens)
    svc.machine.run("rm", f"/etc/systemd/system/{listens}")


def test_what_its_users_start_while_it_is_down_is_the_start(
    host: Host, svc: TestUnit, on_demand: int
) -> None:
    """A socket unit starts it again before we do: on the files that were changed until then."""

    def ask() -> str:
        with socket.create_connection(("127.0.0.1", on_demand), 30) as connection:
            return connection.makefile().read()

    assert ask() == "none"
    before = host.service_state(svc.spec)
    svc.write(f"/etc/systemd/system/{svc.name}.d/zz.conf", "[Service]\nEnvironment=MODE=new\n")
    assert host.service_stop(svc.spec, 10).was_running
    assert ask() == "new"
    started = host.service_start(svc.spec)
    state = host.service_state(svc.spec)
    assert (started.pid, started.invocation) == (state.pid, state.invocation)
    assert state.identity != before.identity
    assert refusal(lambda: host.service_start(svc.spec)).kind == "running"


def test_a_masked_unit(host: Host, svc: TestUnit) -> None:
    svc.machine.run("systemctl", "mask", svc.name)
    error = refusal(lambda: host.service_start(svc.spec))
    assert error.kind == "masked"
    assert f"systemctl unmask {svc.name}" in error.message


def test_files_that_systemd_refuses(host: Host, svc: TestUnit) -> None:
    svc.service("Type=simple\n")
    error = refusal(lambda: host.service_start(svc.spec))
    assert error.kind == "bad-unit"


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("ExecStart=/nowhere/serve\n", "start-failed", "203/EXEC, its program cannot be run"),
        ("User=nobody-here\n" + SLEEPS, "start-failed", "217/USER, its User= does not exist"),
        ("WorkingDirectory=/nowhere\n" + SLEEPS, "start-failed", "200/CHDIR"),
        ("ExecStartPre=/bin/false\n" + SLEEPS, "start-failed", "see ExecStartPre="),
        ("EnvironmentFile=/nowhere\n" + SLEEPS, "start-failed", "EnvironmentFile="),
        ("ExecStart=/bin/sh -c 'echo bye; exit 3'\n", "crashed", "exit code 3"),
        ("ExecStart=/bin/sh -c 'kill -SEGV $$$$'\n", "crashed", "signal 11"),
        ("Restart=always\nExecStart=/bin/sh -c 'sleep .1; exit 4'\n", "crashed", "a crash loop"),
    ],
)
def test_why_it_does_not_run(host: Host, svc: TestUnit, text: str, kind: str, words: str) -> None:
    svc.service(text)

    def run() -> None:
        started = host.service_start(svc.spec)
        host.await_health(svc.spec, [HealthCheck(TcpProbe("127.0.0.1:9"))], started)

    error = refusal(run)
    assert (error.kind, words in error.message) == (kind, True), error.message
    assert any(svc.name in line or "bye" in line for line in error.detail["log"])


def test_systemd_that_has_given_up(host: Host, svc: TestUnit) -> None:
    svc.service("Restart=always\nRestartSec=0\nExecStart=/bin/sh -c 'sleep .05; exit 5'\n")
    started = host.service_start(svc.spec)
    wait_until(lambda: svc.show("ActiveState") == "failed", 60, "systemd to give up")
    error = refusal(lambda: host.await_health(svc.spec, [], started))
    assert error.kind == "start-limit"
    assert "exit code 5" in error.message
    svc.service(SLEEPS)
    assert host.service_start(svc.spec).restarts == 0


def test_a_crash_after_the_start_is_seen_at_once(host: Host, svc: TestUnit) -> None:
    svc.service("ExecStart=/bin/sh -c 'echo loading; sleep .4; echo no GPU; exit 7'\n")
    started = host.service_start(svc.spec)
    check = HealthCheck(TcpProbe("127.0.0.1:9"), timeout_s=60)
    error = refusal(lambda: host.await_health(svc.spec, [check], started))
    assert error.kind == "crashed"
    assert error.detail["exit_code"] == 7
    assert "no GPU" in error.detail["log"]


def test_it_waits_for_a_unit_that_says_when_it_is_ready(host: Host, svc: TestUnit) -> None:
    script = "sleep .6; systemd-notify --ready; exec sleep 600"
    svc.service(f"Type=notify\nNotifyAccess=all\nExecStart=/bin/sh -c '{script}'\n")
    started = host.service_start(svc.spec)
    health = host.await_health(svc.spec, [], started)
    assert health.healthy_at - started.started_at > 0.4
    assert host.service_state(svc.spec).word == "active (running)"


def test_an_old_ready_line_does_not_count(host: Host, svc: TestUnit) -> None:
    svc.service("ExecStart=/bin/sh -c 'echo ready; exec sleep 600'\n")
    host.service_start(svc.spec)
    host.service_stop(svc.spec, 5)
    svc.service("ExecStart=/bin/sh -c 'echo loading; exec sleep 600'\n")
    started = host.service_start(svc.spec)
    check = HealthCheck(LogProbe("ready"), timeout_s=0.5)
    assert refusal(lambda: host.await_health(svc.spec, [check], started)).kind == "unhealthy"


def test_a_restart_by_systemd_is_another_start(host: Host, svc: TestUnit) -> None:
    svc.service("Restart=always\nRestartSec=0\n" + SLEEPS)
    started = host.service_start(svc.spec)
    before = host.service_state(svc.spec)
    svc.machine.run("kill", "-9", str(started.pid))
    wait_until(lambda: host.service_state(svc.spec).running, 60, "systemd to restart it")
    wait_until(lambda: host.service_state(svc.spec).restarts == 1, 60, "the counter")
    assert host.service_state(svc.spec).identity != before.identity
    assert host.service_state(svc.spec).invocation != started.invocation


def test_a_change_of_its_files_is_read_again(host: Host, svc: TestUnit) -> None:
    svc.service(SLEEPS)
    host.service_start(svc.spec)
    assert not host.unit_facts(svc.spec).need_reload
    folder = f"/etc/systemd/system/{svc.name}.d"
    numbers = itertools.count()

    def is_overdue() -> bool:
        """Other tests have systemd read everything again; one try comes between those."""
        svc.write(f"{folder}/{next(numbers):03}.conf", "[Service]\nEnvironment=A=1\n")
        return host.unit_facts(svc.spec).need_reload

    wait_until(is_overdue, 60, "a drop-in that systemd has not read")
    path = f"{folder}/zz-campaign.conf"
    svc.write(path, "[Service]\nEnvironment=A=1\n")
    host.service_stop(svc.spec, 5)
    host.service_start(svc.spec)
    assert svc.environ()["A"] == "1"
    svc.write(path, "[Service]\nEnvironment=A=2\n")
    svc.machine.run("touch", "-d", "2001-01-01", path)
    host.service_stop(svc.spec, 5)
    host.service_start(svc.spec)
    assert svc.environ()["A"] == "2"


def test_a_units_facts(host: Host, svc: TestUnit) -> None:
    svc.write(f"/etc/systemd/system/{svc.name}.d/a.conf", "[Service]\nEnvironmentFile=-/b.env\n")
    svc.service("WorkingDirectory=/opt\nEnvironmentFile=/a.env\nExecStart=/opt/serve.sh --tp 4\n")
    facts = host.unit_facts(svc.spec)
    assert facts.fragment == f"/etc/systemd/system/{svc.name}"
    assert facts.dropins == (f"/etc/systemd/system/{svc.name}.d/a.conf",)
    assert facts.env_files == ("/a.env", "/b.env")
    assert facts.exec == ("/opt/serve.sh --tp 4",)
    assert facts.cwd == "/opt"
    assert not facts.need_reload
