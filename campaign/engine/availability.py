"""Availability probes: asked all through a restart cycle, they say when a service was down."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from campaign.engine.hosts import Hosts
from campaign.engine.lived import Lived
from campaign.engine.outage import Span
from campaign.errors import CampaignError
from playbooks.hosts.connection import HostError, HostLost
from playbooks.system import Availability


@contextmanager
def watched(lived: Lived, hosts: Hosts) -> Iterator[None]:
    """Inside, the availability of the cycle's services is asked for; then `failing` has it."""
    services = [one for chain in lived.chains for one in chain]
    asked = {one.shared: one.availability for one in services if one.availability}
    looks = {name: _Looks(one, hosts) for name, one in asked.items() if one.on in hosts.names()}
    try:
        with ExitStack() as stack:
            for one in looks.values():
                stack.enter_context(one.going_on())
            yield
    finally:
        lived.failing.update({name: one.spans for name, one in looks.items() if one.answered})


class _Looks:
    """The looks at one service, in a thread of their own.

    It is down from the first look that fails to the next that does not: on average neither too
    long nor too short, whatever the time between looks.
    """

    def __init__(self, availability: Availability, hosts: Hosts) -> None:
        self.answered = False
        self._availability = availability
        self._hosts = hosts
        self._over = threading.Event()
        self._spans: list[Span] = []
        self._open: Span | None = None

    @property
    def spans(self) -> tuple[Span, ...]:
        return (*self._spans, *([self._open] if self._open else []))

    @contextmanager
    def going_on(self) -> Iterator[None]:
        thread = threading.Thread(target=self._keep, daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()

    def _keep(self) -> None:
        """Looks until it is over; the last look ends an outage, or is as far as it is known.

        A host that cannot be reached says nothing of the service, and is not waited for.
        """
        try:
            self._look()
            while not self._over.wait(self._availability.every_s):
                self._look()
            if self._open:
                self._look()
        except CampaignError:
            self.answered = False

    def _look(self) -> None:
        """Asks once. Errors: CampaignError where there is no way to the host."""
        began, asked = time.monotonic(), self._availability
        host = self._hosts.peek(asked.on)
        try:
            found = host.probe(asked.probe, timeout_s=asked.timeout_s)
        except (HostError, HostLost):
            return
        self.answered = True
        at = found.at - (time.monotonic() - began)
        since = self._open[0] if self._open else at
        if not found.ok:
            self._open = since, found.at
        elif self._open:
            self._spans.append((since, at))
            self._open = None
