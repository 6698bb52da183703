"""Embedded services: processes that a keeper of ours starts and watches.

A service belongs to its keeper; it is found again by the record in its folder, by an operator and
an agent that come later too.
"""

import json
import os
import re
import subprocess
import time
from typing import Any, Dict, List, Optional, Set

from playbooks.agent import clock, durable, envfile, keeper, logs, procfs, subtree
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
    wrong_cursor,
)
from playbooks.agent.session import VerbError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]*\Z")
_KEEPER_LIMIT_S = 10.0
_LOG_CHUNK = 1 << 20
_RECORD_WAIT_S = 1.0


class Embedded(Managed):
    """A service of this host by the name in `spec`, started or not."""

    def __init__(self, state_dir: str, spec: Dict[str, Any]) -> None:
        self.name = spec["name"]
        if not _NAME.match(self.name):
            raise VerbError("bad-request", f"{self.name!r} cannot be the name of a service")
        self._spec = spec
        folder = os.path.join(os.path.realpath(state_dir), "services", self.name)
        self.folder = keeper.Folder(folder)

    def record(self) -> Optional[keeper.Record]:
        """What is recorded of the last start in this boot of the machine."""
        try:
            record = self.folder.load()
        except ValueError as error:
            where = self.folder.record
            raise VerbError(
                "damaged",
                f"{where} cannot be read ({error}): end {self.name} by hand, then delete the file",
            ) from None
        return record if record and record.boot_id == procfs.boot_id() else None

    def processes(self) -> List[procfs.Process]:
        """All running processes of the service, by pid."""
        record = self.record()
        if record is None or record.over:
            return []
        table = procfs.table()
        if procfs.is_running(record.keeper):
            found = procfs.descendants([record.keeper.pid], table)
        else:
            found = self._without_keeper(record, table)
        return [table[pid] for pid in sorted(found) if table[pid].running]

    def _without_keeper(self, record: keeper.Record, table: procfs.Table) -> Set[int]:
        """The service of a killed keeper: its main process, who prints into its pipe, and below."""
        roots = {pid for pid in table if _prints_into(pid, self.folder.output)}
        if record.main in (process.identity for process in table.values()):
            roots.add(record.main.pid)
        return roots | procfs.descendants(roots, table)

    def start(self) -> Started:
        left = self.processes()
        if left:
            raise VerbError(
                "running",
                f"{self.name} runs already, process {subtree.describe(left[0])}: stop it first",
                pids=[process.pid for process in left],
            )
        durable.make_private_dir(self.folder.path)
        spec = self._spec
        asked = keeper.Request(
            self.folder.path,
            spec["command"],
            spec["cwd"],
            {**subtree.base_environment(), **read_env_file(spec.get("env_file"), self.name)},
            spec["log_max_bytes"],
            spec["log_keep"],
        )
        _run_keeper(self, asked)
        record = self.record()
        if record is None:
            raise VerbError("start-failed", f"{self.name}: {self.folder.record} has vanished")
        return Started(record.main.pid, record.main.start_ticks, record.started_at, record.cursor)

    def stop(self, timeout_s: float) -> Stopped:
        """SIGTERM to all of the service, SIGKILL after `timeout_s`."""
        requested_at = clock.now()
        record = self.record()
        if record is None or not self.processes():
            return not_running()
        try:
            gone_at, killed = subtree.end(self.processes, record.main.pid, timeout_s)
        except subtree.SurvivorsError as error:
            raise VerbError("stuck", f"{self.name}: SIGKILL did not end {error}") from None
        _settle(self, record)
        return Stopped(requested_at, gone_at, killed=killed, was_running=True)

    def state(self) -> State:
        record, processes = self.record(), self.processes()
        if record is None:
            return State(False, None, None, None, processes)
        running = any(process.identity == record.main for process in processes)
        return State(
            running,
            record.main.pid,
            record.main.start_ticks,
            record.started_at,
            processes,
            record.exit_code,
            record.exit_signal,
            record.ended_at,
        )

    def log_end(self) -> Cursor:
        return logs.end(self.folder.log)

    def last_start(self) -> Optional[Cursor]:
        record = self.record()
        return record.cursor if record else 0

    def read_log(self, cursor: Cursor, end: Optional[Cursor]) -> LogPiece:
        newest = logs.end(self.folder.log)
        until = newest if end is None else end
        if not isinstance(cursor, int) or not isinstance(until, int):
            raise wrong_cursor(self.name, cursor)
        if cursor > newest:
            raise VerbError(
                "log-reset",
                f"the log of {self.name} ends at {newest}, before {cursor}: it was deleted",
            )
        piece = logs.read_lines(self.folder.log, cursor, until, _LOG_CHUNK)
        done = piece.cursor >= until
        return LogPiece(piece.data, piece.cursor, until, done, lost_bytes=piece.lost)

    def follow(self, cursor: Cursor) -> Follow:
        return _Segments(self, cursor)

    def last_lines(self, cursor: Optional[Cursor] = None) -> List[str]:
        since = self.last_start() if cursor is None else cursor
        return logs.last_lines(self.folder.log, since if isinstance(since, int) else 0)

    def life(self, started: Started) -> Life:
        return _Kept(self, started)


