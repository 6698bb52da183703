"""Several things at once, each in a thread of its own; what they give comes to the caller's thread.

Hosts are worked on so: workers return values, and only the caller writes the ledger.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from queue import SimpleQueue
from types import TracebackType
from typing import Generic, Self, TypeVar

_T = TypeVar("_T")


def at_once(
    work: Iterable[Callable[[], _T]], failed: Callable[[], object] = lambda: None
) -> Iterator[_T]:
    """Does all of `work` at once, and yields what each gives as soon as it is there.

    The error that came first is raised when all are through; `failed` is called when it comes.
    An exception in the caller's own thread, from a signal, does not wait for the others.
    """
    todo = list(work)
    if len(todo) == 1:
        yield todo[0]()
        return
    ended: SimpleQueue[tuple[list[_T], BaseException | None]] = SimpleQueue()

    def do(one: Callable[[], _T]) -> None:
        try:
            ended.put(([one()], None))
        except BaseException as error:  # noqa: BLE001 - it is raised in the caller's thread
            ended.put(([], error))

    for one in todo:
        threading.Thread(target=do, args=(one,), daemon=True).start()
    first: BaseException | None = None
    for _ in todo:
        found, error = ended.get()
        yield from found
        if error is not None and first is None:
            first = error
            failed()
    if first is not None:
        raise first


def all_at_once(
    work: Iterable[Callable[[], object]], failed: Callable[[], object] = lambda: None
) -> None:
    """As `at_once`, where nothing is given back."""
    for _ in at_once(work, failed):
        pass


class Beside(Generic[_T]):
    """Something that is done beside what its `with` block does. `result` waits for what it gave,

    or raises its error; the block ends when it has ended, unless a signal ends the block.
    """

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self._given: list[_T] = []
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._do, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None or issubclass(kind, Exception):
            self._thread.join()

    def result(self) -> _T:
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._given[0]

    def _do(self) -> None:
        try:
            self._given.append(self._work())
        except BaseException as error:  # noqa: BLE001 - it is raised where the result is wanted
            self._error = error


def by_name(work: Mapping[str, Callable[[], _T]]) -> dict[str, _T]:
    """As `at_once`; what each gave by its name, in the order of `work`. Errors: theirs."""

    def named(name: str, one: Callable[[], _T]) -> tuple[str, _T]:
        return name, one()

    found = dict(at_once(partial(named, *item) for item in work.items()))
    return {name: found[name] for name in work}
