"""The transfer engine: one link of limited bandwidth that writes buffers in turn, in chunks."""

import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

CHUNK = 2048  # bytes


@dataclass(frozen=True)
class Write:
    """A buffer on its way to `target`; `landed` is called once all of it is there."""

    target: memoryview
    data: bytes
    landed: Callable[[], None]
    submitted: float = field(default_factory=time.monotonic)


class Transfer:
    """Writes what is submitted, first come first served, at `bandwidth` bytes a second."""

    def __init__(self, bandwidth: float) -> None:
        self._bandwidth = bandwidth
        self._queue: queue.SimpleQueue[Write] = queue.SimpleQueue()
        threading.Thread(target=self._run, name="transfer", daemon=True).start()

    def submit(self, target: memoryview, data: bytes, landed: Callable[[], None]) -> None:
        """Queues a buffer and returns at once: nothing of it has been written yet."""
        self._queue.put(Write(target, data, landed))

    def _run(self) -> None:
        link_free = 0.0
        while True:
            write = self._queue.get()
            link_free = self._write(write, max(link_free, write.submitted))
            write.landed()

    def _write(self, write: Write, begin: float) -> float:
        """Writes each chunk when the link would have carried it; returns when the last was due.

        A thread that woke late falls behind, as decode's does: on a busy machine both are slower.
        """
        due = begin
        for start in range(0, len(write.data), CHUNK):
            chunk = write.data[start : start + CHUNK]
            due = max(due, time.monotonic()) + len(chunk) / self._bandwidth
            time.sleep(max(0.0, due - time.monotonic()))
            write.target[start : start + len(chunk)] = chunk
        return due
