"""The process behind a run, told apart from a later one that was given the same pid."""

import os
from pathlib import Path

from msgspec import Struct


class Owner(Struct, frozen=True):
    """A process: its pid, its start in clock ticks since boot, and its machine's boot id."""

    pid: int
    start: int
    boot: str


def current_owner() -> Owner:
    """This process."""
    pid = os.getpid()
    return Owner(pid, _start(pid) or 0, _boot_id())


def is_alive(owner: Owner) -> bool:
    """Whether `owner` still runs on this machine, since this boot; a zombie does not."""
    return owner.boot == _boot_id() and _start(owner.pid) == owner.start


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _start(pid: int) -> int | None:
    """Field 22 of /proc/PID/stat (see proc(5)); None when the process is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field, the command's name in parentheses, may itself hold blanks and parentheses.
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])
