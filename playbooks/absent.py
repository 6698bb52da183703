"""Imports of libraries that do without another one where it is missing, as if it were."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


@contextmanager
def without(*names: str) -> Iterator[None]:
    """Inside, this thread finds none of these top-level modules; those loaded already are there.

    For what a library takes along when it can, at a cost in time, and we have no use for.
    """
    absent = _Absent(frozenset(names), threading.get_ident())
    sys.meta_path.insert(0, absent)
    try:
        yield
    finally:
        sys.meta_path.remove(absent)


class _Absent(MetaPathFinder):
    """Other threads, which may be loading those very modules, find them."""

    def __init__(self, names: frozenset[str], thread: int) -> None:
        self._names = names
        self._thread = thread

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in self._names and threading.get_ident() == self._thread:
            raise ModuleNotFoundError(f"{fullname} is left out here", name=fullname)
        return None
