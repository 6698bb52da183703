"""The operator's end of the pipe: calls that wait for their answer, and streams of events."""

import contextlib
import itertools
import queue
import threading
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Protocol, Self

from playbooks.agent.framing import Frame, FrameError, read_frame, write_frame

ACKNOWLEDGE_EVERY = 16
"""Events taken between two acknowledgements: well below the window of the agent's session."""


class Channel(Protocol):
    """A way to an agent: bytes in, bytes out."""

    def read(self, size: int) -> bytes:
        """1 to `size` bytes, and none at the end."""

    def write(self, data: bytes) -> None:
        """Sends all of `data`. Raises OSError."""

    def close(self) -> None:
        """Lets the agent go: it sees the end of its input and ends. May be called twice."""

    def abandon(self) -> None:
        """Ends an agent that has not answered yet, without waiting for it; from any thread."""

    def last_words(self) -> str:
        """The last lines the agent wrote on its standard error."""


class HostError(Exception):
    """The agent could not do what it was asked: `kind` is stable, `detail` holds the facts."""

    def __init__(self, kind: str, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.detail = detail


class HostLost(Exception):  # noqa: N818 - an event, not a refusal
    """The pipe to the agent ended; `last_words` is what it said last on its standard error.

    `host` is the name of its host, as far as it is known.
    """

    def __init__(self, reason: str, last_words: str = "", host: str = "") -> None:
        self.reason = f"{reason}; its last words: {last_words}" if last_words else reason
        super().__init__(f"lost the agent{f' of host {host}' if host else ''}: {self.reason}")
        self.last_words = last_words


class Subscription:
    """The events of one stream, in order. The agent waits while they are not taken."""

    def __init__(self, connection: "Connection", sid: str) -> None:
        self.sid = sid
        self._connection = connection
        self._events: queue.SimpleQueue[Frame | HostLost] = queue.SimpleQueue()
        self._taken = 0

    def put(self, event: Frame | HostLost) -> None:
        """Called by the connection's reader."""
        self._events.put(event)

    def get(self, timeout: float | None = None) -> Frame:
        """The next event, waiting at most `timeout` seconds.

        Raises queue.Empty where none came in time, HostLost where none will come.
        """
        event = self._events.get(timeout=timeout)
        if isinstance(event, HostLost):
            self._events.put(event)
            raise event
        self._taken += 1
        if self._taken == ACKNOWLEDGE_EVERY:
            self._connection.tell("consumed", sid=self.sid, count=self._taken)
            self._taken = 0
        return event

    def close(self) -> None:
        """Ends the subscription; the agent drops what it would still have sent."""
        self._connection.unsubscribe(self.sid)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Connection:
    """Calls over one channel, from any number of threads; `host` names the host in errors."""

    def __init__(self, channel: Channel, host: str = "") -> None:
        self._channel = channel
        self._host = host
        self._ids = itertools.count(1)
        self._writing = threading.Lock()
        self._state = threading.Lock()
        self._answers: dict[int, queue.SimpleQueue[Frame | HostLost]] = {}
        self._streams: dict[str, Subscription] = {}
        self._lost: HostLost | None = None
        self._torn = False
        self._closing = threading.Event()
        self._reader = threading.Thread(target=self._read_all, name="agent reader", daemon=True)
        self._reader.start()

    @property
    def lost(self) -> bool:
        """Whether the channel has ended."""
        return self._lost is not None

    def call(self, verb: str, body: bytes = b"", **arguments: Any) -> Frame:
        """Asks the agent and waits for the answer: its header and body.

        Raises HostError where the agent refused, or "too-large"; HostLost where it is gone.
        """
        request, answer = next(self._ids), queue.SimpleQueue[Frame | HostLost]()
        with self._state:
            if self._lost:
                raise self._lost
            self._answers[request] = answer
        try:
            self._send({"id": request, "verb": verb, **arguments}, body)
            return _unwrapped(answer.get())
        finally:
            with self._state:
                self._answers.pop(request, None)

    def tell(self, verb: str, **arguments: Any) -> None:
        """Sends a message that has no answer; a lost agent is not an error here."""
        with contextlib.suppress(HostLost):
            self._send({"verb": verb, **arguments}, b"")

    def subscribe(self, sid: str) -> Subscription:
        """Collects the events of stream `sid`; to be done before the call that starts it."""
        stream = Subscription(self, sid)
        with self._state:
            if self._lost:
                raise self._lost
            self._streams[sid] = stream
        return stream

    def unsubscribe(self, sid: str) -> None:
        with self._state:
            known = self._streams.pop(sid, None)
        if known:
            self.tell("consumed", sid=sid, count=0, closed=True)

    def events(self, sid: str) -> Iterator[Frame]:
        """The events of stream `sid`, registered when this is called, without an end of its own."""
        stream = self.subscribe(sid)

        def each() -> Iterator[Frame]:
            with stream:
                while True:
                    yield stream.get()

        return each()

    def keep_alive(self, every_s: float) -> None:
        """From now on the agent hears of us at least that often, until the end."""

        def beat() -> None:
            while not self._closing.wait(every_s) and not self.lost:
                self.tell("alive")

        threading.Thread(target=beat, name="agent heartbeat", daemon=True).start()

    def close(self) -> None:
        """Ends the conversation in good order. The agent ends what it spawned, and itself."""
        self._closing.set()
        self.tell("leave")
        self._channel.close()
        if threading.current_thread() is not self._reader:
            self._reader.join()

    def _send(self, header: dict[str, Any], body: bytes) -> None:
        try:
            with self._writing:
                if self._torn:
                    raise ValueError("a message to it was cut short")
                self._torn = True  # until all of it is out, whatever interrupts us
                write_frame(self._channel.write, header, body)
                self._torn = False
        except FrameError as error:
            self._torn = False
            raise HostError("too-large", str(error)) from None
        except (OSError, ValueError) as error:
            raise self._lost or self._gone(str(error)) from None

    def _read_all(self) -> None:
        reason = "its pipe ended"
        try:
            while frame := read_frame(self._channel.read):
                self._dispatch(frame)
        except (OSError, ValueError, FrameError) as error:
            reason = str(error)
        self._give_up(self._gone(reason))

    def _gone(self, reason: str) -> HostLost:
        return HostLost(reason, self._channel.last_words(), self._host)

    def _dispatch(self, frame: Frame) -> None:
        header = frame[0]
        with self._state:
            answer = self._answers.get(header["id"]) if "id" in header else None
            stream = self._streams.get(str(header.get("sid"))) if "event" in header else None
        if answer is not None:
            answer.put(frame)
        elif stream is not None:
            stream.put(frame)

    def _give_up(self, lost: HostLost) -> None:
        with self._state:
            self._lost = lost
            answers, streams = list(self._answers.values()), list(self._streams.values())
        for answer in answers:
            answer.put(lost)
        for stream in streams:
            stream.put(lost)


def _unwrapped(answer: Frame | HostLost) -> Frame:
    if isinstance(answer, HostLost):
        raise answer
    header, body = answer
    error = header.get("error")
    if error is not None:
        raise HostError(**error)
    return header, body
