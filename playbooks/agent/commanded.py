"""Services that commands manage: docker compose, supervisord, kubectl, serve scripts.

Whether one runs is said by its `status` command; which processes it has, by `pids` where that is
given. What its commands print goes to a log of ours, and so does what a script leaves running
prints, unless it has a log of its own.
"""

import contextlib
import json
import os
import re
import subprocess
import time
from typing import Any, Dict, List, NamedTuple, Optional, Set

from playbooks.agent import clock, durable, procfs, subtree
from playbooks.agent.embedded import read_env_file
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
from playbooks.agent.session import VerbError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*\Z")
_COMMAND_LIMIT_S = 300.0
_STATUS_LIMIT_S = 30.0
_LOOK_EVERY_S = 0.1
_LIFE_EVERY_S = 0.2
_LOG_MAX_BYTES = 16 << 20


class _Last(NamedTuple):
    """A start of ours: when it began, by both clocks, and the log's end before it."""

    started_at: float
    began_boot: float
    cursor: Cursor


class Commanded(Managed):
    """The service in `spec`."""

    def __init__(self, state_dir: str, spec: Dict[str, Any]) -> None:
        self.name = spec["name"]
        if not _NAME.match(self.name):
            raise VerbError("bad-request", f"{self.name!r} cannot be the name of a service")
        self._spec = spec
        self._folder = os.path.join(os.path.realpath(state_dir), "services", self.name)
        self._printed = os.path.join(self._folder, "commands.log")
        self._log = FileLog(self.name, spec["log"] or self._printed)

    def start(self) -> Started:
        """Errors: "running", "start-failed" with the last of what the command printed."""
        if self.is_up():
            raise VerbError("running", f"{self.name} runs already: stop it first")
        return self._begin("start")

    def restart(self) -> Started:
        """Stop and start in one, by its `restart` command. Errors: "start-failed"."""
        return self._begin("restart")

    def _begin(self, verb: str) -> Started:
        self._make_room()
        last = self._remember()  # first: whatever cuts the command off, it may run by then
        status = self._run(verb, _COMMAND_LIMIT_S)
        if status != 0:
            how = "took too long" if status is None else f"exited {status}"
            raise VerbError(
                "start-failed",
                f"{self.name}: its {verb} command {how}",
                log=FileLog(self.name, self._printed).last_lines(None),
            )
        main = _first(self._pids())
        pid, ticks = (main.pid, main.start_ticks) if main is not None else (None, None)
        return Started(pid, ticks, last.started_at, last.cursor)

    def stop(self, timeout_s: float) -> Stopped:
        """Runs `stop`, and waits until `status` and the processes agree. Error: "stuck"."""
        requested_at, left = clock.now(), _with_children(self._pids())
        if not left and not self.is_up():
            return not_running()
        status = self._run("stop", timeout_s)
        deadline = requested_at + timeout_s
        while any(procfs.is_running(one.identity) for one in left) or self.is_up():
            if clock.now() > deadline:
                how = "in time" if status is None else f"though its stop command exited {status}"
                raise VerbError("stuck", f"{self.name} did not stop {how}: stop it by hand")
            time.sleep(_LOOK_EVERY_S)
        return Stopped(requested_at, clock.now(), killed=False, was_running=True)

    def is_up(self) -> bool:
        """Whether its `status` command exits 0."""
        return self._run("status", _STATUS_LIMIT_S, quiet=True) == 0

    def state(self) -> State:
        running, pids = self.is_up(), self._pids()
        last = self._last()
        main = _first(pids) if running else None
        started_at = last.started_at if last else None
        if main is not None:
            started_at = procfs.epoch(main.start_ticks)
        return State(
            running=running,
            pid=main.pid if main else None,
            start_ticks=main.start_ticks if main else None,
            started_at=started_at if running else None,
            processes=_with_children(pids),
            began_boot=last.began_boot if last else None,
        )

    def log_end(self) -> Cursor:
        return self._log.end()

    def last_start(self) -> Optional[Cursor]:
        last = self._last()
        return last.cursor if last else None

    def read_log(self, cursor: Cursor, end: Optional[Cursor]) -> LogPiece:
        return self._log.read(cursor, end)

    def follow(self, cursor: Cursor) -> Follow:
        return self._log.follow(cursor)

    def last_lines(self, cursor: Optional[Cursor] = None) -> List[str]:
        return self._log.last_lines(cursor)

    def life(self, started: Started) -> Life:
        return _Status(self, started)

    def _pids(self) -> List[int]:
        """What its `pids` command prints."""
        if not self._spec["pids"]:
            return []
        done = self._child("pids", subprocess.PIPE)
        try:
            said, _ = done.communicate(timeout=_STATUS_LIMIT_S)
        except subprocess.TimeoutExpired:
            done.kill()
            said, _ = done.communicate()
        return [int(word) for word in said.split() if word.isdigit() and int(word)]

    def _run(self, verb: str, limit_s: float, *, quiet: bool = False) -> Optional[int]:
        """The exit status of one of its commands; None where that took too long."""
        output = os.open(os.devnull, os.O_WRONLY) if quiet else self._open_printed()
        try:
            child = self._child(verb, output)
        finally:
            os.close(output)
        try:
            return child.wait(limit_s)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
            return None

    def _child(self, verb: str, output: int) -> "subprocess.Popen[bytes]":
        """Starts one of its commands, with the variables of its env file."""
        variables = read_env_file(self._spec.get("env_file"), self.name)
        try:
            return subprocess.Popen(
                self._spec[verb],
                cwd=self._spec["cwd"],
                env={**subtree.base_environment(), **variables},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.DEVNULL if output == subprocess.PIPE else output,
                start_new_session=True,
            )
        except OSError as error:
            what = f"{self.name}: its {verb} command {self._spec[verb][0]}: {error.strerror}"
            raise VerbError("start-failed", what) from None

    def _open_printed(self) -> int:
        durable.make_private_dir(self._folder)
        return os.open(self._printed, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def _make_room(self) -> None:
        """Puts a log of ours that has grown large aside; what still writes to it goes on there."""
        with contextlib.suppress(FileNotFoundError):
            if os.stat(self._printed).st_size > _LOG_MAX_BYTES:
                os.replace(self._printed, self._printed + ".1")

    def _remember(self) -> "_Last":
        durable.make_private_dir(self._folder)
        last = _Last(clock.now(), clock.boot_clock(), self._log.end())
        text = json.dumps({"boot_id": procfs.boot_id(), "last": last._asdict()})
        durable.write_atomic(os.path.join(self._folder, "started.json"), text.encode())
        return last

    def _last(self) -> "Optional[_Last]":
        """Our last start of it in this boot of the host."""
        try:
            with open(os.path.join(self._folder, "started.json"), "rb") as file:
                found = json.loads(file.read().decode())
            return _Last(**found["last"]) if found["boot_id"] == procfs.boot_id() else None
        except (OSError, ValueError, KeyError, TypeError):
            return None


def _first(pids: List[int]) -> Optional[procfs.Identity]:
    """The first process among these that is there."""
    known = (procfs.identify(pid) for pid in pids)
    return next((one for one in known if one is not None), None)


def _with_children(pids: List[int]) -> List[procfs.Process]:
    """These processes and all below them, those that run."""
    table = procfs.table()
    roots = [pid for pid in pids if pid in table]
    found: Set[int] = {*roots, *procfs.descendants(roots, table)}
    return [table[pid] for pid in sorted(found) if table[pid].running]


class _Status(Life):
    """A service that its processes, or else its `status` command, say is there."""

    def __init__(self, service: Commanded, started: Started) -> None:
        self._service, self._started = service, started
        self._looked_at, self._was_up = 0.0, False
        self._up = False

    def follow(self) -> Follow:
        return self._service.follow(self._started.cursor)

    def require(self) -> None:
        main = self._started.main
        if main is not None and not procfs.is_running(main):
            self._crashed("its main process is gone")
        self._look()
        if self._was_up and not self._up:
            self._crashed("its status command says that it no longer runs")

    def awaited(self) -> str:
        return "" if self._up else "its status command does not exit 0 yet"

    def _look(self) -> None:
        now = time.monotonic()
        if now - self._looked_at >= _LIFE_EVERY_S:
            self._up, self._looked_at = self._service.is_up(), now
            self._was_up = self._was_up or self._up

    def _crashed(self, what: str) -> None:
        raise VerbError(
            "crashed",
            f"{self._service.name} ended before it was healthy: {what}",
            log=self._service.last_lines(self._started.cursor),
            exit_code=None,
            exit_signal=None,
        )
