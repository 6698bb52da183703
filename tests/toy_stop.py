"""Ends a toy workspace's services, whatever state a test left them in."""

import json
import os
import signal
from pathlib import Path

from toy import Toy


def stop_services(toy: Toy) -> None:
    """Stops the services as a user would; what is left after that is killed by its recorded pid."""
    services = toy.root / ".campaign" / "host" / "services"
    if services.is_dir():
        toy.run("services", "stop")
    for path in services.glob("*/state.json"):
        state = json.loads(path.read_text(encoding="utf-8"))
        for pid, start in (state["keeper"], state["main"]):
            if _start(pid) == start:
                os.kill(pid, signal.SIGKILL)


def _start(pid: int) -> int | None:
    """When a process started, in ticks since boot (see proc(5)); None for one that is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])
