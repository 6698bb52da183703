"""The decode service: waits for a room's index-K buffer and writes the answer."""

import contextlib
import socket
import threading
import time
from collections import defaultdict
from concurrent.futures import Future
from urllib.parse import urlsplit

import index
import prompt
from channel import Channel, Done, Hello, Ready
from detokenizer import Detokenizer
from generation import Batch, Generation
from pool import Pool
from service import Json, RequestError, log, post, serve, setting

READY_TIMEOUT = 30.0  # seconds that a room waits for prefill
RETRY = 0.05  # seconds between two attempts to reach prefill


class Rooms:
    """Where prefill's word and the request of the same room meet, whichever comes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: defaultdict[str, Future[Ready]] = defaultdict(Future)

    def arrived(self, ready: Ready) -> None:
        self._of(ready.room).set_result(ready)

    def wait(self, room: str) -> Ready:
        """Prefill's word for `room`. Raises RequestError when it does not come."""
        try:
            return self._of(room).result(READY_TIMEOUT)
        except TimeoutError:
            raise RequestError(504, f"prefill did not announce room {room}") from None
        finally:
            with self._lock:
                del self._waiting[room]

    def _of(self, room: str) -> "Future[Ready]":
        with self._lock:
            return self._waiting[room]


class Decode:
    def __init__(self) -> None:
        self._width = index.width_setting()
        self._prefill = setting("PREFILL_URL")
        self._pool = Pool.create(prompt.MAX_TOKENS * self._width)
        self._rooms = Rooms()
        self._batch = Batch()
        self._detokenizer = Detokenizer()
        self._channel: Channel | None = None
        self._trouble = "not connected to prefill yet"
        threading.Thread(target=self._follow, daemon=True).start()

    def health(self, _: Json) -> Json:
        self._linked()
        self._detokenizer.check()
        return {"status": "ok"}

    def decode(self, body: Json) -> Json:
        """Answers a room's request: {"content": ..., "tool_calls": [...], "tokens": n}."""
        asked, room = prompt.render(body), str(body.get("room"))
        channel = self._linked()
        ready = self._rooms.wait(room)
        try:
            tokens = self._generate(asked, ready)
        finally:
            with contextlib.suppress(OSError):
                channel.send(Done(ready.slot))
        log(f"decode room={room} tokens={len(tokens)}")
        return {**self._detokenizer.parse(tokens), "tokens": len(tokens)}

    def _generate(self, asked: prompt.Prompt, ready: Ready) -> list[str]:
        if ready.width != self._width:
            raise RequestError(500, "DEMO_INDEX_WIDTH differs: set it alike for both")
        generation = Generation(asked, ready, self._pool)
        self._batch.run(generation)
        return generation.tokens

    def _linked(self) -> Channel:
        if self._channel is None:
            raise RequestError(503, self._trouble)
        return self._channel

    def _follow(self) -> None:
        """Connects to prefill once; its port is not asked for again."""
        self._channel = channel = self._connect()
        log("connected to prefill")
        with contextlib.suppress(OSError):
            for message in channel.received():
                self._rooms.arrived(Ready(**message))
        self._channel, self._trouble = None, "prefill went away: restart decode with it"

    def _connect(self) -> Channel:
        while True:
            with contextlib.suppress(RequestError, OSError):
                port = post(self._prefill, "/bootstrap", {})["port"]
                address = (urlsplit(self._prefill).hostname, port)
                channel = Channel(socket.create_connection(address))
                channel.send(Hello(self._pool.path, self._pool.slot_bytes))
                return channel
            time.sleep(RETRY)


if __name__ == "__main__":
    engine = Decode()
    serve("decode", {"/decode": engine.decode}, engine.health)
