"""Logs in a real journal: by cursor, filtered there, what is lost counted."""

import os
import zlib
from collections.abc import Callable, Iterator

import pytest
from hosts_machine import Machine, wait_until
from msgspec.structs import replace
from systemd_units import TestUnit, unit

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.logs import Lost
from playbooks.hosts.processes import Started
from playbooks.hosts.ssh_config import SshTarget
from playbooks.system import HealthCheck, LogProbe

pytestmark = pytest.mark.hosts

Reach = Callable[..., SshTarget]
OpenHost = Callable[..., Host]


@pytest.fixture
def svc(beta: Machine, request: pytest.FixtureRequest) -> Iterator[TestUnit]:
    with unit(beta, f"log-{zlib.crc32(request.node.name.encode()):x}.service") as made:
        yield made


@pytest.fixture
def host(reach: Reach, open_host: OpenHost) -> Host:
    return open_host(reach("beta"))


def ends(host: Host, svc: TestUnit) -> None:
    wait_until(lambda: not host.service_state(svc.spec).running, 30, "its end")


def test_the_log_of_a_cycle_is_what_came_after_its_start(host: Host, svc: TestUnit) -> None:
    svc.service("ExecStart=/bin/sh -c 'echo one; echo two; sleep .2'\n")
    first = host.service_start(svc.spec)
    ends(host, svc)
    second = host.service_start(svc.spec)
    ends(host, svc)
    both, last = (
        b"".join(host.service_log(svc.spec, start.cursor, grep="^(one|two)$"))
        for start in (first, second)
    )
    assert (both, last) == (b"one\ntwo\none\ntwo\n", b"one\ntwo\n")
    assert b"".join(host.service_log(svc.spec, host.service_log_end(svc.spec))) == b""
    assert "two" in host.service_last_lines(svc.spec)


def test_the_log_of_an_alias_is_that_of_its_unit(host: Host, svc: TestUnit) -> None:
    svc.service("ExecStart=/bin/sh -c 'echo mine; exec sleep 600'\n")
    alias = f"alias-{svc.name}"
    svc.machine.run("ln", "-s", svc.name, f"/etc/systemd/system/{alias}")
    try:
        svc.machine.run("systemctl", "daemon-reload")
        by_alias = replace(svc.spec, unit=alias)
        started = host.service_start(by_alias)
        host.await_health(by_alias, [HealthCheck(LogProbe("^mine$"), timeout_s=20)], started)
        assert b"mine\n" in b"".join(host.service_log(by_alias, started.cursor))
        assert "mine" in host.service_last_lines(by_alias)
    finally:
        svc.machine.run("rm", f"/etc/systemd/system/{alias}")


def test_a_journal_of_its_own_is_the_one_that_is_read(host: Host, svc: TestUnit) -> None:
    """`LogNamespace=`; where the unit says nothing, systemd tells in the other one how it ended."""
    again = "while sleep .05; do echo later; done"
    apart = f"LogNamespace={svc.name.partition('.')[0]}\n"
    svc.service(f"{apart}ExecStart=/bin/sh -c 'echo up; {again}'\n")
    assert host.service_log_end(svc.spec) == ""
    started = host.service_start(svc.spec)
    host.await_health(svc.spec, [HealthCheck(LogProbe("^later$"), timeout_s=20)], started)
    assert host.service_last_lines(svc.spec)[-1] == "later"
    host.service_stop(svc.spec, timeout_s=20)
    end = host.service_log_end(svc.spec)
    said = b"".join(host.service_log(svc.spec, started.cursor)).splitlines()
    assert (said[0], {*said[1:]}) == (b"up", {b"later"})
    svc.service(f"{apart}ExecStart=/bin/false\n")
    failed = host.service_start(svc.spec)
    ends(host, svc)
    assert b"".join(host.service_log(svc.spec, end)) == b""
    with pytest.raises(HostError) as ended:
        host.await_health(svc.spec, [], failed)
    assert any("status=1/FAILURE" in line for line in ended.value.detail["log"])


def test_a_unit_may_write_its_log_to_a_file(host: Host, svc: TestUnit) -> None:
    """It goes on through logrotate; lines of the start before, and systemd's, are not in it."""
    path = f"/var/log/{svc.name}.log"
    script = "echo up; while sleep .05; do test -e $0.go && echo later; done"
    svc.write(f"/opt/{svc.name}.sh", script)
    svc.service(f"StandardOutput=append:{path}\nExecStart=/bin/sh /opt/{svc.name}.sh\n")
    assert host.unit_facts(svc.spec).logs_to_file
    filed = replace(svc.spec, log=path)
    svc.write(path, "of old\n")
    started = host.service_start(filed)
    host.await_health(filed, [HealthCheck(LogProbe("^up$"), timeout_s=20)], started)
    svc.machine.run("mv", path, f"{path}.1")
    svc.write(f"/opt/{svc.name}.sh.go", "")

    def read() -> list[bytes]:
        return b"".join(host.service_log(filed, started.cursor)).splitlines()

    wait_until(lambda: b"later" in read(), 60, "a line in what was rotated away")
    assert set(read()) == {b"up", b"later"}


def test_odd_lines_come_as_they_were(host: Host, svc: TestUnit) -> None:
    code = r"import sys; w=sys.stdout.buffer.write; w(b'\xff\xfe raw\n'); w(b'x'*20000 + b'\n')"
    code += r"; w('h\u00e9 {\"a\": 1}\n'.encode()); w(b'\x1b[31mred\x1b[0m\n')"
    code += "; sys.stdout.flush(); import time; time.sleep(1)"
    svc.write(f"/opt/{svc.name}.py", code)
    svc.service(f"ExecStart=/usr/bin/python3 /opt/{svc.name}.py\n")
    started = host.service_start(svc.spec)
    ends(host, svc)
    lines = b"".join(host.service_log(svc.spec, started.cursor)).split(b"\n")
    wanted = [b"\xff\xfe raw", b"x" * 20000, 'h\u00e9 {"a": 1}'.encode(), b"\x1b[31mred\x1b[0m"]
    assert [one for one in lines if one in wanted] == wanted