def running(state_dir: str) -> List[str]:
    """The names of all services that keepers of this state directory keep now."""
    try:
        names = sorted(os.listdir(os.path.join(state_dir, "services")))
    except FileNotFoundError:
        return []
    services = [Embedded(state_dir, {"name": name}) for name in names if _NAME.match(name)]
    return [service.name for service in services if service.processes()]


class _Segments(Follow):
    """The segments of a log, each byte once."""

    def __init__(self, service: Embedded, cursor: Cursor) -> None:
        if not isinstance(cursor, int):
            raise wrong_cursor(service.name, cursor)
        self._folder, self._cursor = service.folder.log, cursor

    def read(self) -> bytes:
        end = logs.end(self._folder)
        if self._cursor >= end:
            return b""
        piece = logs.read(self._folder, self._cursor, end, _LOG_CHUNK)
        self._cursor = piece.cursor
        return piece.data

    def close(self) -> None:
        """Nothing is open between two looks."""


class _Kept(Life):
    """A main process, and what its keeper records of its end."""

    def __init__(self, service: Embedded, started: Started) -> None:
        self._service, self._started, self._main = service, started, started.main

    def follow(self) -> Follow:
        return self._service.follow(self._started.cursor)

    def require(self) -> None:
        if procfs.is_running(self._main):
            return
        ended = self._how_it_ended()
        how = f"exit code {ended['exit_code']}" if ended["exit_code"] is not None else "unknown"
        if ended["exit_signal"] is not None:
            how = f"signal {ended['exit_signal']}"
        raise VerbError(
            "crashed",
            f"{self._service.name} ended before it was healthy: {how}",
            log=self._service.last_lines(),
            **ended,
        )

    def _how_it_ended(self) -> Dict[str, Optional[int]]:
        """From the keeper's record, which follows the end in a moment."""
        deadline = time.monotonic() + _RECORD_WAIT_S
        record = self._service.record()
        while record and record.main == self._main and record.ended_at is None:
            if time.monotonic() > deadline:
                break
            time.sleep(0.01)
            record = self._service.record()
        if record is None or record.main != self._main:
            return {"exit_code": None, "exit_signal": None}
        return {"exit_code": record.exit_code, "exit_signal": record.exit_signal}


def _prints_into(pid: int, path: str) -> bool:
    for fd in (1, 2):
        try:
            if os.readlink(f"/proc/{pid}/fd/{fd}") == path:
                return True
        except OSError:  # it is gone, is not ours to read, or has closed it
            continue
    return False


def read_env_file(path: Optional[str], name: str) -> Dict[str, str]:
    """The variables that a service's env file sets now, none without one; error "start-failed"."""
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            return envfile.parse(file.read())
    except FileNotFoundError:
        return {}
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:
        reason = str(error)
    raise VerbError("start-failed", f"{name}: environment file {path}: {reason}")


def _run_keeper(service: Embedded, asked: keeper.Request) -> None:
    """Start a keeper and wait for its word; what the agent itself inherits does not reach it."""
    try:
        done = subprocess.run(
            subtree.supervisor("playbooks.agent.keeper"),
            input=json.dumps(asked._asdict()).encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=subtree.base_environment(),
            cwd="/",
            start_new_session=True,
            timeout=_KEEPER_LIMIT_S,
            check=False,
        )
        word = json.loads(done.stdout.decode())
    except (subprocess.TimeoutExpired, ValueError):
        faults = os.path.join(service.folder.path, "keeper.err")
        raise VerbError("start-failed", f"{service.name}: no keeper, see {faults}") from None
    if word:
        raise VerbError(word["kind"], f"{service.name}: {word['message']}")


def _settle(service: Embedded, record: keeper.Record) -> None:
    """Wait until the keeper has recorded the end; where it was killed, record what is known."""
    deadline = time.monotonic() + _KEEPER_LIMIT_S
    while procfs.is_running(record.keeper) and time.monotonic() < deadline:
        time.sleep(0.01)
    last = service.record()
    if last and not last.over and not procfs.is_running(last.keeper):
        service.folder.save(last._replace(over=True, ended_at=last.ended_at or clock.now()))
