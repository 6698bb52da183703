"""How decode writes an answer: it thinks, then writes the tool call, one token after another.

To write a token of the call it looks for the token's place in the prompt, by the index-K buffer,
and copies what stands there.
"""

import itertools
import threading
import time
import zlib
from collections.abc import Iterator

from channel import Ready
from index import Index
from pool import Pool
from prompt import Prompt
from service import switched_on

STEP = 0.016  # seconds: the pace of one token for all running requests
THOUGHT = "The customer asks about an order so I look it up and then I tell where it is ."
BRIEF, LONG = range(28, 44), range(115, 150)  # tokens of thought


def thought(question: str) -> list[str]:
    """What is written before the call; by the question alone, which in two of five is quick."""
    digest = zlib.crc32(question.encode(errors="replace"))
    lengths = BRIEF if digest % 5 < 2 else LONG
    length = lengths[digest % len(lengths)]
    return list(itertools.islice(itertools.cycle(THOUGHT.split()), length))


class Generation:
    """One running request. `tokens` is the answer so far; `finished` is set at its end."""

    def __init__(self, asked: Prompt, ready: Ready, pool: Pool) -> None:
        self.tokens: list[str] = []
        self.finished = threading.Event()
        self._asked = asked
        self._ready = ready
        self._pool = pool
        self._steps = self._write()

    def step(self) -> None:
        """Writes the next token."""
        if next(self._steps, None) is None:
            self.finished.set()

    def _write(self) -> Iterator[int]:
        for word in thought(self._asked.question):
            yield self._emit(word)
        index = self._read_index()
        drafted = 2 if switched_on("DEMO_MTP", "1") else 1
        for position, token in enumerate(self._asked.call, 1):
            count = self._emit(self._asked.tokens[index.place(token)])
            if position % drafted == 0:
                yield count

    def _emit(self, token: str) -> int:
        self.tokens.append(token)
        return len(self.tokens)

    def _read_index(self) -> Index:
        ready = self._ready
        return Index(self._pool.read(ready.slot, ready.rows * ready.width), ready.width)


class Batch:
    """All running requests, stepped together by one thread, as the engine would."""

    def __init__(self) -> None:
        self._running: list[Generation] = []
        self._changed = threading.Condition()
        threading.Thread(target=self._run, name="batch", daemon=True).start()

    def run(self, generation: Generation) -> None:
        """Runs a request to its end."""
        with self._changed:
            self._running.append(generation)
            self._changed.notify()
        generation.finished.wait()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._running)
                batch = list(self._running)
            due = time.monotonic() + STEP
            for generation in batch:
                generation.step()
            with self._changed:
                self._running = [one for one in self._running if not one.finished.is_set()]
            time.sleep(max(0.0, due - time.monotonic()))
