"""What the services share: settings, the log, HTTP in and out, and an orderly end."""

import contextlib
import http.client
import json
import os
import signal
import socketserver
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, NoReturn
from urllib.parse import urlsplit

Json = dict[str, Any]
Route = Callable[[Json], Json]

CALL_TIMEOUT = 60.0  # seconds that one service waits for another


class RequestError(Exception):
    """A request that gets an HTTP error: its status and one line for the caller."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def give_up(message: str) -> NoReturn:
    """Ends the process with one line that says what to do."""
    sys.exit(f"{sys.argv[0]}: {message}")


def setting(name: str) -> str:
    """The environment variable `name`, which has to be there."""
    if value := os.environ.get(name):
        return value
    give_up(f"{name} is not set: add it to the service's file in env/")


def number(name: str, default: int | None, low: int, high: int) -> int:
    """The environment variable `name` as a whole number from `low` to `high`."""
    text = setting(name) if default is None else os.environ.get(name, str(default))
    if text.isascii() and text.isdigit() and low <= int(text) <= high:
        return int(text)
    give_up(f"{name} is {text!r}: expected a whole number from {low} to {high}")


def switched_on(name: str, default: str = "0") -> bool:
    """Whether the environment variable `name` is anything but 0."""
    return os.environ.get(name, default) != "0"


def log(line: str) -> None:
    """Writes one line to the log; a log that is gone must not stop the service."""
    with contextlib.suppress(OSError):
        os.write(1, f"{line}\n".encode())


class Call:
    """A POST that is on its way: `result` waits for the answer, `close` gives it up.

    Raises RequestError with the other side's status and message, or 502 when it does not answer.
    """

    def __init__(self, url: str, path: str, body: Json) -> None:
        self._where = f"{url}{path}"
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=CALL_TIMEOUT)
        try:
            self._connection.request("POST", path, json.dumps(body))
        except OSError as error:
            self.close()
            raise RequestError(502, f"no answer from {self._where}: {error}") from error

    def result(self) -> Json:
        """The answer's JSON object."""
        try:
            response = self._connection.getresponse()
            answer: Json = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise RequestError(502, f"no answer from {self._where}: {error!r}") from error
        if response.status != 200:
            raise RequestError(response.status, answer["error"]["message"])
        return answer

    def close(self) -> None:
        self._connection.close()


def post(url: str, path: str, body: Json) -> Json:
    """The JSON object that `url` answers to a POST of `body`."""
    with contextlib.closing(Call(url, path, body)) as call:
        return call.result()


class Handler(BaseHTTPRequestHandler):
    """Hands JSON objects to the server's routes: GET /health, and a POST for each other path."""

    server: "Server"
    wbufsize = -1  # head and body leave in one segment

    def do_GET(self) -> None:
        self._answer({"/health": self.server.health}, lambda: {})

    def do_POST(self) -> None:
        self._answer(self.server.routes, self._body)

    def _answer(self, routes: Mapping[str, Route], body: Callable[[], Json]) -> None:
        try:
            if self.path not in routes:
                raise RequestError(404, f"no such path: {self.command} {self.path}")
            self._send(200, routes[self.path](body()))
        except RequestError as refusal:
            self._send(refusal.status, {"error": {"message": str(refusal)}})

    def _body(self) -> Json:
        size = self.headers.get("Content-Length", "")
        if not size.isdigit():
            raise RequestError(411, "send a Content-Length")
        try:
            body = json.loads(self.rfile.read(int(size)))
        except ValueError as error:
            raise RequestError(400, f"the body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise RequestError(400, "the body is not a JSON object")
        return body

    def _send(self, status: int, answer: Json) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:
        """Each service logs its own lines."""


class Server(socketserver.ThreadingTCPServer):
    """An HTTP server on the loopback interface with a thread for each connection."""

    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, port: int, routes: Mapping[str, Route], health: Route) -> None:
        self.routes = routes
        self.health = health
        super().__init__(("127.0.0.1", port), Handler)

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002
        """A caller that went away, or a fault of ours, is one line."""
        log(f"error {client_address}: {sys.exc_info()[1]!r}")


def healthy(_: Json) -> Json:
    """The health of a service that needs no one else."""
    return {"status": "ok"}


def serve(name: str, routes: Mapping[str, Route], health: Route = healthy) -> None:
    """Serves on DEMO_PORT until SIGTERM or SIGINT, then frees the port."""
    port = number("DEMO_PORT", None, 1, 65535)
    stop = threading.Event()
    for ending in (signal.SIGTERM, signal.SIGINT):
        signal.signal(ending, lambda *_: stop.set())
    try:
        server = Server(port, routes, health)
    except OSError as error:
        give_up(f"cannot listen on port {port}: {error.strerror}; free it or change DEMO_PORT")
    with server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        log(f"{name} listens on {port}")
        stop.wait()
    log(f"{name} stopped")
