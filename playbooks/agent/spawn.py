"""Verbs that run commands for the operator: their output streams to it, and they end with it.

Every command runs on a leash (see leash.py). What runs is recorded too, below `spawned` in the
state directory, so that a later agent can end what outlived both its agent and its leash; such a
process is known by CAMPAIGN_SPAWN in its environment, which holds the stream's id.
"""

import contextlib
import functools
import json
import os
import selectors
import subprocess
import threading
import weakref
from typing import Any, Dict, FrozenSet, Iterator, List, NamedTuple, Optional, Tuple

from playbooks.agent import clock, durable, leash, procfs, subtree
from playbooks.agent.session import Handler, Session, VerbError

MARK = "CAMPAIGN_SPAWN"
_CHUNK = 1 << 16
_REST_CHUNKS = 64
_END_LIMIT_S = leash.GRACE_S + 3.0

Reply = Tuple[Dict[str, Any], bytes]


class Record(NamedTuple):
    """What a later agent needs to find a command and all that it started."""

    boot_id: str
    sid: str
    leash: procfs.Identity
    main: procfs.Identity

    @classmethod
    def of(cls, sid: str, said: Dict[str, Any]) -> "Record":
        """From what its leash said at the start."""
        own, main = procfs.Identity(*said["leash"]), procfs.Identity(*said["main"])
        return cls(procfs.boot_id(), sid, own, main)

    def facts(self) -> Dict[str, Any]:
        """The command's own process, for the operator."""
        started_at = procfs.epoch(self.main.start_ticks)
        return {**self.main._asdict(), "started_at": started_at}

    def processes(self) -> List[procfs.Process]:
        """What is left of it, its leash not included."""
        if self.boot_id != procfs.boot_id():
            return []
        table = procfs.table()
        known = {process.identity for process in table.values()}
        roots = {pid for pid in table if _is_marked(pid, self.sid)}
        roots |= {self.main.pid} if self.main in known else set()
        leashes = {self.leash.pid} if self.leash in known else set()
        found = roots | procfs.descendants(roots | leashes, table)
        return [table[pid] for pid in sorted(found - leashes) if table[pid].running]

    def end(self) -> List[procfs.Process]:
        """End what is left of it and return that. Raises SurvivorsError."""
        left = self.processes()
        if left:
            subtree.end(self.processes, self.main.pid, leash.GRACE_S)
        return left


def _is_marked(pid: int, sid: str) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            return f"{MARK}={sid}".encode() in file.read().split(b"\0")
    except OSError:  # it is gone, or another user's: not what we started
        return False


class Spawned:
    """One command of this agent: `run` sees it through, `stop` ends it, from any thread."""

    def __init__(self, session: Session, sid: str, request: leash.Request) -> None:
        self.sid = sid
        self._session = session
        self._request = request
        self._control: Optional[int] = None
        self._stopping = False
        self._lock = threading.Lock()
        self.over = threading.Event()

    def run(self) -> None:
        """Start it, send its output as events, and last an event that tells how it ended."""
        try:
            last = self._run()
        except VerbError as error:
            facts = {**error.detail, "kind": error.kind, "message": error.message}
            last = {"event": "failed", "error": facts}
        except (OSError, subtree.SurvivorsError) as error:
            message = f"cannot run {self._request.argv[0]}: {error}"
            last = {"event": "failed", "error": {"kind": "cut-off", "message": message}}
        finally:
            self.stop()
            self.over.set()
        self._emit(last)

    def stop(self) -> None:
        """End the command and what it started; an ended one is left alone."""
        with self._lock:
            self._stopping = True
            if self._control is not None:
                os.close(self._control)
                self._control = None

    def _emit(self, header: Dict[str, Any], body: bytes = b"") -> None:
        self._session.emit({**header, "sid": self.sid}, body)

    def _run(self) -> Dict[str, Any]:
        reports, report_end = os.pipe()
        try:
            child = self._start_leash(report_end)
        finally:
            os.close(report_end)
        with os.fdopen(reports, "rb") as report, child:
            line = report.readline()
            if not line:
                raise VerbError("cut-off", "its supervisor ended at once")
            first = json.loads(line)
            if "error" in first:
                raise VerbError("start-failed", first["error"])
            record = Record.of(self.sid, first)
            with self._recorded(record):
                self._emit({"event": "started", **record.facts()})
                self._forward_all(child, report.fileno())
                return self._last_word(report.readline(), record)

    def _start_leash(self, report_end: int) -> "subprocess.Popen[bytes]":
        """Start it with the request on its input, which is then held open as the control."""
        control, ours = os.pipe()
        try:
            child = subprocess.Popen(
                [*subtree.supervisor("playbooks.agent.leash"), str(report_end)],
                stdin=control,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[report_end],
                cwd="/",
                env=subtree.base_environment(),
                start_new_session=True,
            )
        finally:
            os.close(control)
        with contextlib.suppress(BrokenPipeError), os.fdopen(os.dup(ours), "wb") as line:
            line.write(json.dumps(self._request._asdict()).encode() + b"\n")
        with self._lock:
            self._control = ours
        if self._stopping:
            self.stop()
        return child

    @contextlib.contextmanager
    def _recorded(self, record: Record) -> Iterator[None]:
        """Keep the record on disk while the command runs; without it the command is ended."""
        folder = _folder(self._session.state_dir)
        path = os.path.join(folder, f"{self.sid}.json")
        try:
            durable.make_private_dir(folder)
            durable.write_atomic(path, json.dumps(record._asdict()).encode())
        except OSError as error:
            self.stop()
            raise VerbError("disk", f"{path}: {error.strerror}; the command was ended") from None
        try:
            yield
        finally:
            durable.unlink(path)

    def _forward_all(self, child: "subprocess.Popen[bytes]", report: int) -> None:
        """Send what is printed until the leash reports the end, and then what is still there."""
        assert child.stdout is not None
        assert child.stderr is not None
        streams = {child.stdout.fileno(): "stdout", child.stderr.fileno(): "stderr"}
        for fd in streams:
            os.set_blocking(fd, False)
        with selectors.DefaultSelector() as selector:
            for fd in (*streams, report):
                selector.register(fd, selectors.EVENT_READ)
            ready = [-1]
            while report not in ready:
                ready = [key.fd for key, _ in selector.select()]
                for fd in streams.keys() & ready:
                    if not self._forward(fd, streams[fd]):
                        selector.unregister(fd)
        for fd, name in streams.items():
            for _ in range(_REST_CHUNKS):
                if not self._forward(fd, name):
                    break

    def _forward(self, fd: int, name: str) -> bool:
        """Send one chunk; False when there is none now, or never will be."""
        try:
            data = os.read(fd, _CHUNK)
        except BlockingIOError:
            return False
        if data:
            self._emit({"event": "output", "stream": name}, data)
        return bool(data)

    def _last_word(self, said: bytes, record: Record) -> Dict[str, Any]:
        """The leash's report of the end. When the leash was killed, this ends its command."""
        facts: Dict[str, Any] = {"event": "exit", **record.facts()}
        if said:
            return {**facts, **json.loads(said)}
        left = record.end()
        seconds = clock.now() - facts["started_at"]
        lost = dict.fromkeys(("timed_out", "stopped", "out_of_memory"), False)
        return {
            **facts,
            **lost,
            "code": None,
            "signal": None,
            "killed": bool(left),
            "seconds": seconds,
        }


