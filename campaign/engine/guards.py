"""Guards: what must hold all through a run; when one does not, the run stops and puts back."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType

from campaign.engine.stop import Stop
from campaign.errors import CampaignError
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.host import Host
from playbooks.system import Guard, Probe

Tell = Callable[[str], None]


class Guards:
    """Asks each guard now and then, in a thread of its own, from entering until leaving.

    `ask` says why a guard does not hold. One that trips stops the run by `stop`. On the way back
    it stops nothing: it is told.
    """

    def __init__(self, guards: Sequence[Guard], ask: Callable[[Guard], str], stop: Stop) -> None:
        self._guards = tuple(guards)
        self._ask = ask
        self._stop = stop
        self._over = threading.Event()
        self._resting = 0
        self._lock = threading.Lock()
        self._tell: Tell | None = None
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> "Guards":
        for guard in self._guards:
            thread = threading.Thread(target=self._keep, args=(guard,), daemon=True)
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Waits for looks under way: none may dial a host anew once all are let go of."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Inside, during a restart, only those are asked that are to hold through restarts."""
        self._rest(1)
        try:
            yield
        finally:
            self._rest(-1)

    @contextmanager
    def told_to(self, tell: Tell) -> Iterator[None]:
        """Inside, on the way back, `tell` learns of a guard that trips, in the guard's thread."""
        self._tell = tell
        try:
            yield
        finally:
            self._tell = None

    def _rest(self, by: int) -> None:
        with self._lock:
            self._resting += by

    def _keep(self, guard: Guard) -> None:
        failures, told = 0, False
        while not self._over.wait(guard.every_s):
            if self._resting and not guard.through_restarts:
                failures = 0
                continue
            why = self._ask(guard)
            if self._resting and not guard.through_restarts:
                continue  # the restart began while it was asked
            failures = failures + 1 if why else 0
            if failures >= guard.failures and not told:
                self._trip(f"guard: {why}")
            told = bool(why) and (told or failures >= guard.failures)

    def _trip(self, why: str) -> None:
        if self._tell is not None:
            self._tell(why)
        elif not self._over.is_set():
            self._stop.trip(why)


def no_guards() -> Guards:
    """Where nothing has to hold."""
    return Guards((), lambda _: "", Stop())


def broken(peek: Callable[[str], Host], guard: Guard) -> str:
    """Why a guard does not hold now; nothing where it does, or where its host does not answer:

    the run learns of that by itself. `peek` opens a host by its name.
    """
    try:
        found = peek(guard.on).probe(guard.probe, timeout_s=guard.timeout_s)
    except (HostLost, CampaignError):
        return ""
    except HostError as error:
        return f"{guard_name(guard)}: {error}"
    return "" if found.ok else found.detail


def guard_name(guard: Guard) -> str:
    """What a guard asks, in a line."""
    return f"{_asked(guard.probe)} on {guard.on}"


def _asked(probe: Probe) -> str:
    match probe.kind:
        case "http":
            return f"{probe.method} {probe.url}"
        case "tcp":
            return probe.address
        case "command":
            script = probe.command[:2] == ("/bin/sh", "-c")
            return probe.command[-1] if script else " ".join(probe.command)
        case "log":
            return probe.match
