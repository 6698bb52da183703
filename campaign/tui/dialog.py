"""What all dialogs share: they know since when they can be seen."""

from math import inf
from time import monotonic

from textual.screen import ModalScreen, ScreenResultType


class Dialog(ModalScreen[ScreenResultType]):
    """A dialog. A `deliberate` one hears no key that was typed before it could be seen.

    That is for what must not be done, or go away, by a key that was meant for something else.
    `seen_at` is when it was first laid out, on the clock of `time.monotonic`.
    """

    deliberate = False
    seen_at = inf

    def on_mount(self) -> None:
        self.screen_layout_refresh_signal.subscribe(self, lambda _screen: self._laid_out(), True)

    def _laid_out(self) -> None:
        self.seen_at = min(self.seen_at, monotonic())

    def say_unheard(self) -> None:
        """Says that something was typed too early to be meant for it."""
        told = "what was typed before this was shown is ignored"
        self.query_one(".dialog").border_subtitle = told
