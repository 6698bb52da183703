"""The socket between prefill and decode: small messages, one JSON object a line."""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from service import Json


@dataclass(frozen=True)
class Hello:
    """Decode's first message: where its pool is."""

    pool: str
    slot_bytes: int


@dataclass(frozen=True)
class Ready:
    """Prefill's word that the index-K buffer of `room` is in `slot`: `rows` of `width` bytes."""

    room: str
    slot: int
    rows: int
    width: int


@dataclass(frozen=True)
class Done:
    """Decode's word that it is done with a slot."""

    slot: int


class Channel:
    """One end of the connection. Several threads may send; one receives."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = connection
        self._lock = threading.Lock()

    def send(self, message: Hello | Ready | Done) -> None:
        """Sends a message. Raises OSError when the other end is gone."""
        line = json.dumps(asdict(message)) + "\n"
        with self._lock:
            self._connection.sendall(line.encode())

    def received(self) -> Iterator[Json]:
        """The other end's messages, until it closes."""
        with self._connection.makefile("rb") as lines:
            for line in lines:
                yield json.loads(line)
