"""Services that are units of systemd: started and stopped by it, their processes their cgroup's."""

import functools
import os
import re
import signal
import time
from contextlib import suppress
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from playbooks.agent import cgroups, clock, journald, procfs, subtree
from playbooks.agent.filelog import FileLog
from playbooks.agent.managed import (
    Cursor,
    Follow,
    Life,
    LogPiece,
    Managed,
    Started,
    State,
    Stopped,
    not_running,
)
from playbooks.agent.pace import pause
from playbooks.agent.session import VerbError
from playbooks.agent.systemctl import Manager
from playbooks.agent.unitfacts import FACTS, Seen, facts_of, failure

_KILL_LIMIT_S = 10.0
_LOOK_EVERY_S = (0.005, 0.02)
"""At least, and at most."""
_AWAITED_EVERY_S = 0.25
_CLOCK_GRAIN_S = 0.01
_FILES = ("NeedDaemonReload", "FragmentPath", "DropInPaths")
_SYSTEM_UNITS = ("/etc/systemd/system", "/run/systemd/system")
_TEMPLATE = re.compile(r"@.*\.")
"""In the name of an instance, what its template leaves out."""

_USER_UNITS = ("/etc/systemd/user", "~/.config/systemd/user")


class _Stop(NamedTuple):
    """The invocation of a unit that was stopped, and the end of its log then."""

    invocation: str
    cursor: Cursor


_stops: Dict[Tuple[bool, str], _Stop] = {}
"""Of units that something starts on demand, until they are started."""


class Unit(Managed):
    """The unit in `spec`, of the system or of the agent's user."""

    def __init__(self, spec: Dict[str, Any]) -> None:
        self.name, self.unit = spec["name"], spec["unit"]
        self._user = spec["user"]
        self._file = FileLog(self.name, spec["log"]) if spec.get("log") else None
        self._manager = Manager(user=self._user)

    def look(self) -> Seen:
        """What systemd says of the unit now."""
        return Seen(self.unit, self._manager.show(self.unit, Seen.PROPERTIES))

    def facts(self) -> Dict[str, Any]:
        """What systemd has read of its files. Errors: "unit-not-found", "masked"."""
        seen = self._manager.show(self.unit, FACTS)
        Seen(self.unit, {**dict.fromkeys(Seen.PROPERTIES, ""), **seen}).require_usable()
        hidden = self._file is None and journald.is_hidden()
        return {**facts_of(seen), "need_reload": self._need_reload(seen), "log_hidden": hidden}

    def start(self) -> Started:
        """Errors: "unit-not-found", "masked", "bad-unit", "running", "start-failed",

        "start-limit", "denied".
        """
        was_held = self._manager.holds(self.unit)
        shown = self._manager.show(self.unit, (*Seen.PROPERTIES, *_FILES, "LogNamespace"))
        before = Seen(self.unit, shown)
        before.require_usable()
        stopped = _stops.pop((self._user, self.unit), None)
        if before.up and stopped and before.invocation != stopped.invocation:
            return self._started(stopped.cursor)  # by its socket: somebody asked for it
        if before.up:
            raise VerbError("running", f"{self.name} runs already, {before.word}: stop it first")
        newest = self._file or journald.Newest(shown["LogNamespace"])
        self._read_again(shown, was_held)
        with suppress(VerbError):  # systemd may not know it
            self._manager.reset_failed(self.unit)  # its count of recent starts, too
        cursor = newest.end()
        self._manager.start(self.unit)
        return self._started(cursor)

    def _read_again(self, shown: Dict[str, str], was_held: bool) -> None:
        """Has systemd read the unit's files where it has not since they were changed."""
        if self._need_reload(shown) or (was_held and self._changed_since_read(shown)):
            self._manager.daemon_reload()

    def _started(self, cursor: Cursor) -> Started:
        """Waits until there is a main process, or systemd is through without one."""
        began = time.monotonic()
        while True:
            seen = self.look()
            if seen.restarting or not (seen.starting_up or seen.up):
                kind, what = failure(seen)
                log = self.last_lines(cursor)
                raise VerbError(kind, f"{self.name}: {what}", log=log, **seen.ended)
            if seen.main is not None or not seen.starting_up:
                break
            time.sleep(pause(time.monotonic() - began, *_LOOK_EVERY_S))
        main = seen.main
        started_at = procfs.epoch(main.start_ticks) if main else clock.now()
        return Started(
            main.pid if main else None,
            main.start_ticks if main else None,
            started_at,
            cursor,
            seen.invocation,
            seen.restarts,
        )

    def _changed_since_read(self, seen: Dict[str, str]) -> bool:
        """Whether one of the unit's files is newer than systemd's last reading of all units.

        NeedDaemonReload alone would not do: it passes over a file that got an older date back.
        """
        loaded_at = self._manager.units_load_timestamp()
        read_at = time.time() - time.monotonic() + loaded_at - _CLOCK_GRAIN_S
        files = [seen["FragmentPath"], *seen["DropInPaths"].split(), *self._dropins(seen)]
        return any(_changed_at(one) > read_at for one in files)

    def _need_reload(self, seen: Dict[str, str]) -> bool:
        """Whether systemd says so, or has not noticed a drop-in in a folder that is new to it."""
        known = {os.path.basename(one) for one in seen["DropInPaths"].split()}
        there = {os.path.basename(one) for one in self._dropins(seen)}
        return seen["NeedDaemonReload"] == "yes" or bool(there - known)

    def _dropins(self, seen: Dict[str, str]) -> List[str]:
        """The drop-ins that are in the unit's own folders now."""
        beside = os.path.dirname(seen["FragmentPath"])
        found = []
        for folder in {beside, *(_USER_UNITS if self._user else _SYSTEM_UNITS)} - {""}:
            for name in {self.unit, _TEMPLATE.sub("@.", self.unit)}:
                own = os.path.join(os.path.expanduser(folder), f"{name}.d")
                with suppress(OSError):
                    found += [os.path.join(own, one) for one in os.listdir(own)]
        return [one for one in found if one.endswith(".conf")]

    def stop(self, timeout_s: float) -> Stopped:
        """Has systemd stop it; SIGKILL after `timeout_s` to what is left in its cgroup."""
        requested_at, before = clock.now(), self.look()
        before.require_found()
        if not before.up and not cgroups.processes(before.group):
            return not_running()
        if before.triggered:  # its socket may start it again before we do: on what is now there
            self._read_again(self._manager.show(self.unit, _FILES), was_held=True)
            _stops[self._user, self.unit] = _Stop(before.invocation, self.log_end())
        self._manager.stop(self.unit)
        killed = self._wait_until_gone(before, timeout_s)
        return Stopped(requested_at, clock.now(), killed=killed, was_running=True)

    def _wait_until_gone(self, before: Seen, timeout_s: float) -> bool:
        """Whether SIGKILL was needed; another invocation is none of ours. Error: "stuck"."""
        began = looked_at = time.monotonic()
        deadline, killed, told = began + timeout_s, False, False
        while True:
            left = cgroups.processes(before.group)
            seen = None if left and not before.triggered else self.look()
            if seen and seen.up and seen.invocation not in ("", before.invocation):
                return killed
            if seen and not seen.up and not left:
                return killed or seen.result == "timeout"
            if left and time.monotonic() > deadline:
                if killed:
                    names = ", ".join(subtree.describe(one) for one in left)
                    raise VerbError("stuck", f"{self.name}: SIGKILL did not end {names}")
                _signal(left, signal.SIGKILL)
                deadline, killed = time.monotonic() + _KILL_LIMIT_S, True
            elif left and not told and time.monotonic() - looked_at > _AWAITED_EVERY_S:
                looked_at, told = time.monotonic(), not self.look().up
                if told:  # systemd is through and leaves them, as KillMode= says: nobody tells them
                    _signal(left, signal.SIGTERM)
            time.sleep(pause(time.monotonic() - began, *_LOOK_EVERY_S))

    def state(self) -> State:
        seen = self.look()
        seen.require_found()
        main = seen.main
        started = seen.started_at
        if main is not None:
            started = procfs.epoch(main.start_ticks)
        return State(
            running=seen.running,
            pid=main.pid if main else None,
            start_ticks=main.start_ticks if main else None,
            started_at=started,
            processes=cgroups.processes(seen.group),
            invocation=seen.invocation,
            restarts=seen.restarts,
            word=seen.word,
            **seen.ended,
            ended_at=seen.ended_at,
            began_boot=seen.began_boot,
        )

    def log_end(self) -> Cursor:
        if self._file:
            return self._file.end()
        return journald.newest(self._known["LogNamespace"])

    def last_start(self) -> Optional[Cursor]:
        return None

    def read_log(self, cursor: Cursor, end: Optional[Cursor]) -> LogPiece:
        return self.log().read(cursor, end)

    def follow(self, cursor: Cursor) -> Follow:
        return self.log().follow(cursor)

    def last_lines(self, cursor: Optional[Cursor] = None) -> List[str]:
        return self.log().last_lines(cursor)

    def life(self, started: Started) -> Life:
        return _Invocation(self, started)

    def log(self, invocation: str = "") -> Union[FileLog, journald.Journal]:
        """Its file, or what the journal has of it; of one invocation, where that is given."""
        if self._file:
            return self._file
        own, apart = self._known["Id"] or self.unit, self._known["LogNamespace"]
        return journald.Journal(
            self.name, own, user=self._user, namespace=apart, invocation=invocation
        )

    @functools.cached_property
    def _known(self) -> Dict[str, str]:
        """What its log goes by: the unit's own name, for which `unit` may be an alias."""
        return self._manager.show(self.unit, ("Id", "LogNamespace"))


