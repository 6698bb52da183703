"""The prefill service: reads a room's prompt, and hands its index-K buffer to decode."""

import contextlib
import socket
import threading
from functools import partial

import index
import prompt
from channel import Channel, Done, Hello, Ready
from pool import Pool, Slots
from service import Json, RequestError, log, serve
from transfer import Transfer

BANDWIDTH = 1_100_000.0  # bytes a second


class Decode:
    """The decode service as prefill sees it: its pool, and the channel to it."""

    def __init__(self, connection: socket.socket) -> None:
        self._channel = Channel(connection)
        self._messages = self._channel.received()
        hello = Hello(**next(self._messages))
        self.pool = Pool(hello.pool, hello.slot_bytes)
        self.slots = Slots()

    def announce(self, ready: Ready) -> None:
        """Tells decode that it may start on a room; a decode that is gone needs no telling."""
        with contextlib.suppress(OSError):
            self._channel.send(ready)

    def listen(self) -> None:
        """Takes back the slots that decode is done with, until it goes away."""
        with contextlib.suppress(OSError):
            for message in self._messages:
                self.slots.release(Done(**message).slot)


class Prefill:
    def __init__(self) -> None:
        self._width = index.width_setting()
        self._transfer = Transfer(BANDWIDTH)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._decode: Decode | None = None
        threading.Thread(target=self._accept, daemon=True).start()

    def bootstrap(self, _: Json) -> Json:
        """Where decode finds the channel."""
        return {"port": self._listener.getsockname()[1]}

    def prefill(self, body: Json) -> Json:
        """Computes the room's index-K buffer and sets it on its way to decode."""
        decode = self._decode
        if decode is None:
            raise RequestError(503, "decode is not connected: start it, or restart it with prefill")
        room, tokens = str(body.get("room")), prompt.render(body).tokens
        buffer = index.build(tokens, self._width)
        slot = decode.slots.take()
        log(f"prefill room={room} tokens={len(tokens)} bytes={len(buffer)}")
        target = decode.pool.view(slot, len(buffer))
        self._transfer.submit(target, buffer, partial(decode.slots.release, slot))
        decode.announce(Ready(room, slot, len(tokens), self._width))
        return {"room": room}

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            with connection:
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            self._decode = Decode(connection)
        except (OSError, StopIteration, TypeError, ValueError) as error:
            log(f"this is not decode, or its pool cannot be opened: {error!r}")
            return
        log("decode connected")
        self._decode.listen()
        self._decode = None


if __name__ == "__main__":
    engine = Prefill()
    serve("prefill", {"/prefill": engine.prefill, "/bootstrap": engine.bootstrap})
