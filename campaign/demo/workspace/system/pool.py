"""The shared memory that index-K buffers travel through: slots of equal size, used again.

Decode creates the pool and prefill attaches to it. It is an anonymous file: it has no name to
clean up, and is gone with the last process that maps it. A slot is not cleared between two rooms.
"""

import mmap
import os
import queue
import threading
from collections import Counter
from pathlib import Path

from service import RequestError

SLOTS = 128
TAKE_TIMEOUT = 30.0  # seconds


class Pool:
    """`SLOTS` slots of `slot_bytes` bytes each, in memory that two processes share."""

    def __init__(self, path: str, slot_bytes: int) -> None:
        self.path = path
        self.slot_bytes = slot_bytes
        with Path(path).open("r+b") as file:
            self._memory = memoryview(mmap.mmap(file.fileno(), SLOTS * slot_bytes))

    @classmethod
    def create(cls, slot_bytes: int) -> "Pool":
        """A new pool, which others open by its `path` while this process lives."""
        descriptor = os.memfd_create("index-k")
        os.ftruncate(descriptor, SLOTS * slot_bytes)
        return cls(f"/proc/{os.getpid()}/fd/{descriptor}", slot_bytes)

    def view(self, slot: int, size: int) -> memoryview:
        """The first `size` bytes of a slot, to write to."""
        start = slot * self.slot_bytes
        return self._memory[start : start + size]

    def read(self, slot: int, size: int) -> bytes:
        """A copy of the first `size` bytes of a slot as they are now."""
        return bytes(self.view(slot, size))


class Slots:
    """Which slots are free. One taken is free again when both its users have released it:
    the transfer that writes it and the request that reads it."""

    def __init__(self) -> None:
        self._free: queue.SimpleQueue[int] = queue.SimpleQueue()
        self._released: Counter[int] = Counter()
        self._lock = threading.Lock()
        for slot in range(SLOTS):
            self._free.put(slot)

    def take(self) -> int:
        """A free slot. Raises RequestError when none becomes free in time."""
        try:
            return self._free.get(timeout=TAKE_TIMEOUT)
        except queue.Empty:
            raise RequestError(503, "no slot became free: send fewer requests at a time") from None

    def release(self, slot: int) -> None:
        """One of the slot's two users is done with it."""
        with self._lock:
            self._released[slot] += 1
            free = self._released[slot] == 2
            if free:
                del self._released[slot]
        if free:
            self._free.put(slot)
