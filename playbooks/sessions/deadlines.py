"""A time limit for each of many requests, at the price of one timer for all of them."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOOK_S = 0.05
"""How often is looked for what is late: as exact as limits are."""


class Deadlines:
    """All limits are `limit_s`, so that what began first is late first.

    asyncio.timeout does the same for one; a timer for each of a thousand requests costs a tenth of
    what driving them costs.
    """

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self._due: dict[asyncio.Task[Any], float] = {}
        self._late: set[asyncio.Task[Any]] = set()
        self._watch = asyncio.get_running_loop().call_later(LOOK_S, self._look)

    def close(self) -> None:
        self._watch.cancel()

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Raises TimeoutError in the current task once its time is over."""
        task = asyncio.current_task()
        assert task is not None
        self._due[task] = asyncio.get_running_loop().time() + self._limit_s
        try:
            yield
        except asyncio.CancelledError:
            if task not in self._late or task.uncancel() > 0:
                raise
            raise TimeoutError from None
        finally:
            self._due.pop(task, None)
            self._late.discard(task)

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        while self._due and next(iter(self._due.values())) <= now:
            task = next(iter(self._due))
            del self._due[task]
            self._late.add(task)
            task.cancel()
        self._watch = loop.call_later(LOOK_S, self._look)
