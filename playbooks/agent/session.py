"""One operator's visit: replies, events with flow control, threads, and what to do at the end.

A child that is forked and outlives the agent must close every descriptor it inherited: the lock
and the pipe would stay held otherwise.
"""

import threading
import time
from typing import Callable, Dict, List, Optional, Set, Tuple

from playbooks.agent.framing import Header, write_frame

WINDOW = 64
"""Events of one stream that may be on their way before the operator says it took some."""


class VerbError(Exception):
    """A verb that could not be done: a stable kind, a line for people, and its facts."""

    def __init__(self, kind: str, message: str, **detail: object) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.detail = detail


class Session:
    """What handlers see of the operator. Every method may be called from any thread.

    `write` takes all the bytes it is given. `closing` is set once the operator is gone or the
    agent was told to end; `lock` is the descriptor of the host's lock while this agent holds it.
    `heard_at` (monotonic clock) is when the operator was heard last, `lease_s` how long it may be
    silent or gone, and `left` whether it went in good order. `secrets` are values of variables for
    the undo of commands; they are never written down.
    """

    def __init__(self, state_dir: str, write: Callable[[bytes], object]) -> None:
        self.state_dir = state_dir
        self.closing = threading.Event()
        self.lock: Optional[int] = None
        self.heard_at = time.monotonic()
        self.lease_s = 0.0
        self.left = False
        self.secrets: Dict[str, str] = {}
        self._write = write
        self._pipe = threading.Lock()
        self._flow = _Flow()
        self._at_close: List[Callable[[], None]] = []

    def reply(self, request_id: int, header: Header, body: bytes = b"") -> None:
        """Answers a request. Does nothing once the operator is gone."""
        self._send({"id": request_id, "ok": True, **header}, body)

    def fail(self, request_id: int, error: VerbError) -> None:
        """Answers a request with an error."""
        facts = {**error.detail, "kind": error.kind, "message": error.message}
        self._send({"id": request_id, "error": facts}, b"")

    def emit(self, header: Header, body: bytes = b"") -> None:
        """Sends an event of the stream `header["sid"]`, waiting while the operator lags behind.

        An event that nobody is left to read, or wants any more, is dropped.
        """
        if self._flow.take(str(header.get("sid")), self.closing):
            self._send(header, body)

    def consumed(self, sid: str, count: int, closed: bool) -> None:
        """The operator took `count` events of a stream; `closed`: it wants no more of it."""
        self._flow.give(sid, count, closed)

    def run_in_thread(self, fn: Callable[..., object], *args: object) -> threading.Thread:
        """Runs fn(*args) in a daemon thread of its own."""
        thread = threading.Thread(target=fn, args=args, daemon=True)
        thread.start()
        return thread

    def at_close(self, fn: Callable[[], None]) -> None:
        """Calls `fn` when the visit ends, last registered first."""
        self._at_close.append(fn)

    def close(self) -> None:
        """Ends the visit: wakes whoever waits, then runs what was registered."""
        self.closing.set()
        self._flow.wake()
        while self._at_close:
            self._at_close.pop()()

    def _send(self, header: Header, body: bytes) -> None:
        with self._pipe:
            if self.closing.is_set():
                return
            try:
                write_frame(self._write, header, body)
            except OSError:
                self.closing.set()


class _Flow:
    """How many events of each stream may still be sent."""

    def __init__(self) -> None:
        self._credit: Dict[str, int] = {}
        self._closed: Set[str] = set()
        self._changed = threading.Condition()

    def take(self, sid: str, closing: threading.Event) -> bool:
        """Waits for room in the stream; False where its events are no longer wanted."""
        with self._changed:
            while not closing.is_set() and sid not in self._closed:
                credit = self._credit.get(sid, WINDOW)
                if credit:
                    self._credit[sid] = credit - 1
                    return True
                self._changed.wait()
        return False

    def give(self, sid: str, count: int, closed: bool) -> None:
        with self._changed:
            if closed:
                self._closed.add(sid)
                self._credit.pop(sid, None)
            else:
                self._credit[sid] = self._credit.get(sid, WINDOW) + count
            self._changed.notify_all()

    def wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


Handler = Callable[[Session, Header, bytes], Optional[Tuple[Header, bytes]]]
"""A verb: its reply, or None when it replies itself later from a thread."""
