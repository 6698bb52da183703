"""What the way back tells, to whoever records or shows it."""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from msgspec import Struct, field

from campaign.engine.lived import Lived
from playbooks.hosts.files import PutBack


class Undoing(Struct):
    """A piece of the way back; whoever does it says what came of it, and what failed."""

    result: PutBack | None = None
    lived: Lived | None = None
    failed: str = ""


class Hooked(Struct):
    """A hook of the way back: what names its undo in the host's journal, and what came of it."""

    id: str = field(default_factory=lambda: os.urandom(8).hex())
    detail: str = ""


class Watch:
    """Is told what the way back does; `say` is called with what is under way.

    All of it comes from the threads that do it, and may not raise.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.say = say

    def waiting(self, text: str) -> None:
        """A host does not answer, and is waited for."""
        self.say(text)

    def warn(self, _text: str) -> None:
        """Something did not go as it should, and stopped nothing."""

    def restoring(self, _host: str) -> AbstractContextManager[Undoing]:
        """Around putting back what was changed on a host."""
        return nullcontext(Undoing())

    def restarting(
        self, _services: Sequence[str], _word: str = "restart"
    ) -> AbstractContextManager[Undoing]:
        """Around a restart cycle, or a reload."""
        return nullcontext(Undoing())

    def hooking(self, _name: str, _undo: str) -> AbstractContextManager[Hooked]:
        """Around a hook of a service."""
        return nullcontext(Hooked())
