"""Answers /trial/N: every fifth trial is bad while rule.BUG is set and MODE is not 'safe'."""

import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import rule


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        answer = self.answer().encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def answer(self) -> str:
        if self.path.startswith("/trial/"):
            number = int(self.path.rsplit("/", 1)[1])
            bad = rule.BUG and os.environ.get("MODE") != "safe" and number % 5 == 0
            print(f"sent key={number} sum={number:x}", flush=True)
            print(f"got key={number} sum={number + bad:x}", flush=True)
            return "bad" if bad else "good"
        if self.path == "/env":
            return os.environ.get("MODE", "unset")
        return f"pid {os.getpid()} bug {rule.BUG}"

    def log_message(self, *_: object) -> None:
        pass


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready", flush=True)
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Handler).serve_forever()