def _folder(state_dir: str) -> str:
    return os.path.join(os.path.abspath(state_dir), "spawned")


_running: "weakref.WeakKeyDictionary[Session, Dict[str, Spawned]]" = weakref.WeakKeyDictionary()


def _running_of(session: Session) -> Dict[str, Spawned]:
    """The commands of a visit by stream id; they are ended when the visit is."""
    running = _running.get(session)
    if running is None:
        running = _running[session] = {}
        session.at_close(functools.partial(_end_all, running))
    return running


def _end_all(running: Dict[str, Spawned]) -> None:
    ending = list(running.values())
    for spawned in ending:
        spawned.stop()
    for spawned in ending:
        spawned.over.wait(_END_LIMIT_S)


def spawn(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """Run a command; what becomes of it are events of the stream `sid`.

    First "started", then "output" with a chunk as body, last "exit"; or "failed" with an error.
    """
    sid = request["sid"]
    asked = leash.Request(
        request["argv"],
        request["cwd"],
        {**os.environ, **request["env"], MARK: sid},
        request["timeout_s"],
        request["keep_children"],
    )
    running = _running_of(session)
    running[sid] = spawned = Spawned(session, sid, asked)

    def see_through() -> None:
        spawned.run()
        del running[sid]

    session.run_in_thread(see_through)
    return {}, b""


def stop_spawn(session: Session, request: Dict[str, Any], _body: bytes) -> Reply:
    """End a command by its stream id; one that has ended is no error."""
    spawned = _running_of(session).get(request["sid"])
    if spawned:
        spawned.stop()
    return {"found": spawned is not None}, b""


def reap(state_dir: str) -> List[int]:
    """End what the commands of dead agents left running, and return the pids of that.

    For the holder of the host's lock: no other agent's commands run then. Error "stuck".
    """
    ended: List[int] = []
    folder = _folder(state_dir)
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        record = _load(path)
        if record:
            ended.extend(process.pid for process in _end_or_refuse(record))
        durable.unlink(path)
    return ended


def _end_or_refuse(record: Record) -> List[procfs.Process]:
    try:
        return record.end()
    except subtree.SurvivorsError as error:
        raise VerbError(
            "stuck", f"left by an earlier run, and SIGKILL did not end {error}"
        ) from None


def _load(path: str) -> Optional[Record]:
    """A record, or None where a crash left less than one: its leash has ended that command."""
    try:
        with open(path, "rb") as file:
            boot_id, sid, own, main = json.loads(file.read().decode()).values()
        return Record(boot_id, sid, procfs.Identity(*own), procfs.Identity(*main))
    except (ValueError, TypeError, AttributeError):
        return None


VERBS: Dict[str, Handler] = {"spawn": spawn, "stop_spawn": stop_spawn}
SLOW_VERBS: FrozenSet[str] = frozenset()