def test_many_lines_come_in_pieces_and_none_twice(host: Host, svc: TestUnit) -> None:
    lines = 15000
    svc.service(
        "LogRateLimitIntervalSec=1s\nLogRateLimitBurst=1000000\n"
        f"ExecStart=/bin/sh -c 'seq -f \"room=%%g {'y' * 60}\" {lines}; sleep 600'\n"
    )
    started = host.service_start(svc.spec)
    stream = host.service_log(svc.spec, started.cursor, grep=f"room={lines} ")
    wait_until(
        lambda: b"".join(host.service_log(svc.spec, started.cursor, grep=f"room={lines} ")),
        60,
        "the last line",
    )
    stream = host.service_log(svc.spec, started.cursor, grep="^room=")
    chunks = list(stream)
    assert len(chunks) > 1
    assert b"".join(chunks).count(b"\n") == lines
    assert not stream.lost
    cut = host.service_log(svc.spec, started.cursor, grep="^room=", max_bytes=500)
    assert len(b"".join(cut)) <= 500
    assert cut.truncated


def test_suppressed_messages_are_lost(host: Host, svc: TestUnit) -> None:
    svc.service(
        "LogRateLimitIntervalSec=2s\nLogRateLimitBurst=100\n"
        "ExecStart=/bin/sh -c 'seq 5000; sleep 2.5; echo after; sleep 600'\n"
    )
    started = host.service_start(svc.spec)

    def read() -> tuple[list[bytes], Lost]:
        log = host.service_log(svc.spec, started.cursor, grep="^([0-9]+|after)$")
        return b"".join(log).splitlines(), log.lost

    wait_until(lambda: read()[0][-1:] == [b"after"], 60, "what comes after the last notice")
    kept, lost = read()
    assert len(kept) + lost.messages >= 5000
    assert 0 < lost.messages < 5000
    assert str(lost) == f"{lost.messages} messages suppressed by journald"


def test_what_a_damaged_file_held_is_lost(host: Host, svc: TestUnit) -> None:
    """Nothing is lost of what was logged after the file was written to last."""
    apart = svc.name.partition(".")[0]
    svc.service(
        f"LogNamespace={apart}\nLogRateLimitIntervalSec=0\n"
        "ExecStart=/bin/sh -c 'seq 3000; sleep 600'\n"
    )

    def read(started: Started) -> tuple[int, Lost]:
        log = host.service_log(svc.spec, started.cursor)
        return b"".join(log).count(b"\n"), log.lost

    first = host.service_start(svc.spec)
    wait_until(lambda: read(first) == (3000, Lost()), 20, "all of it")
    svc.machine.run("journalctl", f"--namespace={apart}", "--rotate")
    (file,) = svc.machine.root.glob(f"var/log/journal/*.{apart}/system@*.journal")
    whole = file.read_bytes()
    used = whole.rindex(b"MESSAGE=3000")
    page = b"\xff" * 8192
    file.write_bytes(whole[: used // 2] + page + whole[used // 2 + len(page) :])
    kept, lost = read(first)
    assert kept < 3000
    assert (lost, str(lost)) == (Lost(damaged=True), "some of it is in damaged files")
    file.write_bytes(whole[: len(whole) // 2])
    assert read(first) == (0, Lost(damaged=True))
    os.utime(file, (1, 1))
    host.service_stop(svc.spec, timeout_s=20)
    second = host.service_start(svc.spec)
    wait_until(lambda: read(second) == (3000, Lost()), 20, "all of it again")


def test_a_cursor_that_rotated_away_is_a_gap(host: Host, svc: TestUnit) -> None:
    svc.service("ExecStart=/bin/sh -c 'echo early; sleep 600'\n")
    started = host.service_start(svc.spec)
    svc.machine.run("journalctl", "--rotate")
    svc.machine.run("journalctl", "--vacuum-time=1s")
    svc.machine.run("journalctl", "--rotate")
    wait_until(
        lambda: (
            svc.machine.run("journalctl", "--vacuum-files=1", "--vacuum-time=1s") is not None
            and list(host.service_log(svc.spec, started.cursor)) == []
        ),
        20,
        "the messages to go",
    )
    log = host.service_log(svc.spec, started.cursor)
    assert b"early" not in b"".join(log)
    assert log.lost == Lost(gap=True)
    assert str(log.lost) == "its beginning rotated away"


def test_a_user_who_may_not_read_it_is_told(
    svc: TestUnit, reach: Reach, open_host: OpenHost
) -> None:
    svc.service("ExecStart=/bin/sleep 600\n")
    host = open_host(reach("beta", user="ops"))
    with pytest.raises(HostError, match="group systemd-journal") as caught:
        host.service_log_end(svc.spec)
    assert caught.value.kind == "denied"
    with pytest.raises(HostError, match="sudo: true") as caught:
        host.service_start(svc.spec)
    assert caught.value.kind == "denied"


def test_a_cursor_of_another_kind_is_refused(host: Host, svc: TestUnit) -> None:
    svc.service("ExecStart=/bin/sleep 600\n")
    for cursor in (17, "1:2:3"):
        with pytest.raises(HostError) as caught:
            list(host.service_log(svc.spec, cursor))
        assert caught.value.kind == "bad-request"
