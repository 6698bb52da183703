"""Ends a toy workspace's services, whatever state a test left them in."""

import contextlib
import json
import os
import signal
from pathlib import Path

from toy import Toy


def stop_services(toy: Toy) -> None:
    """Puts back what is outstanding, then kills the services by their recorded pids.

    `campaign services stop` has tests of its own: here it would cost more than many a test.
    """
    if toy.journal():
        toy.run("recover")
    services = toy.root / ".campaign" / "host" / "services"
    for path in services.glob("*/state.json"):
        state = json.loads(path.read_text(encoding="utf-8"))
        for (pid, start), kill in ((state["keeper"], os.kill), (state["main"], os.killpg)):
            if _start(pid) == start:
                with contextlib.suppress(ProcessLookupError):
                    kill(pid, signal.SIGKILL)


def _start(pid: int) -> int | None:
    """When a process started, in ticks since boot (see proc(5)); None for one that is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])
