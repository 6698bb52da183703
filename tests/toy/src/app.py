"""Answers /trial/N: every fifth trial is bad while rule.BUG is set and MODE is not 'safe'.

It speaks no more HTTP than it must, and loads no more than it needs for that: it is started often.
"""

import _signal as signal
import _socket as socket
import _thread
import os
import sys

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
    asked = received = connection.recv(4096)
    while received and b"\r\n\r\n" not in asked:
        received = connection.recv(4096)
        asked += received
    if received:
        body = answer(asked.split()[1].decode()).encode()
        head = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        connection.send(head + body)
    connection.close()


def serve(port: int) -> None:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((os.environ.get("ADDRESS", "127.0.0.1"), port))
    listener.listen()
    while True:
        descriptor, _ = listener._accept()
        _thread.start_new_thread(handle, (socket.socket(fileno=descriptor),))


signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("ready", flush=True)
serve(int(os.environ["PORT"]))
