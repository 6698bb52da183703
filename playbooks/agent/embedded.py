"""Verbs of embedded services: start, stop, state, log.

A service belongs to its keeper; it is found again by the record in its folder, by an operator and
an agent that come later too.
"""

import json
import os
import re
import subprocess
import time
from typing import Any, Dict, List, Optional, Pattern, Set, Tuple

from playbooks.agent import durable, envfile, keeper, logs, procfs, subtree
from playbooks.agent.session import Handler, Session, VerbError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\Z")
_KEEPER_LIMIT_S = 10.0
_LOG_CHUNK = 1 << 20

Reply = Tuple[Dict[str, Any], bytes]


class Service:
    """A service of this host by its name, started or not."""

    def __init__(self, state_dir: str, name: str) -> None:
        if not _NAME.match(name):
            raise VerbError("bad-request", f"{name!r} cannot be the name of a service")
        self.name = name
        self.folder = keeper.Folder(os.path.join(os.path.realpath(state_dir), "services", name))

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

    def last_lines(self) -> List[str]:
        """The newest log lines since the last start."""
        record = self.record()
        return logs.last_lines(self.folder.log, record.cursor if record else 0)


def _prints_into(pid: int, path: str) -> bool:
    for fd in (1, 2):
        try:
            if os.readlink(f"/proc/{pid}/fd/{fd}") == path:
                return True
        except OSError:  # it is gone, is not ours to read, or has closed it
            continue
    return False


def start(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Start the service of `spec`; errors "running" and "start-failed"."""
    spec = request["spec"]
    service = Service(session.state_dir, spec["name"])
    left = service.processes()
    if left:
        raise VerbError(
            "running",
            f"{service.name} runs already, process {subtree.describe(left[0])}: stop it first",
            pids=[process.pid for process in left],
        )
    durable.make_private_dir(service.folder.path)
    asked = keeper.Request(
        service.folder.path,
        spec["command"],
        spec["cwd"],
        {**subtree.base_environment(), **_env_file(spec.get("env_file"), service.name)},
        spec["log_max_bytes"],
        spec["log_keep"],
    )
    _run_keeper(service, asked)
    record = service.record()
    if record is None:
        raise VerbError("start-failed", f"{service.name}: {service.folder.record} has vanished")
    return {
        "pid": record.main.pid,
        "start_ticks": record.main.start_ticks,
        "started_at": record.started_at,
        "cursor": record.cursor,
    }, b""


def _env_file(path: Optional[str], name: str) -> Dict[str, str]:
    if path is None:
        return {}
    try:
        with open(path, "rb") as file:
            return envfile.parse(file.read())
    except OSError as error:
        reason = error.strerror or str(error)
    except ValueError as error:
        reason = str(error)
    raise VerbError("start-failed", f"{name}: environment file {path}: {reason}")


def _run_keeper(service: Service, asked: keeper.Request) -> None:
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


def stop(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """SIGTERM to all of the service, SIGKILL after `timeout_s`; returns when nothing is left."""
    service = Service(session.state_dir, request["name"])
    requested_at = time.time()
    record = service.record()
    if record is None or not service.processes():
        return _stopped(requested_at, requested_at, killed=False, was_running=False)
    try:
        gone_at, killed = subtree.end(service.processes, record.main.pid, request["timeout_s"])
    except subtree.SurvivorsError as error:
        raise VerbError("stuck", f"{service.name}: SIGKILL did not end {error}") from None
    _settle(service, record)
    return _stopped(requested_at, gone_at, killed=killed, was_running=True)


def _stopped(requested_at: float, gone_at: float, *, killed: bool, was_running: bool) -> Reply:
    return {
        "requested_at": requested_at,
        "gone_at": gone_at,
        "killed": killed,
        "was_running": was_running,
    }, b""


def _settle(service: Service, record: keeper.Record) -> None:
    """Wait until the keeper has recorded the end; where it was killed, record what is known."""
    deadline = time.monotonic() + _KEEPER_LIMIT_S
    while procfs.is_running(record.keeper) and time.monotonic() < deadline:
        time.sleep(0.01)
    last = service.record()
    if last and not last.over and not procfs.is_running(last.keeper):
        service.folder.save(last._replace(over=True, ended_at=last.ended_at or time.time()))


def state(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Whether the service runs, as which processes, and how it ended."""
    service = Service(session.state_dir, request["name"])
    record, processes = service.record(), service.processes()
    main = record.main if record else None
    return {
        "running": any(process.identity == main for process in processes),
        "pid": main.pid if main else None,
        "start_ticks": main.start_ticks if main else None,
        "started_at": record.started_at if record else None,
        "exit_code": record.exit_code if record else None,
        "exit_signal": record.exit_signal if record else None,
        "ended_at": record.ended_at if record else None,
        "log_cursor": logs.end(service.folder.log),
        "start_cursor": record.cursor if record else None,
        "processes": [_describe(process) for process in processes],
    }, b""


def _describe(process: procfs.Process) -> Dict[str, Any]:
    return {
        "pid": process.pid,
        "ppid": process.ppid,
        "start_ticks": process.start_ticks,
        "started_at": procfs.epoch(process.start_ticks),
        "started_boot": process.start_ticks / procfs.TICKS_PER_SECOND,
        "command": procfs.command_line(process.pid),
    }


def log(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """The next whole lines of the log from `cursor` up to `end`, those that `grep` finds.

    `end` is the end of the log now where it is not given. At most `max_bytes` are returned;
    `truncated` says that lines were left out for it.
    """
    service = Service(session.state_dir, request["name"])
    pattern = compile_pattern(request["grep"]) if request.get("grep") else None
    newest = logs.end(service.folder.log)
    cursor, end = request["cursor"], request.get("end") or newest
    if cursor > newest:
        raise VerbError(
            "log-reset",
            f"the log of {service.name} ends at {newest}, before {cursor}: it was deleted",
        )
    piece = logs.read_lines(service.folder.log, cursor, end, _LOG_CHUNK)
    data = logs.matching(piece.data, pattern) if pattern else piece.data
    kept = _head(data, request.get("max_bytes"))
    facts = {"cursor": piece.cursor, "end": end, "lost": piece.lost}
    return {**facts, "truncated": len(kept) < len(data)}, kept


def _head(data: bytes, limit: Optional[int]) -> bytes:
    """The whole lines at the beginning of `data` that fit in `limit` bytes."""
    if limit is None or len(data) <= limit:
        return data
    return data[: data.rfind(b"\n", 0, limit) + 1]


def compile_pattern(text: str) -> Pattern[bytes]:
    """A regular expression for lines of UTF-8; error "bad-request" where it is none."""
    try:
        return re.compile(text.encode())
    except re.error as error:
        raise VerbError("bad-request", f"{text!r} is no regular expression: {error}") from None


VERBS: Dict[str, Handler] = {
    "service_start": start,
    "service_stop": stop,
    "service_state": state,
    "service_log": log,
}
SLOW_VERBS = frozenset({"service_start", "service_stop", "service_log"})
