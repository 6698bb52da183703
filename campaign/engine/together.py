"""Several things at once, each in a thread of its own; what they give comes to the caller's thread.

Hosts are worked on so: workers return values, and only the caller writes the ledger.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from queue import SimpleQueue
from typing import TypeVar

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


def by_name(work: Mapping[str, Callable[[], _T]]) -> dict[str, _T]:
    """As `at_once`; what each gave by its name, in the order of `work`. Errors: theirs."""

    def named(name: str, one: Callable[[], _T]) -> tuple[str, _T]:
        return name, one()

    found = dict(at_once(partial(named, *item) for item in work.items()))
    return {name: found[name] for name in work}