class _Invocation(Life):
    """One invocation of a unit: over when systemd has begun another, or none runs any more."""

    def __init__(self, unit: Unit, started: Started) -> None:
        self._unit, self._started = unit, started
        self._main = started.main
        self._looked_at = 0.0
        self._awaited = ""

    def follow(self) -> Follow:
        return self._unit.log(self._started.invocation).follow(self._started.cursor)

    def require(self) -> None:
        if procfs.is_running(self._main):
            return
        if self._main is None and time.monotonic() - self._looked_at < _AWAITED_EVERY_S:
            return
        self._look()

    def awaited(self) -> str:
        if time.monotonic() - self._looked_at >= _AWAITED_EVERY_S or self._awaited:
            self._look()
        return self._awaited

    def _look(self) -> None:
        seen = self._unit.look()
        self._looked_at = time.monotonic()
        same = (seen.invocation, seen.restarts) == (
            self._started.invocation,
            self._started.restarts,
        )
        if not (same and seen.up) or seen.restarting:
            kind, what = failure(seen)
            raise VerbError(
                kind,
                f"{self._unit.name} ended before it was healthy: {what}",
                log=self._unit.last_lines(self._started.cursor),
                **seen.ended,
            )
        self._main = seen.main
        self._awaited = "" if seen.running else f"systemd says {seen.word}"


def _changed_at(path: str) -> float:
    """When the file changed last, whatever its date says; 0 where it is not there."""
    try:
        return os.stat(path).st_ctime
    except OSError:
        return 0.0


def _signal(processes: List[procfs.Process], number: int) -> None:
    for process in processes:
        if procfs.is_running(process.identity):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)
