"""What services want run around their restarts: before the stop, and once they are healthy.

The host's journal learns of each undo before its command runs, so that no failure leaves a drained
service or a silenced alert behind.
"""

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from msgspec import Struct, field

from campaign.engine.commands import CommandFailed, Doer
from campaign.engine.hosts import Hosts
from campaign.engine.stop import Stop
from playbooks.hosts.connection import HostError
from playbooks.system import Hook, Service

BEFORE_STOP = "before stop"
AFTER_HEALTHY = "after healthy"

_TITLE = 60


class Told(Protocol):
    """A hook under way, as it is recorded: its `id` names its undo, `detail` what came of it."""

    id: str
    detail: str


Around = Callable[[str, str], AbstractContextManager[Told]]
"""Records a hook, by its name and by how it goes back, around its performance."""


class Standing(Struct, frozen=True):
    """A hook whose effect is in place until its undo, noted under `id` on `host`, has run."""

    id: str
    name: str
    service: str
    host: str
    moment: str


class Hooks:
    """The hooks of one run, or of its way back (`last`), and which of them stand.

    On the way back `after_healthy` hooks that have an undo are left out: the base is what it was.
    Errors of `before` and `after`: CommandFailed, Stopped, HostError, HostLost.
    """

    def __init__(self, hosts: Hosts, run: str, stop: Stop | None, *, last: bool = False) -> None:
        self.standing: list[Standing] = []
        self._hosts = hosts
        self._run = run
        self._stop = stop
        self._last = last

    def before(self, services: Sequence[Service], around: Around) -> None:
        """What comes before `services`, in start order, are stopped."""
        for service in reversed(services):
            self._take_back(service, AFTER_HEALTHY, around)
            for hook in service.before_stop:
                self._perform(hook, service, BEFORE_STOP, around)

    def after(self, services: Sequence[Service], around: Around) -> None:
        """What comes once `services`, in start order, are healthy."""
        for service in services:
            self._take_back(service, BEFORE_STOP, around)
            for hook in service.after_healthy:
                if not (self._last and hook.undo):
                    self._perform(hook, service, AFTER_HEALTHY, around)

    def _perform(self, hook: Hook, service: Service, moment: str, around: Around) -> None:
        name, undo = hook_name(hook, service, moment), undo_of(hook, moment)
        host = hook.on or service.host
        stop = self._stop.event if self._stop else None
        doer = Doer(self._hosts[host], hook.cwd, stop=stop)
        with around(name, undo) as told:
            if doer.is_in_place(hook):
                told.detail = "in place already, and left as it is"
                return
            if hook.undo:
                self.standing.append(Standing(told.id, name, service.name, host, moment))
            told.detail = doer.perform(hook, told.id, self._run)

    def _take_back(self, service: Service, moment: str, around: Around) -> None:
        """Undoes the hooks of `service` that stand since `moment`, the last one first."""
        for one in self.standing[::-1]:
            if (one.service, one.moment) == (service.name, moment):
                with around(f"undo: {one.name}", "") as told:
                    result = self._hosts[one.host].undo_commands([one.id])
                    for conflict in result.conflicts:
                        raise CommandFailed(conflict.instructions)
                    told.detail = "its undo command was run"
                    self.standing.remove(one)


def hook_name(hook: Hook, service: Service, moment: str) -> str:
    """A hook in a line: its service, its moment, and the command itself."""
    script = hook.do[:2] == ("/bin/sh", "-c")
    words = " ".join((hook.do[-1] if script else shlex.join(hook.do)).split())
    shown = words if len(words) <= _TITLE else f"{words[: _TITLE - 3]}..."
    return f"{moment} of {service.name}: {shown}"


def undo_of(hook: Hook, moment: str) -> str:
    """When a hook is taken back, in words."""
    if hook.undo is None:
        return ""
    return "undone once healthy" if moment == BEFORE_STOP else "undone before its next stop"


def hooks_of(services: Sequence[Service], *, last: bool) -> Iterator[tuple[str, str]]:
    """What a restart of `services` runs besides, in order, each with how it goes back.

    `last`: the restart leads back to the base.
    """
    for service in reversed(services):
        for hook in service.before_stop:
            yield hook_name(hook, service, BEFORE_STOP), undo_of(hook, BEFORE_STOP)
    for service in services:
        for hook in service.after_healthy:
            if last and hook.undo:
                continue
            yield hook_name(hook, service, AFTER_HEALTHY), undo_of(hook, AFTER_HEALTHY)


class HooksBack(Struct, frozen=True):
    """Hooks on the way back, which they may not stop. Errors of its methods: HostLost.

    What fails of those that come first is told by `warn`, and of the others kept in `failed`.
    """

    hooks: Hooks
    around: Around
    warn: Callable[[str], None]
    failed: list[str] = field(default_factory=list)

    @contextmanager
    def __call__(self, services: Sequence[Service]) -> Iterator[None]:
        """Around a batch of a rollout."""
        self.before(services)
        yield
        self.after(services)

    def before(self, services: Sequence[Service]) -> None:
        """What comes before `services` are stopped."""
        try:
            self.hooks.before(services, self.around)
        except (CommandFailed, HostError) as error:
            self.warn(str(error))

    def after(self, services: Sequence[Service]) -> None:
        """What comes once `services` are healthy."""
        try:
            self.hooks.after(services, self.around)
        except (CommandFailed, HostError) as error:
            self.failed.append(str(error))
