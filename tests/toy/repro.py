"""Asks for trials 1..N and prints one JSON line each."""

import _socket as socket  # without all that Python's own module loads: it is started often
import json
import os
import sys
import time

ADDRESS = os.environ.get("ADDRESS", "127.0.0.1")


def ask(port: int, path: str) -> str:
    connection = socket.socket()
    connection.settimeout(5)
    connection.connect((ADDRESS, port))
    connection.send(f"GET {path} HTTP/1.0\r\n\r\n".encode())
    answer = b"".join(iter(lambda: connection.recv(4096), b""))
    connection.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head:
        raise ConnectionError(f"no answer to {path}")
    return body.decode()


port, count = int(sys.argv[1]), int(sys.argv[2])
for number in range(1, count + 1):
    outcome = ask(port, f"/trial/{number}")
    print(json.dumps({"outcome": outcome, "key": number}), flush=True)
    if count > 1000:
        time.sleep(0.01)
