"""Services: kept by their keeper, found again, ended as a whole."""

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict, replace

from playbooks.agent import clock, embedded, procfs, services
from playbooks.agent.session import Session, VerbError
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.local import LocalChannel
from playbooks.hosts.processes import Started
from playbooks.hosts.specs import EmbeddedSpec, spec_of
from playbooks.system import CommandProbe, EnvMethod, ProcessSpec, Service

PYTHON = (sys.executable, "-I", "-S", "-u", "-c")
SVC = EmbeddedSpec("svc", (), "/", None, 1 << 20, 4)
WAITS = "import time; print('ready'); time.sleep(600)"


def spec(tmp_path: Path, code: str, **changes: object) -> EmbeddedSpec:
    whole = EmbeddedSpec("svc", (*PYTHON, code), str(tmp_path), None, 1 << 20, 4)
    return replace(whole, **changes)  # type: ignore[arg-type]


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def log_of(host: Host, cursor: int = 0) -> bytes:
    return b"".join(host.service_log(SVC, cursor))


@pytest.fixture
def start(host: Host) -> Iterator[Callable[[EmbeddedSpec], Started]]:
    """Start services that are ended with the test."""
    names = []

    def one(wanted: EmbeddedSpec) -> Started:
        names.append(wanted.name)
        return host.service_start(wanted)

    yield one
    for name in names:
        host.service_stop(replace(SVC, name=name), 0.0)


Start = Callable[[EmbeddedSpec], Started]


def test_start_state_stop(host: Host, tmp_path: Path, start: Start) -> None:
    before = time.time()
    started = start(spec(tmp_path, WAITS))
    wait_for(lambda: log_of(host, started.cursor) == b"ready\n")
    state = host.service_state(SVC)
    assert (state.running, state.pid, state.start_ticks) == (
        True,
        started.pid,
        started.start_ticks,
    )
    assert [one.pid for one in state.processes] == [started.pid]
    assert abs(state.processes[0].started_at - before) < 5
    assert abs(state.processes[0].started_boot - clock.boot_clock()) < 5
    assert os.getpgid(started.pid) == started.pid
    stopped = host.service_stop(SVC, 60)
    assert (stopped.was_running, stopped.killed) == (True, False)
    assert stopped.requested_at <= stopped.gone_at
    after = host.service_state(SVC)
    assert (after.running, after.exit_signal, after.processes) == (False, signal.SIGTERM, ())


def test_stop_of_what_does_not_run(host: Host) -> None:
    stopped = host.service_stop(SVC, 1)
    assert (stopped.was_running, stopped.killed) == (False, False)
    assert host.service_state(SVC).pid is None


