"""Asks systemd's manager, of the system or of the agent's user, as systemctl(1) does.

It is asked over D-Bus (org.freedesktop.systemd1(5)), which starts no process; what it shows of a
unit is written as `systemctl show` writes it.
"""

import os
import socket
import subprocess
from typing import Any, Callable, Dict, List, Sequence, TypeVar

from playbooks.agent import subtree
from playbooks.agent.dbus import Bus, CallError
from playbooks.agent.session import VerbError

_LIMIT_S = 90.0
_NO_SYSTEMD = "is not there: this host is not run by systemd"
_SYSTEMD = "org.freedesktop.systemd1"
_OBJECT = "/org/freedesktop/systemd1"
_MANAGER = f"{_SYSTEMD}.Manager"
_PROPERTIES = "org.freedesktop.DBus.Properties"
_NO_SUCH_UNIT = f"{_SYSTEMD}.NoSuchUnit"
_DENIED = ("AccessDenied", "InteractiveAuthorizationRequired")

_PRIVATE = "/run/systemd/private"
_BUS = "/run/dbus/system_bus_socket"

_T = TypeVar("_T")

_idle: Dict[str, List[Bus]] = {}
"""Connections that nobody uses now, by their sockets."""


def environment() -> Dict[str, str]:
    """What systemd's own commands are run with: plain words, no pager, the user's manager."""
    words = {"LC_ALL": "C", "SYSTEMD_COLORS": "0", "SYSTEMD_PAGER": "", "SYSTEMD_LESS": ""}
    return {**subtree.base_environment(), **words, "XDG_RUNTIME_DIR": _runtime()}


def _runtime() -> str:
    return os.environ.get("XDG_RUNTIME_DIR", f"/run/user/{os.getuid()}")


def run(argv: Sequence[str], limit_s: float = _LIMIT_S) -> "subprocess.CompletedProcess[bytes]":
    """Runs one of systemd's commands. Errors: "no-systemd", "systemd"."""
    try:
        return subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            cwd="/",
            timeout=limit_s,
            check=False,
        )
    except FileNotFoundError:
        raise VerbError("no-systemd", f"{argv[0]} {_NO_SYSTEMD}") from None
    except subprocess.TimeoutExpired:
        words = " ".join(argv)
        raise VerbError("systemd", f"{words} did not answer within {limit_s:g} s") from None


class Manager:
    """The system's manager, or with `user` the one of the user that the agent runs as.

    Errors of its methods: "denied", "no-systemd", "systemd".
    """

    def __init__(self, *, user: bool) -> None:
        self.user = user

    def show(self, unit: str, names: Sequence[str]) -> Dict[str, str]:
        """Properties of a unit at one moment; "" for one that it does not have."""

        def ask(bus: Bus) -> List[Any]:
            (path,) = bus.call(_SYSTEMD, _OBJECT, _MANAGER, "LoadUnit", unit)
            return bus.call(_SYSTEMD, path, _PROPERTIES, "GetAll", "")

        (pairs,) = self._ask("show", ask)
        found = dict(pairs)
        return {name: _shown(name, found[name]) if name in found else "" for name in names}

    def holds(self, unit: str) -> bool:
        """Whether it has read the unit's files and still knows what it read.

        It forgets a unit that does not run and that nothing refers to, and reads it anew when it is
        next asked for it.
        """

        def ask(bus: Bus) -> bool:
            try:
                bus.call(_SYSTEMD, _OBJECT, _MANAGER, "GetUnit", unit)
            except CallError as error:
                if error.name != _NO_SUCH_UNIT:
                    raise
                return False
            return True

        return self._ask("show", ask)

    def units_load_timestamp(self) -> float:
        """When it last read all units' files, in seconds of the monotonic clock."""
        asked = (_SYSTEMD, _OBJECT, _PROPERTIES, "Get", _MANAGER, "UnitsLoadTimestampMonotonic")
        (at,) = self._ask("show", lambda bus: bus.call(*asked))
        return float(at) / 1e6

    def start(self, unit: str) -> None:
        """Has it start a unit, and does not wait for that."""
        self._call("start", "StartUnit", unit, "replace")

    def stop(self, unit: str) -> None:
        """Has it stop a unit, and does not wait for that."""
        self._call("stop", "StopUnit", unit, "replace")

    def reset_failed(self, unit: str) -> None:
        """Has it forget that a unit failed, and how often it was started of late."""
        self._call("reset-failed", "ResetFailedUnit", unit)

    def daemon_reload(self) -> None:
        """Has it read all units' files again, and waits until it has."""
        self._call("daemon-reload", "Reload")

    def _call(self, verb: str, member: str, *texts: str) -> None:
        self._ask(verb, lambda bus: bus.call(_SYSTEMD, _OBJECT, _MANAGER, member, *texts))

    def _ask(self, verb: str, ask: Callable[[Bus], _T]) -> _T:
        """Asks over an idle connection; one that has broken since, as at a reexec, is replaced."""
        what, idle = f"systemctl {verb}", _idle.setdefault(self._socket, [])
        bus, known = (idle.pop(), True) if idle else (self._connect(what), False)
        try:
            found = ask(bus)
        except CallError as error:
            idle.append(bus)
            raise _refusal(what, error) from None
        except OSError as error:
            bus.close()
            if known and isinstance(error, ConnectionError):
                return self._ask(verb, ask)
            late = isinstance(error, socket.timeout)
            said = f"no answer within {_LIMIT_S:g} s" if late else error
            raise VerbError("systemd", f"{what}: {said}") from None
        idle.append(bus)
        return found

    def _connect(self, what: str) -> Bus:
        try:
            return Bus(self._socket, peer=self._socket != _BUS, limit_s=_LIMIT_S)
        except OSError as error:
            fix = "the host is not run by systemd, or not for us"
            if self.user:
                fix = f"user {os.getuid()} has no manager of its own: loginctl enable-linger"
            reason = error.strerror or error
            raise VerbError("no-systemd", f"{what}: {fix} ({reason})") from None

    @property
    def _socket(self) -> str:
        """Its own, where that lets us in: it does without a bus."""
        if self.user:
            return f"{_runtime()}/systemd/private"
        return _PRIVATE if os.geteuid() == 0 else _BUS


def _refusal(what: str, error: CallError) -> VerbError:
    if error.name.rpartition(".")[2] in _DENIED:
        return VerbError("denied", f"{what}: not permitted; say sudo: true for this host")
    return VerbError("systemd", f"{what}: {error or error.name}")


def _shown(name: str, value: Any) -> str:
    """A property's value as text."""
    if name == "LoadError":
        return f'{value[0]} "{value[1]}"' if value[0] else ""
    if name == "Job":
        return str(value[0])
    if name == "EnvironmentFiles":
        return "\n".join(f"{path} (ignore_errors={_word(ignored)})" for path, ignored in value)
    if name == "ExecStart":
        return "\n".join(_command(*one[:3]) for one in value)
    if isinstance(value, bytes):
        return value.hex()
    return " ".join(value) if isinstance(value, list) else _word(value)


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _command(path: str, argv: List[str], ignored: bool) -> str:
    return f"{{ path={path} ; argv[]={' '.join(argv)} ; ignore_errors={_word(ignored)} ; }}"
