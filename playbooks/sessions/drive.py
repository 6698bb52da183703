"""Many sessions at once: never more than the concurrency, the first ones spread over the ramp."""

import asyncio
import resource
from collections.abc import Callable, Sequence

from msgspec import Struct

from playbooks.sessions import told
from playbooks.sessions.client import Client
from playbooks.sessions.job import Fault
from playbooks.sessions.rules import Rules
from playbooks.sessions.session import Script, Session, begin, drive

OTHER_FILES = 64
"""Files that are open besides connections, with room to spare."""


class Told(Struct, frozen=True):
    """A session that is over: its line, its transcript, and whether it was ever answered."""

    number: int
    line: str
    transcript: str
    answered: bool


class Driver:
    """Drives the sessions `numbers` of a script, `concurrency` of them at once."""

    def __init__(
        self, script: Script, numbers: Sequence[int], concurrency: int, api_key: str | None
    ) -> None:
        self._script = script
        self._rules = Rules(script.spec)
        self._waiting = iter(numbers)
        self._lanes = min(concurrency, len(numbers))
        self._api_key = api_key
        self._under_way: dict[int, Session] = {}

    async def run(self, take: Callable[[Told], None]) -> None:
        """Drives them all; `take` is told of each as it ends. Raises Fault."""
        _allow_connections(self._lanes)
        client = Client(self._script.spec, self._api_key)
        try:
            async with asyncio.TaskGroup() as lanes:
                for at in range(self._lanes):
                    lanes.create_task(self._lane(at, client, take))
        finally:
            await client.close()

    def unfinished(self) -> list[str]:
        """The transcripts, so far, of the sessions under way."""
        return [told.transcript(one) for one in self._under_way.values()]

    async def _lane(self, at: int, client: Client, take: Callable[[Told], None]) -> None:
        """One of the places that sessions take, one after another."""
        await asyncio.sleep(self._script.spec.ramp_s * at / self._lanes)
        for number in self._waiting:
            session = self._under_way[number] = begin(self._script, number)
            await drive(session, self._script, self._rules, client)
            del self._under_way[number]
            whole = told.transcript(session)
            take(Told(number, told.line(session), whole, session.answered))


def _allow_connections(count: int) -> None:
    """Has the system allow so many, as far as it may be asked. Raises Fault."""
    needed = count + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return
    if hard != resource.RLIM_INFINITY and hard < needed:
        raise Fault(f"{count} connections at once need {needed} open files, and {hard} are allowed")
    resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
