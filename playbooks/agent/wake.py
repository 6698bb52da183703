"""What wakes an agent that waits for its operator: signals, and its own end of a visit."""

import contextlib
import os
import select
import signal

_LAST = frozenset((signal.SIGTERM, signal.SIGINT))


class Wake:
    """Becomes readable with the first signal, and stays so until it is asked what came.

    SIGTERM and SIGINT tell us to end. SIGHUP says that the operator's line is gone.
    """

    def __init__(self) -> None:
        self.fd, self._alarm = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._told = False
        signal.set_wakeup_fd(self._alarm, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            signal.signal(number, lambda *_: None)

    def ring(self) -> None:
        """Wakes whoever waits for the operator to take something: nobody is left to."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._alarm, b"\0")

    def told_to_end(self, within_s: float = 0.0) -> bool:
        """Whether we were ever told to end, waiting for that at most `within_s` seconds."""
        if not self._told and select.select([self.fd], [], [], max(within_s, 0.0))[0]:
            with contextlib.suppress(BlockingIOError):
                self._told = bool(_LAST.intersection(os.read(self.fd, 512)))
        return self._told
