"""Keys act one after the other: each on what all before it have led to, and on nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from msgspec import Struct
from textual.dom import DOMNode
from textual.events import Key, Paste
from textual.timer import Timer

from campaign.tui.dialog import Dialog

if TYPE_CHECKING:
    from campaign.tui.the_app import TheApp

_LOOK_S, _HELD_S, _PATIENCE_S = 0.001, 0.005, 60.0
"""From one look whether all is done to the next, and from one whether what is awaited is there;
until a key no longer waits for the former."""

_LONG_S = 0.7
"""As long may be read before that is told."""

_BURST_S = 0.4
"""Keys that follow a key so soon belong to it: nobody has read a dialog in that time."""

Given = Key | Paste
GiveUp = Callable[[], None]


class _Awaited(Struct, frozen=True):
    """What is being opened: by whom, and how it is given up."""

    owner: DOMNode
    give_up: GiveUp | None


class Keyboard:
    """Hands `app` what is typed, through `deliver`.

    A key waits until nothing is left to do for those before it, and until what they have asked for
    is open: a hand that is ahead of the screen types into the screen that it has in mind. Esc gives
    up what is being opened, and ^q waits for nothing; what was typed before them is forgotten.
    """

    def __init__(self, app: "TheApp", deliver: Callable[[Given], Awaitable[None]]) -> None:
        self._app = app
        self._deliver = deliver
        self._typed: asyncio.Queue[Given] = asyncio.Queue()
        self._awaited: dict[object, _Awaited] = {}
        self._long: Timer | None = None
        self._unheard_at = 0.0
        self._times_forgotten = 0

    def take(self, given: Given) -> None:
        """What was typed now, or pasted."""
        key = given.key if isinstance(given, Key) else ""
        if key == "ctrl+q" and self._awaited:
            self._let_go()
        if key != "escape" or not self._give_up():
            self._typed.put_nowait(given)

    def forget(self) -> None:
        """Forgets what was typed ahead: what it rests on has not come about."""
        self._times_forgotten += 1
        while not self._typed.empty():
            self._typed.get_nowait()

    def hold(
        self, what: object, owner: DOMNode, give_up: GiveUp | None = None, told: str = ""
    ) -> None:
        """Holds keys until `release` of `what`, which `owner` is opening, or until that is gone.

        Where it takes long, `told` is shown. None for `give_up`: it cannot be given up.
        """
        self._awaited[what] = _Awaited(owner, give_up)
        if self._long is None and told:
            told += "  Esc gives up" if give_up else ""
            tell = partial(self._app.notify, told, title="", markup=False, timeout=2)
            self._long = self._app.set_timer(_LONG_S, tell)

    def release(self, what: object) -> None:
        """Lets keys act again, where nothing else is being opened."""
        self._awaited.pop(what, None)
        if not self._awaited and self._long is not None:
            self._long.stop()
            self._long = None

    def _give_up(self) -> bool:
        """Whether there was anything that could be given up."""
        ways = [one.give_up for one in self._awaited.values() if one.give_up is not None]
        for give_up in ways:
            give_up()
        if ways:
            self._let_go()
        return bool(ways)

    def _let_go(self) -> None:
        for what in [*self._awaited]:
            self.release(what)
        self.forget()

    async def run(self) -> None:
        """Delivers what is typed, for as long as the app lives."""
        while True:
            given, before = await self._typed.get(), self._times_forgotten
            await self._at_rest()
            while self._is_held():
                while self._is_held():
                    await asyncio.sleep(_HELD_S)
                await self._at_rest()
            if self._times_forgotten == before and self._is_heard(given):
                await self._deliver(given)

    def _is_held(self) -> bool:
        for what, one in [*self._awaited.items()]:
            if one.owner._closing:
                self.release(what)
        return bool(self._awaited)

    async def _at_rest(self) -> None:
        """Waits until all messages on the screen have been dealt with."""
        deadline = monotonic() + _PATIENCE_S
        await self._passed()
        while self._has_messages() and monotonic() < deadline:
            await asyncio.sleep(_LOOK_S)
            await self._passed()

    async def _passed(self) -> None:
        """Waits until those that take their time over a message have dealt with what they had.

        A message that another one works on is not in its queue any more, and is done at once.
        """
        marks, loop = [], asyncio.get_running_loop()
        for node in {self._app.focused or self._app.screen, self._app.screen, self._app}:
            mark = loop.create_future()
            if node.call_later(_mark, mark):
                marks.append(mark)
        if marks:
            await asyncio.wait(marks, timeout=_PATIENCE_S)

    def _has_messages(self) -> bool:
        nodes = (self._app, *self._app.screen.walk_children(with_self=True))
        return any(node.message_queue_size for node in nodes)

    def _is_heard(self, given: Given) -> bool:
        """Whether it is meant for the dialog that is open: it must have been there to be seen."""
        dialog = self._app.screen
        if not isinstance(dialog, Dialog) or not dialog.deliberate:
            return True
        if given.time >= max(dialog.seen_at, self._unheard_at + _BURST_S):
            return True
        self._unheard_at = given.time
        dialog.say_unheard()
        return False


def _mark(passed: asyncio.Future[None]) -> None:
    if not passed.done():
        passed.set_result(None)
