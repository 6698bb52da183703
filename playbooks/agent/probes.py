"""One look at a system's health: over HTTP, by a connection, by a command, in a service's log."""

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from typing import Any, Callable, Dict, FrozenSet, Iterator, NamedTuple, Optional, Tuple

from playbooks.agent import clock, services
from playbooks.agent.logs import compile_pattern
from playbooks.agent.managed import Follow
from playbooks.agent.session import Handler, Session, VerbError

LIMIT_S = 5.0
"""Seconds that one probe may take where nothing else is said."""
_BODY_LIMIT = 1 << 20
_TAIL = 1 << 12
_LINE_LIMIT = 1 << 20

Reply = Tuple[Dict[str, Any], bytes]


class Result(NamedTuple):
    """What a probe found, in words, and when (seconds since the epoch)."""

    ok: bool
    detail: str
    at: float


def load_ahead() -> None:
    """Loads what HTTP takes, so that no service is down for as long as that lasts."""
    import http.client  # noqa: F401


Look = Callable[[], Tuple[bool, str]]


class Prober:
    """Makes a probe within `limit_s` each time it is called; close it at the end.

    A log probe looks on in `log` where it stopped, and stays satisfied. Errors: "bad-request".
    """

    def __init__(
        self, probe: Dict[str, Any], log: Callable[[], Follow], limit_s: float = LIMIT_S
    ) -> None:
        self._watch: Optional[_LogWatch] = None
        if probe["kind"] == "log":
            self._watch = _LogWatch(log(), probe["match"])
        self._look = self._watch.look if self._watch else _look(probe, limit_s)

    def __call__(self) -> Result:
        ok, detail = self._look()
        return Result(ok, detail, clock.now())

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()


def _look(probe: Dict[str, Any], limit_s: float) -> Look:
    kind = probe["kind"]
    if kind == "http":
        return lambda: _http(probe, limit_s)
    if kind == "tcp":
        return lambda: _tcp(probe["address"], limit_s)
    if kind == "command":
        return lambda: _command(probe["command"], limit_s)
    raise VerbError("bad-request", f"this agent makes no {kind} probes")


def _tcp(address: str, limit_s: float) -> Tuple[bool, str]:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=limit_s).close()
    except (OSError, ValueError) as error:
        return False, f"{address}: {_reason(error, limit_s)}"
    return True, f"{address} accepts connections"


def _reason(error: Exception, limit_s: float) -> str:
    if isinstance(error, socket.timeout):
        return f"no answer within {limit_s:g} s"
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _http(probe: Dict[str, Any], limit_s: float) -> Tuple[bool, str]:
    """Ask once, follow no redirect, use no proxy."""
    import http.client

    request = f"{probe['method']} {probe['url']}"
    try:
        status, body = _exchange(probe, limit_s)
    except (OSError, ValueError, http.client.HTTPException) as error:
        return False, f"{request}: {_reason(error, limit_s)}"
    if status != probe["expect"]:
        return False, f"{request}: status {status}, expected {probe['expect']}: {_short(body)}"
    if probe.get("match") and not compile_pattern(probe["match"]).search(body):
        return False, f"{request}: {probe['match']!r} not found in: {_short(body)}"
    return True, f"{request}: status {status}"


def _exchange(probe: Dict[str, Any], limit_s: float) -> Tuple[int, bytes]:
    """One request and the first mebibyte of its answer, all within the limit."""
    import http.client
    from urllib.parse import urlsplit

    url = urlsplit(probe["url"])
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    if url.scheme not in kinds or not url.hostname:
        raise ValueError("no http or https URL")
    connection = kinds[url.scheme](url.hostname, url.port, timeout=limit_s)
    with _limited(connection, limit_s):
        target = (url.path or "/") + (f"?{url.query}" if url.query else "")
        body = probe.get("body")
        connection.request(probe["method"], target, body.encode() if body is not None else None)
        with connection.getresponse() as response:
            return response.status, response.read(_BODY_LIMIT)


@contextlib.contextmanager
def _limited(connection: Any, limit_s: float) -> Iterator[None]:
    """Close the connection at the end, and cut it at the limit: a trickle has no timeout."""
    late = threading.Event()

    def cut() -> None:
        late.set()
        with contextlib.suppress(OSError, AttributeError):  # not connected (any more)
            connection.sock.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(limit_s, cut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        connection.close()
        if late.is_set():
            raise socket.timeout


def _short(body: bytes) -> str:
    text = " ".join(body[:400].decode("utf-8", "replace").split())
    return text[:200] or "(no body)"


def _command(argv: Any, limit_s: float) -> Tuple[bool, str]:
    """Run a command in `/`; it is satisfied by exit status 0 within the limit."""
    try:
        child = subprocess.Popen(
            argv,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return False, f"{argv[0]}: {_reason(error, limit_s)}"
    with child:
        said = _last_output(child, limit_s)
        in_time = _has_ended(child.pid)
        _kill_group(child.pid)
    words = f"{' '.join(argv)}: " + (f"exit {child.returncode}" if in_time else "timed out")
    return in_time and child.returncode == 0, f"{words}: {said}" if said else words


def _last_output(child: "subprocess.Popen[bytes]", limit_s: float) -> str:
    """The last line a command printed until its end or the limit; memory stays small."""
    assert child.stdout is not None
    fd, tail = child.stdout.fileno(), b""
    os.set_blocking(fd, False)
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        ended = _has_ended(child.pid)  # asked first: what it printed is in the pipe by then
        data = _read_now(fd)
        tail = (tail + data)[-_TAIL:]
        if ended and not data:
            break
        if not data:
            time.sleep(0.01)
    lines = tail.decode("utf-8", "replace").split("\n")
    return next((line.strip()[-200:] for line in reversed(lines) if line.strip()), "")


def _read_now(fd: int) -> bytes:
    try:
        return os.read(fd, 1 << 16)
    except BlockingIOError:
        return b""


def _has_ended(pid: int) -> bool:
    """Whether our child has ended; it stays a zombie, so that its pid and group stay its own."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)


class _LogWatch:
    """Looks for a pattern in what a service logs; a line still being written counts too."""

    def __init__(self, log: Follow, pattern: str) -> None:
        self._log, self._words = log, pattern
        self._pattern = compile_pattern(pattern)
        self._rest, self._found = b"", ""

    def look(self) -> Tuple[bool, str]:
        """Whether a line had it."""
        while not self._found:
            data = self._log.read()
            if not data:
                break
            text = self._rest + data
            self._found = self._first_match(text)
            self._rest = text[text.rfind(b"\n") + 1 :][-_LINE_LIMIT:]
        return bool(self._found), self._found or f"no line in the log matches {self._words!r} yet"

    def close(self) -> None:
        self._log.close()

    def _first_match(self, data: bytes) -> str:
        for line in data.splitlines():
            if self._pattern.search(line):
                return f"logged: {_short(line)}"
        return ""


def probe(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Make one probe within `timeout_s`; `spec` and `cursor` are for one that reads a log."""

    def log() -> Follow:
        if not request.get("spec"):
            raise VerbError("bad-request", "a log probe cannot be made here: it needs a service")
        service = services.find(session.state_dir, request["spec"])
        cursor = service.last_start() if request["cursor"] is None else request["cursor"]
        return service.follow(service.log_end() if cursor is None else cursor)

    once = Prober(request["probe"], log, request["timeout_s"])
    with contextlib.closing(once):
        return once()._asdict(), b""


VERBS: Dict[str, Handler] = {"probe": probe}
SLOW_VERBS: FrozenSet[str] = frozenset({"probe"})
