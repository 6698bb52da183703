"""The processes of a control group, whichever hierarchies the host has mounted. See cgroups(7)."""

import os
from typing import Iterator, List

from playbooks.agent import procfs

_MOUNTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified")
"""The unified hierarchy alone; systemd's own beside version 1; the hybrid of both."""


def processes(group: str) -> List[procfs.Process]:
    """What runs in the control group (a path from its hierarchy's root) and below it, by pid."""
    if not group.strip("/"):
        return []
    found = {pid for mount in _MOUNTS for pid in _below(mount + group)}
    table = (procfs.read(pid) for pid in sorted(found))
    return [process for process in table if process is not None and process.running]


def _below(folder: str) -> Iterator[int]:
    for path, _, _ in os.walk(folder):
        try:
            with open(os.path.join(path, "cgroup.procs"), encoding="ascii") as file:
                pids = [int(line) for line in file]
        except OSError:  # gone meanwhile, or threaded: its processes are in the group above
            continue
        yield from (pid for pid in pids if pid)  # 0: outside of our pid namespace