def test_a_second_start_is_refused(tmp_path: Path, start: Start) -> None:
    start(spec(tmp_path, WAITS))
    with pytest.raises(HostError, match="stop it first") as caught:
        start(spec(tmp_path, WAITS))
    assert caught.value.kind == "running"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": ("/no/such/program",)}, "cannot run /no/such/program: No such file"),
        ({"command": ("no-such-program",)}, "no such program in PATH"),
        ({"cwd": "/no/such/place"}, "working directory /no/such/place is not there"),
        ({"env_file": "/tmp"}, "environment file /tmp: Is a directory"),
    ],
)
def test_what_cannot_start_says_so_at_once(
    host: Host, tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    with pytest.raises(HostError, match=words) as caught:
        host.service_start(spec(tmp_path, WAITS, **changes))
    assert caught.value.kind == "start-failed"
    assert not host.service_state(SVC).running


def test_environment_is_small_and_the_file_is_read_at_each_start(
    host: Host, tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CAMPAIGN_TEST_LEAK", "1")
    env_file = tmp_path / "svc.env"
    wanted = spec(tmp_path, "import os; print(sorted(os.environ.items()))", env_file=str(env_file))
    for value in ("one", "two"):
        env_file.write_text(f"MODE={value}\n")
        started = start(wanted)
        wait_for(lambda cursor=started.cursor: b"\n" in log_of(host, cursor))
        said = log_of(host, started.cursor)
        assert f"('MODE', '{value}')".encode() in said
        assert b"CAMPAIGN_TEST_LEAK" not in said
        assert b"PATH" in said
        host.service_stop(SVC, 5)


def test_kill_after_the_timeout(host: Host, tmp_path: Path, start: Start) -> None:
    code = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}"
    started = start(spec(tmp_path, code))
    wait_for(lambda: log_of(host, started.cursor))
    assert host.service_stop(SVC, 0.1).killed
    assert host.service_state(SVC).exit_signal == signal.SIGKILL


LEAVES = """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    print("daemon", os.getpid())
    time.sleep(600)
print("main")
time.sleep(600)
"""


def test_a_child_that_left_the_group_is_ended_too(host: Host, tmp_path: Path, start: Start) -> None:
    started = start(spec(tmp_path, LEAVES))
    wait_for(lambda: log_of(host, started.cursor).count(b"\n") == 2)
    wait_for(lambda: len(host.service_state(SVC).processes) == 2)
    assert not host.service_stop(SVC, 60).killed
    assert host.service_state(SVC).processes == ()


def test_strays_after_the_main_process_are_seen_and_ended(
    host: Host, tmp_path: Path, start: Start
) -> None:
    started = start(spec(tmp_path, LEAVES))
    wait_for(lambda: log_of(host, started.cursor).count(b"\n") == 2)
    os.kill(started.pid, signal.SIGKILL)
    wait_for(lambda: not host.service_state(SVC).running)
    wait_for(lambda: len(host.service_state(SVC).processes) == 1)
    with pytest.raises(HostError, match="stop it first"):
        start(spec(tmp_path, WAITS))
    assert host.service_stop(SVC, 60).was_running


def test_exit_code_is_kept(host: Host, tmp_path: Path, start: Start) -> None:
    start(spec(tmp_path, "raise SystemExit(7)"))
    wait_for(lambda: host.service_state(SVC).exit_code == 7)
    assert host.service_state(SVC).ended_at is not None


def test_log_rotates_and_lost_bytes_are_counted(host: Host, tmp_path: Path, start: Start) -> None:
    code = "for n in range(2000): print(f'line {n:05}')"
    started = start(spec(tmp_path, code, log_max_bytes=4000, log_keep=2))
    wait_for(lambda: host.service_log_end(SVC) == started.cursor + 22_000)
    stream = host.service_log(SVC, started.cursor)
    data = b"".join(stream)
    assert 4000 <= len(data) <= 8000
    assert stream.lost.bytes == 22_000 - len(data)
    assert stream.next_cursor == 22_000
    assert data.endswith(b"line 01999\n")


def test_the_cursor_grows_over_restarts(host: Host, tmp_path: Path, start: Start) -> None:
    first = start(spec(tmp_path, "print('first')"))
    wait_for(lambda: not host.service_state(SVC).running)
    wait_for(lambda: log_of(host) == b"first\n")
    second = start(spec(tmp_path, "print('second')"))
    wait_for(lambda: log_of(host) == b"first\nsecond\n")
    assert (first.cursor, second.cursor) == (0, 6)
    assert log_of(host, second.cursor) == b"second\n"


def test_log_is_picked_and_cut_on_the_host(host: Host, tmp_path: Path, start: Start) -> None:
    start(spec(tmp_path, "for n in range(1000): print('even' if n % 2 == 0 else 'odd', n)"))
    wait_for(lambda: log_of(host).endswith(b"odd 999\n"))
    picked = b"".join(host.service_log(SVC, 0, grep=r"^even \d\d$"))
    assert picked.splitlines() == [b"even %d" % n for n in range(10, 100, 2)]
    cut = host.service_log(SVC, 0, max_bytes=20)
    assert b"".join(cut) == b"even 0\nodd 1\neven 2\n"[:20].rpartition(b"\n")[0] + b"\n"
    assert cut.truncated
    with pytest.raises(HostError, match="no regular expression"):
        list(host.service_log(SVC, 0, grep="("))


def test_a_cursor_beyond_the_log_is_an_error(host: Host) -> None:
    with pytest.raises(HostError, match="was deleted") as caught:
        list(host.service_log(SVC, 5))
    assert caught.value.kind == "log-reset"


def test_a_name_that_leaves_the_folder_is_refused(host: Host) -> None:
    with pytest.raises(HostError, match="cannot be the name"):
        host.service_state(replace(SVC, name="../svc"))


def test_a_specification_of_the_system_file() -> None:
    process = ProcessSpec(("run",), "/srv", 10, 2)
    service = Service("svc", "here", process, EnvMethod("env_file", "/srv/env"))
    assert spec_of(service) == EmbeddedSpec("svc", ("run",), "/srv", "/srv/env", 10, 2)


def oldest_python() -> str | None:
    """A Python 3.8 on the path or of a pyenv, where there is one."""
    on_path = (Path(folder) / "python3.8" for folder in os.get_exec_path())
    real = [one for one in on_path if one.exists() and "shims" not in one.parts]
    real += sorted(Path.home().glob(".pyenv/versions/3.8.*/bin/python3.8"))
    return str(real[0]) if real else None


@pytest.fixture(params=["this one", "3.8"])
def python(request: pytest.FixtureRequest) -> str:
    """The interpreters an agent must run under."""
    found = sys.executable if request.param == "this one" else oldest_python()
    if found is None:
        pytest.skip("no python3.8 on this machine")
    return found


def test_a_service_outlives_its_agent_and_is_found_again(tmp_path: Path, python: str) -> None:
    def visit() -> Host:
        channel = LocalChannel(tmp_path / "state", python=python)
        return Host.open(channel, lock=False, who="test", run="run")

    with visit() as host:
        first = host.service_start(spec(tmp_path, WAITS))
        sink: list[bytes] = []
        done = host.spawn(
            ["echo", "hello"], cwd="/", timeout_s=30, sink=lambda _, data: sink.append(data)
        )
        assert (done.code, b"".join(sink)) == (0, b"hello\n")
        assert host.probe(CommandProbe(("true",))).ok
        assert host.listening([1]) == {}
    with visit() as host:
        state = host.service_state(SVC)
        assert (state.running, state.pid) == (True, first.pid)
        assert host.environ([first.pid], ["PATH"], b"key")[0].readable
        wait_for(lambda: log_of(host) == b"ready\n")
        assert host.service_stop(SVC, 60).was_running


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    """A visit without a pipe, for what an operator does not see."""
    visit = Session(str(tmp_path / "state"), lambda _: None)
    yield visit
    services.stop(visit, {"spec": asdict(SVC), "timeout_s": 0.0}, b"")


def started(session: Session, wanted: EmbeddedSpec) -> procfs.Identity:
    facts, _ = services.start(session, {"spec": asdict(wanted)}, b"")
    return procfs.Identity(facts["pid"], facts["start_ticks"])


def log_text(session: Session) -> bytes:
    return services.log(session, {"spec": asdict(SVC), "cursor": 0}, b"")[1]


def test_a_keeper_is_deaf_to_signals_meant_for_operators(session: Session, tmp_path: Path) -> None:
    main = started(session, spec(tmp_path, WAITS))
    service = embedded.Embedded(session.state_dir, asdict(SVC))
    record = service.record()
    assert record is not None
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(record.keeper.pid, number)
    os.kill(main.pid, signal.SIGTERM)
    wait_for(lambda: (last := service.record()) and last.over)
    last = service.record()
    assert last is not None
    assert last.exit_signal == signal.SIGTERM


def test_a_killed_keeper_leaves_a_service_that_can_be_stopped(
    session: Session, tmp_path: Path
) -> None:
    main = started(session, spec(tmp_path, LEAVES))
    wait_for(lambda: log_text(session).count(b"\n") == 2)
    record = embedded.Embedded(session.state_dir, asdict(SVC)).record()
    assert record is not None
    os.kill(record.keeper.pid, signal.SIGKILL)
    wait_for(lambda: not procfs.is_running(record.keeper))
    assert procfs.is_running(main)

    def state() -> dict[str, Any]:
        return services.state(session, {"spec": asdict(SVC)}, b"")[0]

    wait_for(lambda: len(state()["processes"]) == 2)
    assert state()["running"]
    with pytest.raises(VerbError, match="stop it first"):
        started(session, spec(tmp_path, WAITS))
    facts, _ = services.stop(session, {"spec": asdict(SVC), "timeout_s": 10.0}, b"")
    assert facts["was_running"]
    assert embedded.Embedded(session.state_dir, asdict(SVC)).processes() == []
    assert procfs.is_running(started(session, spec(tmp_path, WAITS)))


def test_a_service_outlives_the_death_of_its_keeper_while_it_prints(
    session: Session, tmp_path: Path
) -> None:
    counts = "import time\nfor n in range(10**6):\n print(n)\n time.sleep(.001)"
    main = started(session, spec(tmp_path, counts))
    record = embedded.Embedded(session.state_dir, asdict(SVC)).record()
    assert record is not None
    os.kill(record.keeper.pid, signal.SIGKILL)
    wait_for(lambda: not procfs.is_running(record.keeper))
    pipe = os.open(Path(session.state_dir) / "services/svc/output", os.O_RDONLY)
    try:
        assert os.read(pipe, 100)
    finally:
        os.close(pipe)
    assert procfs.is_running(main)


def test_a_recycled_pid_is_not_touched(session: Session, tmp_path: Path) -> None:
    started(session, spec(tmp_path, "pass"))
    service = embedded.Embedded(session.state_dir, asdict(SVC))
    wait_for(lambda: (record := service.record()) and record.over)
    record = service.record()
    assert record is not None
    own = procfs.identify(os.getpid())
    assert own is not None
    recycled = own._replace(start_ticks=own.start_ticks - 1)
    service.folder.save(record._replace(keeper=recycled, main=recycled, over=False))
    facts, _ = services.stop(session, {"spec": asdict(SVC), "timeout_s": 0.0}, b"")
    assert not facts["was_running"]
    assert not services.state(session, {"spec": asdict(SVC)}, b"")[0]["running"]


def test_a_record_of_another_boot_is_history(session: Session, tmp_path: Path) -> None:
    started(session, spec(tmp_path, WAITS))
    service = embedded.Embedded(session.state_dir, asdict(SVC))
    record = service.record()
    assert record is not None
    service.folder.save(record._replace(boot_id="another"))
    assert service.processes() == []
    service.folder.save(record)
    assert service.processes()


def test_a_damaged_record_says_what_to_do(session: Session) -> None:
    service = embedded.Embedded(session.state_dir, asdict(SVC))
    Path(service.folder.path).mkdir(parents=True)
    record = Path(service.folder.record)
    for text in ("{", "[]", json.dumps({"keeper": [1, 2]})):
        record.write_text(text)
        with pytest.raises(VerbError, match="then delete the file"):
            service.record()
    record.unlink()
