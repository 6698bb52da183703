"""The hosts of a run: one agent each, whose lock is held."""

import socket
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from getpass import getuser
from types import TracebackType

from campaign.engine.dialling import NOBODY, Ahead, advice, dial
from campaign.engine.together import all_at_once, by_name
from campaign.errors import CampaignError, Exit
from campaign.workspace import Workspace
from playbooks.hosts.connection import Channel, HostError, HostLost
from playbooks.hosts.files import NO_VARIABLES
from playbooks.hosts.host import Host
from playbooks.system import LEASE_S, Service
from playbooks.system import Host as Machine

_REFUSALS = frozenset({"locked", "no-journal", "journal-damaged", "journal-newer"})
_NOT_WITHOUT = (
    "take a host that is gone for good out of campaign.yaml: all of them have to answer, used or "
    "not, since what stands changed on one is a condition of every run"
)


def operator() -> str:
    """Who runs this, for locks and journals: user@machine."""
    return f"{getuser()}@{socket.gethostname()}"


NO_SERVICES: Mapping[str, Service] = {}


class Hosts:
    """The agents of a run, one a host, each holding its host's lock until closed.

    Opening refuses a host that another operator holds (Exit.REFUSED, naming the holder). One whose
    connection was lost is dialled again when it is next asked for: a call that was under way has
    failed, and is not repeated. One that has put itself back meanwhile, since our lease of
    `lease_s` was over, refuses itself until it is asked for `again`. With `takes_over` agents that
    wait for another operator make way. `ahead` has those that are dialled already, `services` are
    those of campaign.yaml. `secrets` go to hosts where a command that was given some is to be
    undone. Its methods may be called from any thread.
    """

    def __init__(
        self,
        workspace: Workspace,
        machines: Mapping[str, Machine],
        run: str,
        lease_s: float = LEASE_S,
        *,
        takes_over: bool = False,
        ahead: Ahead = NOBODY,
        services: Mapping[str, Service] = NO_SERVICES,
        secrets: Mapping[str, str] = NO_VARIABLES,
    ) -> None:
        self.workspace = workspace
        self._machines = dict(machines)
        self._run = run
        self._lease_s = lease_s
        self._takes_over = takes_over
        self._ahead = ahead
        self.services = services
        self._secrets = secrets
        self._open: dict[str, Host] = {}
        self._lost: dict[str, int] = {}
        self._lapsed: set[str] = set()
        self._held: set[str] = set()
        self._unanswered: dict[str, Channel] = {}
        self._given_up = False
        self._dialling = {name: threading.Lock() for name in self._machines}
        if any(machine.ssh for machine in self._machines.values()):
            import playbooks.hosts.ssh  # noqa: F401 - before anything beside the dialling loads

    def __enter__(self) -> "Hosts":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __getitem__(self, name: str) -> Host:
        """The host, its lock held. Errors: CampaignError."""
        return self._opened(name, lock=True)

    def names(self) -> tuple[str, ...]:
        return tuple(self._machines)

    def machine(self, name: str) -> Machine:
        """How the host is reached."""
        return self._machines[name]

    def hold(self) -> None:
        """Takes the locks of all hosts, at once. Errors: CampaignError, naming all that failed."""
        self._each(self.__getitem__)

    def peek(self, name: str) -> Host:
        """The host for reading only: no lock is taken unless it is held already."""
        return self._opened(name, lock=False)

    def look(self) -> None:
        """Has all hosts ready to be peeked at, at once. Errors: as `hold`."""
        self._each(self.peek)

    def _each(self, opened: Callable[[str], Host]) -> None:
        found = by_name({name: partial(_failure, opened, name) for name in self._machines})
        failures = [one for one in found.values() if one is not None]
        if failures:
            raise _failures(failures)

    def again(self, name: str) -> Host:
        """A fresh agent in place of one that was lost. Errors: CampaignError."""
        with self._dialling[name]:
            old = self._open.pop(name, None)
            if old is not None:
                if old.lost:
                    self._lost[name] = old.greeting.pid
                old.close()
            self._lapsed.discard(name)
            return self._replace(name, lock=True)

    def lost(self) -> tuple[str, ...]:
        """Those in use whose connection has ended, and that were not dialled again since."""
        return tuple(name for name, host in tuple(self._open.items()) if host.lost)

    def close(self) -> None:
        """Lets go of all; one that is being dialled just now is waited for."""
        all_at_once(partial(self._close, name) for name in self._machines)

    def _close(self, name: str) -> None:
        with self._dialling[name]:
            host = self._open.pop(name, None)
            if host is not None:
                host.close()

    def give_up(self) -> None:
        """From any thread: agents that have not answered yet are ended, and no more are started.

        Who waits for one learns that it did not start.
        """
        self._given_up = True
        for channel in tuple(self._unanswered.values()):
            channel.abandon()

    def _opened(self, name: str, *, lock: bool) -> Host:
        with self._dialling[name]:
            host = self._open.get(name)
            if host is None:
                return self._replace(name, lock=lock)
            if host.lost:
                self._lost[name] = host.greeting.pid
                with suppress(CampaignError):  # else whoever calls it learns that it is lost
                    self._replace(name, lock=lock)
                    host.close()
                    self._note_lapsed(name, host.greeting.pid)
            if name in self._lapsed:
                raise self._lease_lost(name)
            return self._open[name]

    def _note_lapsed(self, name: str, agent: int) -> None:
        if agent in self._open[name].greeting.lapsed_agents:
            self._lapsed.add(name)

    def _lease_lost(self, name: str) -> CampaignError:
        what = (
            f"host {name} did not hear of this run for {self._lease_s:g} s: its lease is over, and "
            "the host has put itself back"
        )
        error = CampaignError(Exit.STEP_FAILED, what, "run it again")
        error.__cause__ = HostError("lapsed", what)
        return error

    def _replace(self, name: str, *, lock: bool) -> Host:
        lock = lock or name in self._held
        replaces = self._lost.get(name, 0)
        host = self._open[name] = self._dial(name, lock=lock, replaces=replaces)
        if lock:
            self._held.add(name)
            if self._secrets and host.greeting.outstanding.commands:
                host.entrust(self._secrets)
        return host

    def _dial(self, name: str, *, lock: bool, replaces: int = 0) -> Host:
        machine = self._machines[name]
        try:
            channel = self._ahead.take(machine) or dial(
                machine, self.workspace.host_state, replaces
            )
            return self._greet(name, channel, lock=lock)
        except HostError as error:
            code = Exit.REFUSED if error.kind in _REFUSALS else Exit.UNREACHABLE
            raise CampaignError(code, f"host {name}: {error}", advice(machine, error)) from error
        except HostLost as error:
            raise CampaignError(
                Exit.UNREACHABLE, f"host {name}: the agent did not start: {error.reason}"
            ) from error

    def _greet(self, name: str, channel: Channel, *, lock: bool) -> Host:
        self._unanswered[name] = channel
        try:
            if self._given_up:
                channel.abandon()
            return Host.open(
                channel,
                lock=lock,
                who=operator(),
                run=self._run,
                name=name,
                lease_s=self._lease_s,
                takes_over=self._takes_over,
            )
        finally:
            del self._unanswered[name]


def _failure(opened: Callable[[str], Host], name: str) -> CampaignError | None:
    try:
        opened(name)
    except CampaignError as error:
        return error
    return None


def _failures(failures: Sequence[CampaignError]) -> CampaignError:
    """All in one; of a host that is away, why the others do not do without it."""
    first, *others = failures
    what = "; ".join(map(str, failures)) if others else first.what
    fix = "" if others else first.fix
    if any(one.exit is Exit.UNREACHABLE for one in failures):
        fix = "; or ".join(filter(None, (fix, _NOT_WITHOUT)))
    return CampaignError(first.exit, what, fix)
