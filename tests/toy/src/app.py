"""Answers /trial/N: every fifth trial is bad while rule.BUG is set and MODE is not 'safe'.

It speaks no more HTTP than it must: it is started often, and http.server is slow to load.
"""

import os
import signal
import socket
import sys
import threading

import rule


def answer(path: str) -> str:
    if path.startswith("/trial/"):
        number = int(path.rsplit("/", 1)[1])
        bad = rule.BUG and os.environ.get("MODE") != "safe" and number % 5 == 0
        print(f"sent key={number} sum={number:x}", flush=True)
        print(f"got key={number} sum={number + bad:x}", flush=True)
        return "bad" if bad else "good"
    if path == "/env":
        return os.environ.get("MODE", "unset")
    return f"pid {os.getpid()} bug {rule.BUG}"


def handle(connection: socket.socket) -> None:
    with connection:
        asked = b""
        while b"\r\n\r\n" not in asked:
            received = connection.recv(4096)
            if not received:
                return
            asked += received
        body = answer(asked.split()[1].decode()).encode()
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


def serve(port: int) -> None:
    with socket.create_server((os.environ.get("ADDRESS", "127.0.0.1"), port)) as listener:
        while True:
            connection = listener.accept()[0]
            threading.Thread(target=handle, args=(connection,), daemon=True).start()


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready", flush=True)
serve(int(os.environ["PORT"]))
