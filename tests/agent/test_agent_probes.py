"""Probes and the wait for health."""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace

from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Host
from playbooks.hosts.processes import Health, Started
from playbooks.hosts.specs import EmbeddedSpec
from playbooks.system import CommandProbe, HealthCheck, HttpProbe, LogProbe, TcpProbe

PYTHON = (sys.executable, "-I", "-S", "-u", "-c")


class Answers(BaseHTTPRequestHandler):
    """`/ok`, `/busy` (503), `/echo` (the body of a POST), `/moved`."""

    def do_GET(self) -> None:
        self._answer({"/busy": 503, "/moved": 302}.get(self.path, 200), b"error_ratio 0.02\n")

    def do_POST(self) -> None:
        self._answer(200, self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Location", "/ok")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def free_port() -> Iterator[int]:
    """A port that is bound, so that nobody else takes it, and does not listen."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


@pytest.mark.parametrize(
    ("probe", "ok", "words"),
    [
        (HttpProbe("/ok"), True, "status 200"),
        (HttpProbe("/busy"), False, "status 503, expected 200: error_ratio 0.02"),
        (HttpProbe("/busy", expect=503), True, "status 503"),
        (HttpProbe("/moved"), False, "status 302, expected 200"),
        (HttpProbe("/ok", match=r"error_ratio 0\.0\d"), True, "status 200"),
        (HttpProbe("/ok", match="absent"), False, "'absent' not found in: error_ratio 0.02"),
        (HttpProbe("/echo", method="POST", body="ping", match="^ping$"), True, "status 200"),
    ],
)
def test_http(host: Host, url: str, probe: HttpProbe, ok: bool, words: str) -> None:
    result = host.probe(replace(probe, url=url + probe.url))
    assert (result.ok, words in result.detail) == (ok, True), result
    assert abs(result.at - time.time()) < 5


def test_nobody_listens(host: Host, free_port: int) -> None:
    for probe in (HttpProbe(f"http://127.0.0.1:{free_port}/"), TcpProbe(f"127.0.0.1:{free_port}")):
        result = host.probe(probe)
        assert not result.ok
        assert "Connection refused" in result.detail


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://", "http://127.0.0.1:port/"])
def test_an_odd_url_is_an_unhealthy_answer(host: Host, url: str) -> None:
    assert not host.probe(HttpProbe(url)).ok


def test_a_trickle_is_cut_off(host: Host) -> None:
    done = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            peer, _ = server.accept()
            with peer:
                while not done.wait(0.05):
                    try:
                        peer.sendall(b"H")
                    except OSError:
                        return

        thread = threading.Thread(target=trickle)
        thread.start()
        address = f"http://127.0.0.1:{server.getsockname()[1]}/"
        result = host.probe(HttpProbe(address), timeout_s=0.3)
        done.set()
        thread.join()
    assert (result.ok, "no answer within 0.3 s" in result.detail) == (False, True), result


def test_tcp(host: Host) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        assert host.probe(TcpProbe(f"127.0.0.1:{server.getsockname()[1]}")).ok
    assert not host.probe(TcpProbe("nonsense")).ok


@pytest.mark.parametrize(
    ("command", "ok", "words"),
    [
        (("sh", "-c", "echo fine"), True, "exit 0: fine"),
        (("sh", "-c", "echo one; echo two >&2; exit 4"), False, "exit 4: two"),
        (("no-such-program",), False, "no-such-program: No such file"),
        (("sh", "-c", "exec >&- 2>&-; sleep .1"), True, "exit 0"),
        (("sh", "-c", "sleep 600 & echo started"), True, "exit 0: started"),
    ],
)
def test_command(host: Host, command: tuple[str, ...], ok: bool, words: str) -> None:
    result = host.probe(CommandProbe(command))
    assert (result.ok, words in result.detail) == (ok, True), result


def test_a_command_has_its_time(host: Host) -> None:
    result = host.probe(CommandProbe(("yes",)), timeout_s=0.2)
    assert (result.ok, "timed out: y" in result.detail) == (False, True), result


SVC = EmbeddedSpec("svc", (), "/", None, 1 << 20, 4)


class Svc:
    """A service of this test's host, and the wait for its health."""

    def __init__(self, host: Host, place: Path) -> None:
        self._host, self._place = host, place
        self.started: Started

    def start(self, code: str) -> None:
        spec = replace(SVC, command=(*PYTHON, code), cwd=str(self._place))
        self.started = self._host.service_start(spec)

    def health(self, *checks: HealthCheck, stop: threading.Event | None = None) -> Health:
        return self._host.await_health(SVC, checks, self.started, stop=stop)


@pytest.fixture
def svc(host: Host, tmp_path: Path) -> Iterator[Svc]:
    yield Svc(host, tmp_path)
    host.service_stop(SVC, 0.0)


def test_log_probe_sees_only_this_start(host: Host, svc: Svc) -> None:
    svc.start("print('ready')")
    svc_log = LogProbe("^ready$")
    wait_for(lambda: host.probe(svc_log, SVC, svc.started.cursor).ok)
    wait_for(lambda: not host.service_state(SVC).running)
    svc.start("import time; time.sleep(600)")
    assert not host.probe(svc_log, SVC, svc.started.cursor).ok
    assert not host.probe(svc_log, SVC).ok
    with pytest.raises(HostError, match="needs a service"):
        host.probe(svc_log)


def wait_for(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def test_health_comes_with_the_log_line(svc: Svc) -> None:
    svc.start("import time; time.sleep(.2); print('noise'); print('ready'); time.sleep(600)")
    health = svc.health(HealthCheck(LogProbe("ready")))
    assert health.attempts > 1
    assert svc.started.started_at <= health.first_ok_at <= health.healthy_at


def test_no_checks_ask_for_a_living_process(svc: Svc) -> None:
    svc.start("import time; time.sleep(600)")
    assert svc.health().attempts == 1


def test_health_must_settle_without_a_break(svc: Svc, tmp_path: Path) -> None:
    gap = tmp_path / "gap"
    flapping = "n=$(cat gap 2>/dev/null | wc -c); printf x >> gap; test $n != 3"
    svc.start("import time; time.sleep(600)")
    check = HealthCheck(CommandProbe(("sh", "-c", f"cd {tmp_path}; {flapping}")), settle_s=0.3)
    health = svc.health(check)
    assert len(gap.read_bytes()) == health.attempts > 4
    assert health.healthy_at - health.first_ok_at >= 0.29


def test_a_crash_is_told_at_once_with_the_last_lines(svc: Svc) -> None:
    svc.start("import time; print('no memory'); time.sleep(.1); raise SystemExit(9)")
    with pytest.raises(HostError, match="ended before it was healthy: exit code 9") as caught:
        svc.health(HealthCheck(LogProbe("ready"), timeout_s=3600))
    assert caught.value.kind == "crashed"
    assert caught.value.detail == {"exit_code": 9, "exit_signal": None, "log": ["no memory"]}


def test_a_healthy_answer_of_another_process_is_a_crash(svc: Svc) -> None:
    svc.start("import time; time.sleep(600)")
    os.kill(svc.started.pid, signal.SIGKILL)
    with pytest.raises(HostError, match="signal 9"):
        svc.health(HealthCheck(CommandProbe(("true",)), settle_s=1))


def test_time_is_up(host: Host, svc: Svc, free_port: int) -> None:
    svc.start("import time; print('loading'); time.sleep(600)")
    wait_for(lambda: host.probe(LogProbe("loading"), SVC, svc.started.cursor).ok)
    check = HealthCheck(TcpProbe(f"127.0.0.1:{free_port}"), timeout_s=0.3)
    with pytest.raises(HostError, match=r"within 0\.3 s: .*refused") as caught:
        svc.health(check)
    assert (caught.value.kind, caught.value.detail) == ("unhealthy", {"log": ["loading"]})


def test_the_wait_can_be_cancelled(svc: Svc) -> None:
    svc.start("import time; time.sleep(600)")
    stop = threading.Event()
    timer = threading.Timer(0.1, stop.set)
    timer.start()
    with pytest.raises(HostError, match="cancelled") as caught:
        svc.health(HealthCheck(LogProbe("ready")), stop=stop)
    timer.join()
    assert caught.value.kind == "cancelled"
