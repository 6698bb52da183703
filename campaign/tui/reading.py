"""Blocking reads for widgets: in a thread, one at a time, the newest question answered last."""

from collections.abc import Callable
from time import monotonic
from typing import Generic, TypeVar

from textual.dom import DOMNode
from textual.timer import Timer

from campaign.errors import CampaignError
from campaign.tui.the_app import app_of

S = TypeVar("S")
T = TypeVar("T")


class Reading(Generic[T]):
    """Answers questions of `owner` off the screen's thread.

    `ask(read)` calls `read` in a thread, then `show` with what it returned on the screen's own;
    where it raises, `failed` with one line for a person, which is shown where none is given. A
    question that is asked while another is being answered waits, and only the newest of those is
    answered: a stream of changes cannot pile up reads. An answer is begun once nothing was asked
    for `delay` seconds. It rests, after the last one, `rest` times as long as that took, so that
    what is asked again and again takes no more than its share of a processor. From one beginning to
    the next it is `pace` seconds at least: the first answer comes at once, a stream of changes is
    shown at that pace. What could not be read is asked again after `again` seconds, for nothing may
    change any more; 0 leaves it.

    What `opens` a dialog, or `fills` a screen that was blank or was filtered, is read at once, and
    keys are held until it is there (see `Keyboard`); the former can be given up.
    """

    def __init__(
        self,
        owner: DOMNode,
        show: Callable[[T], None],
        failed: Callable[[str], None] | None = None,
        delay: float = 0.0,
        *,
        rest: float = 0.0,
        pace: float = 0.0,
        again: float = 0.0,
    ) -> None:
        self._owner = owner
        self._show = show
        self._failed = failed or (lambda why: app_of(owner).tell(why))
        self._delay = delay
        self._rest = rest
        self._pace = pace
        self._again = again
        self._begun = self._took = 0.0
        self._busy = self._holds = self._opens = self._given_up = False
        self._timer: Timer | None = None
        self._waiting: Callable[[], T] | None = None

    def ask(self, read: Callable[[], T], *, opens: bool = False, fills: bool = False) -> None:
        """Asks for what `read` returns; it must not touch widgets."""
        self._waiting = read
        if (opens or fills) and not self._holds:
            self._holds, self._opens = True, opens
            give_up = self._give_up if opens else None
            app_of(self._owner).keyboard.hold(self, self._owner, give_up, "Reading ...")
        if not self._busy:
            self._begin_later()

    def _begin_later(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        since = monotonic() - self._begun
        rest = self._rest * self._took
        delay = max(self._delay, self._took + rest - since if rest else 0.0, self._pace - since)
        if delay > 0 and not self._holds:
            self._timer = self._owner.set_timer(delay, self._begin)
        else:
            self._begin()

    def _begin(self) -> None:
        read, self._waiting, self._timer = self._waiting, None, None
        self._begun = monotonic()
        if read is not None:
            self._busy, self._given_up = True, False
            self._owner.run_worker(lambda: self._answer(read), thread=True, exit_on_error=False)

    def _answer(self, read: Callable[[], T]) -> None:
        """In the thread: only `call_later` may be used of the owner."""
        from playbooks.language.problems import LoadError

        begun = monotonic()
        try:
            value = read()
            self._took = monotonic() - begun
        except (CampaignError, LoadError) as error:
            self._owner.call_later(self._cannot, read, str(error))
        except Exception as error:  # noqa: BLE001 - in a thread of its own nobody else would tell
            why = f"a fault of campaign itself: {type(error).__name__}: {error}"
            self._owner.call_later(self._cannot, read, why)
        else:
            self._owner.call_later(self._done, self._show, value)

    def _done(self, tell: Callable[[S], None], value: S) -> None:
        self._busy = False
        if not self._given_up:
            tell(value)
        if self._waiting is not None:
            self.ask(self._waiting)
        elif self._holds and not self._busy:
            self._holds = False
            app_of(self._owner).keyboard.release(self)

    def _give_up(self) -> None:
        """Forgets what was asked for; an answer that is on its way is not shown."""
        self._waiting, self._holds, self._given_up = None, False, self._busy

    def _cannot(self, read: Callable[[], T], why: str) -> None:
        if self._opens:
            app_of(self._owner).keyboard.forget()
        self._done(self._failed, why)
        if self._again and not self._busy and self._timer is None:
            self._timer = self._owner.set_timer(self._again, lambda: self.ask(read))
