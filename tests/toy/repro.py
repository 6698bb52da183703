"""Asks for trials 1..N and prints one JSON line each."""

import json
import os
import socket
import sys
import time

ADDRESS = os.environ.get("ADDRESS", "127.0.0.1")


def ask(port: int, path: str) -> str:
    with socket.create_connection((ADDRESS, port), timeout=5) as connection:
        connection.sendall(f"GET {path} HTTP/1.0\r\n\r\n".encode())
        head, _, body = connection.makefile("rb").read().partition(b"\r\n\r\n")
    if not head:
        raise ConnectionError(f"no answer to {path}")
    return body.decode()


port, count = int(sys.argv[1]), int(sys.argv[2])
for number in range(1, count + 1):
    outcome = ask(port, f"/trial/{number}")
    print(json.dumps({"outcome": outcome, "key": number}), flush=True)
    if count > 1000:
        time.sleep(0.01)
