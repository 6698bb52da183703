"""What /proc says about processes: who is there, whose child it is, when it started.

A process is known by its pid, its start in clock ticks since boot, and the boot: a recycled pid
has another start and is another process. See proc(5).
"""

import os
from typing import Dict, Iterable, List, NamedTuple, Optional, Set

from playbooks.agent import clock

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_GONE = frozenset("ZXx")


class Identity(NamedTuple):
    """A process of this boot, for good: a pid alone is used again."""

    pid: int
    start_ticks: int


class Process(NamedTuple):
    """One line of the process table; `state` is the letter of proc(5)."""

    pid: int
    ppid: int
    group: int
    state: str
    start_ticks: int

    @property
    def identity(self) -> Identity:
        return Identity(self.pid, self.start_ticks)

    @property
    def running(self) -> bool:
        """False for a zombie: it holds no port, no file and no memory."""
        return self.state not in _GONE


Table = Dict[int, Process]


def read(pid: int) -> Optional[Process]:
    """The process with this pid now, a zombie included, or None."""
    try:
        fd = os.open(f"/proc/{pid}/stat", os.O_RDONLY)  # a file object would take thrice the calls
        try:
            stat = os.read(fd, 4096)
        finally:
            os.close(fd)
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat[stat.rindex(b")") + 2 :].split(None, 20)
    return Process(pid, int(fields[1]), int(fields[2]), fields[0].decode(), int(fields[19]))


def table() -> Table:
    """Every process of this machine (of this pid namespace) by its pid."""
    found = (read(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process is not None}


def identify(pid: int) -> Optional[Identity]:
    """The identity of the process with this pid, or None when there is none."""
    process = read(pid)
    return process.identity if process else None


def is_running(identity: Optional[Identity]) -> bool:
    """Whether this very process runs: no zombie, and no later owner of its pid."""
    process = read(identity.pid) if identity else None
    return process is not None and process.identity == identity and process.running


def descendants(roots: Iterable[int], processes: Table) -> Set[int]:
    """The pids of all children of `roots`, their children and so on, without the roots."""
    children: Dict[int, List[int]] = {}
    for process in processes.values():
        children.setdefault(process.ppid, []).append(process.pid)
    found: Set[int] = set()
    waiting = list(roots)
    while waiting:
        fresh = set(children.get(waiting.pop(), ())) - found
        found |= fresh
        waiting.extend(fresh)
    return found


def command_line(pid: int) -> str:
    """The command of a process as one readable line; its short name in brackets without one."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            words = file.read().strip(b"\0 ").replace(b"\0", b" ")
        if not words:
            with open(f"/proc/{pid}/comm", "rb") as file:
                words = b"[" + file.read().strip() + b"]"
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return words.decode("utf-8", "replace")


def boot_id() -> str:
    """The identifier of this boot of the machine."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def epoch(start_ticks: int) -> float:
    """When a process with these start ticks started, in seconds since the epoch."""
    return clock.at(start_ticks / TICKS_PER_SECOND)


def oom_kills() -> int:
    """How many processes the kernel has killed for want of memory since boot (0: not counted)."""
    with open("/proc/vmstat", encoding="ascii") as file:
        for line in file:
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0
