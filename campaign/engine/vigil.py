"""Dials hosts again that drop out while nobody asks anything of them."""

import threading
from types import TracebackType

from campaign.engine.events import Emit, Note
from campaign.engine.hosts import Hosts
from campaign.errors import CampaignError

_LOOK_EVERY_S = 1.0
_DIAL_EVERY_S = 30.0
"""At least: at first it is dialled sooner, and then less and less often."""


class Vigil:
    """From entering until leaving, in a thread of its own.

    Trials that are driven from elsewhere, a wait or a pause may be longer than a lease: a host that
    did not hear of us would put itself back in the middle of it, and nobody would know.
    """

    def __init__(self, hosts: Hosts, emit: Emit) -> None:
        self._hosts = hosts
        self._emit = emit
        self._told: dict[str, str] = {}
        self._over = threading.Event()

    def __enter__(self) -> "Vigil":
        threading.Thread(target=self._keep, name="vigil", daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """A dial that is under way is not waited for: the hosts' end is."""
        self._over.set()

    def _keep(self) -> None:
        pause = _LOOK_EVERY_S
        while not self._over.wait(pause):
            lost = self._hosts.lost()
            for name in lost:
                self._revive(name)
            pause = min(2 * pause, _DIAL_EVERY_S) if lost else _LOOK_EVERY_S

    def _revive(self, name: str) -> None:
        self._tell(name, f"the connection to host {name} was lost: it is dialled again", warn=True)
        if self._over.is_set():
            return
        try:
            self._hosts.peek(name)
        except CampaignError as error:
            self._tell(name, str(error), warn=True)
            return
        if name not in self._hosts.lost():
            self._tell(name, f"host {name} answers again")
            del self._told[name]

    def _tell(self, name: str, text: str, *, warn: bool = False) -> None:
        if self._told.get(name) != text and not self._over.is_set():
            self._told[name] = text
            self._emit(Note(text, warn=warn))
