"""The way to the agent of a machine, and machines that are dialled before they are needed."""

import sys
import threading
from collections.abc import Iterable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from msgspec.structs import asdict

from playbooks.hosts.connection import Channel, HostError
from playbooks.hosts.local import LocalChannel
from playbooks.system import Host as Machine
from playbooks.system import Ssh

if TYPE_CHECKING:
    from playbooks.hosts.ssh_config import SshTarget


def dial(machine: Machine, host_state: Path, replaces: int = 0) -> Channel:
    """A new agent on the machine; `host_state` is where this one has its state directory else.

    `replaces` is the pid of an agent that was lost there, or 0. Errors: HostError, HostLost.
    """
    if machine.ssh is None:
        state_dir = machine.state_dir or host_state
        return LocalChannel(state_dir, python=machine.python or sys.executable)
    from playbooks.hosts.ssh_config import route

    target = _target(machine, machine.ssh)
    way = route(target)  # another program's work: the library can be loaded meanwhile
    from playbooks.hosts.ssh import SshChannel

    return SshChannel(target, way, replaces=replaces)


def _target(machine: Machine, ssh: Ssh) -> "SshTarget":
    from playbooks.hosts.ssh_config import SshTarget

    return SshTarget(**asdict(ssh), python=machine.python or "python3")


_FIXES = {
    "unreachable": "see that it is up, and that {ssh} answers",
    "start-failed": "see what its login shell does: {ssh} true must end with 0",
    "no-journal": "see to that, or name another folder: state_dir: of this host",
    "journal-damaged": "put those back by hand, then remove the journal",
}


def advice(machine: Machine, error: HostError) -> str:
    """What to do about a machine that has no agent for us, where the error does not say it."""
    fix = _FIXES.get(error.kind, "")
    if machine.ssh is None:
        return fix
    from playbooks.hosts.ssh_config import by_hand

    return fix.format(ssh=by_hand(_target(machine, machine.ssh)))


class Ahead:
    """Other machines that are dialled while the program and its files are still being loaded.

    Nothing is asked of their agents. Those that nobody has taken at the end are let go: the files
    turned out wrong, or name them otherwise. Machines whose unknown key would be written down
    here wait until the files are checked.
    """

    def __init__(self, machines: Iterable[Machine]) -> None:
        others = [one for one in machines if one.ssh and not one.ssh.accept_new]
        self._dialled = {one: Future[Channel]() for one in others}

    def __enter__(self) -> Self:
        for machine, dialled in self._dialled.items():
            threading.Thread(target=_dial_into, args=(dialled, machine), daemon=True).start()
        if self._dialled:
            _load()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for left in self._dialled.values():
            left.add_done_callback(_let_go)

    def take(self, machine: Machine) -> Channel | None:
        """The machine's agent, once; None where it was not dialled. Errors: HostError."""
        dialled = self._dialled.pop(machine, None)
        return None if dialled is None else dialled.result()


NOBODY = Ahead(())


def _load() -> None:
    """Loads what dialling takes, before anything else is loaded beside it."""
    import playbooks.hosts.ssh  # noqa: F401
    from playbooks.hosts.bundle import bundle

    bundle()


def _dial_into(dialled: "Future[Channel]", machine: Machine) -> None:
    try:
        dialled.set_result(dial(machine, Path()))
    except BaseException as error:  # noqa: BLE001 - it is raised where the agent is wanted
        dialled.set_exception(error)


def _let_go(dialled: "Future[Channel]") -> None:
    if dialled.exception() is None:
        dialled.result().abandon()
