"""The passage into a boot: its hooks and its restart cycle, recorded and booked as they happen."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from campaign.engine import belief, cycle, reloading
from campaign.engine.booking import Books
from campaign.engine.commands import CommandFailed
from campaign.engine.hooks import Around, Hooks
from campaign.engine.lived import CycleFailed, Lived
from campaign.engine.measure import StepFailed
from campaign.engine.session import Session
from campaign.engine.steps import Doing, Steps
from campaign.engine.stop import Stopped
from campaign.engine.together import all_at_once
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.logs import Cursor
from playbooks.hosts.specs import spec_of
from playbooks.plan import Boot
from playbooks.playbook import logs_of
from playbooks.services.specs import specs_of
from playbooks.system import Service


class Passage:
    """Brings the services of a boot down and up again.

    `cursors` gives, for each service, where its log stood when the boot began; `since` when the
    stop was requested, on the host's clock (None: nothing was stopped), `cycle_id` the cycle in the
    ledger (None: there was none), and `down_s` how long it took everything down.
    """

    def __init__(
        self, session: Session, boot: Boot, boot_id: str, steps: Steps, hooks: Hooks
    ) -> None:
        self.cursors: dict[str, Cursor] = {}
        self.cycle_id: str | None = None
        self.since: float | None = None
        self.down_s = 0.0
        self._session = session
        self._boot = boot
        self._boot_id = boot_id
        self._steps = steps
        self._hooks = hooks

    def go(self) -> None:
        """Errors: StepFailed, Stopped, HostError, HostLost."""
        boot = self._boot
        kept = _logs_read(boot) | {*self._session.system.on_failure.collect}
        self.cursors = self._log_ends(kept - {*boot.services})
        if not boot.services:
            return
        services = [self._session.system.services[name] for name in boot.services]
        homes = dict.fromkeys(one.host for one in services)
        all_at_once(partial(self._note_restart, host, services) for host in homes)
        if boot.reload:
            self._cycle("reload", services)
        elif boot.batches:
            with self._session.guards.resting():
                self._cycle("restart", services)
        else:
            self._run_hooks(self._hooks.before, services)
            with self._session.guards.resting():
                self._cycle("restart", services)
            self._run_hooks(self._hooks.after, services)
        if not boot.changed:
            hosts = self._session.hosts
            all_at_once(hosts[name].settle for name in hosts.names())

    def _cycle(self, word: str, services: Sequence[Service]) -> None:
        names = ", ".join(self._boot.services)
        names += f" in batches of {self._boot.batch}" if self._boot.batches else ""
        undo = f"{word}s on the way back" if self._boot.changed else ""
        with self._doing(f"{word} {names}", word, undo) as doing:
            doing.detail = self._live(services).told()

    def _doing(self, name: str, kind: str, undo: str) -> AbstractContextManager[Doing]:
        return self._steps.doing(self._boot_id, name, kind, undo)

    def _run_hooks(
        self, hooks: Callable[[Sequence[Service], Around], None], services: Sequence[Service]
    ) -> None:
        def around(name: str, undo: str) -> AbstractContextManager[Doing]:
            return self._doing(name, "hook", undo)

        try:
            hooks(services, around)
        except HostLost:
            raise
        except (CommandFailed, HostError) as error:
            self._session.stop.check()
            raise StepFailed(str(error)) from error

    def _note_restart(self, host: str, services: Sequence[Service]) -> None:
        names = [one.name for one in services if one.host == host]
        self._session.hosts[host].note_restart(
            names,
            run=self._session.batch,
            specs=specs_of(self._session.system, host, self._boot.batches),
            reload=self._boot.reload,
        )

    def _live(self, services: Sequence[Service]) -> Lived:
        """A cycle, booked whichever way it ends."""
        groups = self._session.system.restart_groups
        lived = cycle.begin(services, self._session.hosts, groups, self._boot.batches)
        outcome = "failed"
        try:
            self._go_through(lived)
            outcome = "healthy"
        except Stopped:
            outcome = "aborted"
            raise
        except CycleFailed as error:
            raise StepFailed(str(error)) from error
        finally:
            self._book(lived, outcome)
        return lived

    def _go_through(self, lived: Lived) -> None:
        hosts, stop = self._session.hosts, self._session.stop
        if self._boot.reload:
            reloading.live(lived, hosts, stop)
        else:
            cycle.live(lived, hosts, stop, [belief.load_ahead], self._batch)

    @contextmanager
    def _batch(self, services: Sequence[Service]) -> Iterator[None]:
        """Around a batch of a rollout, whose hooks are run as it comes."""
        self._run_hooks(self._hooks.before, services)
        yield
        self._run_hooks(self._hooks.after, services)

    def _log_ends(self, names: Iterable[str]) -> dict[str, Cursor]:
        services = (self._session.system.services[name] for name in names)
        return {
            one.name: self._session.hosts[one.host].service_log_end(spec_of(one))
            for one in services
        }

    def _book(self, lived: Lived, outcome: str) -> None:
        self.since = None if self._boot.reload else lived.requested_at
        self.down_s = lived.downtime_s
        books = Books(self._session.recorder, self._session.system.cost)
        self.cycle_id = books.cycle(self._boot_id, self._steps.run, lived, outcome)
        self.cursors.update({name: one.cursor for name, one in lived.started.items()})


def _logs_read(boot: Boot) -> set[str]:
    """The services whose logs the boot's measures read."""
    return {name for step in boot.measures for name in logs_of(step.action)}
