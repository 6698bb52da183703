"""Asking a run to stop, and what a second and a third request mean."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from campaign.errors import Exit

EXITS = {
    signal.SIGINT: Exit.INTERRUPTED,
    signal.SIGTERM: Exit.TERMINATED,
    signal.SIGHUP: Exit.HANGUP,
}


ASKED = "asked to stop"


class Stopped(Exception):  # noqa: N818 - it is no error
    """The run is to stop, for the reason given; everything is to be put back."""


class Abandoned(BaseException):
    """Putting back was given up on the third request; what remains is dirty."""


class Stop:
    """The first request stops the run, which puts back; one more is refused; a third abandons.

    `refuse` is called at a refused request; `doing` then says what is under way, and `why` what
    stopped the run. Requests may come from signal handlers or from other threads.
    """

    def __init__(self, refuse: Callable[[], None] = lambda: None) -> None:
        self.event = threading.Event()
        self.exit: Exit | None = None
        self.refuse = refuse
        self.doing = "ending what runs"
        self.why = ASKED
        self._released: threading.Event | None = None
        self._putting_back = False
        self._insisted = 0

    def request(self, exit_code: Exit = Exit.INTERRUPTED) -> None:
        """Asks to stop, or to go on from a hold.

        Raises Abandoned in the calling thread at the third request.
        """
        if self._released is not None:
            self._released.set()
            return
        first = self.exit is None
        self.exit = self.exit or exit_code
        if first and not self._putting_back:
            self.event.set()
            return
        self._insisted += 1
        if self._insisted == 1:
            with suppress(RuntimeError):  # the signal came while another line was being written
                self.refuse()
        elif self._putting_back:
            raise Abandoned

    def trip(self, why: str) -> None:
        """Stops the run because something does not hold; nothing where it is stopped already."""
        if self.exit is None and not self._putting_back:
            self.exit, self.why = Exit.STEP_FAILED, why
            self.event.set()

    @contextmanager
    def holding(self) -> Iterator[threading.Event]:
        """Inside, where a failed run is held as it is, a request sets what this gives: go on."""
        self._released = threading.Event()
        try:
            yield self._released
        finally:
            self._released = None

    @contextmanager
    def putting_back(self) -> Iterator[None]:
        """Inside, requests are refused, and the one after abandons."""
        self._putting_back = True
        try:
            yield
        finally:
            self._putting_back = False

    def say(self, doing: str) -> None:
        """What a refused request is to be told."""
        self.doing = doing

    def check(self) -> None:
        """Errors: Stopped, where a stop was requested."""
        if self.event.is_set():
            raise Stopped(self.why)

    def wait(self, seconds: float) -> None:
        """Waits, unless a stop is requested meanwhile. Errors: Stopped."""
        self.event.wait(seconds)
        self.check()


@contextmanager
def handled(stop: Stop) -> Iterator[Stop]:
    """Sends INT, TERM and HUP to `stop` while inside; main thread only."""

    def handler(number: int, _frame: FrameType | None) -> None:
        stop.request(EXITS[signal.Signals(number)])

    before = {number: signal.signal(number, handler) for number in EXITS}
    try:
        yield stop
    finally:
        for number, old in before.items():
            signal.signal(number, old)
