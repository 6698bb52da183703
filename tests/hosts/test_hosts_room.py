"""The machines are shared by whoever uses them, and leave nothing behind."""

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from hosts_machine import Machine, missing, open_room, wait_until

pytestmark = [pytest.mark.hosts, pytest.mark.skipif(bool(missing()), reason="see the others")]


def use(folder: Path, pipe: Connection) -> None:
    with open_room(folder) as machines:
        pipe.send([(each.keeper, each.run("hostname").strip()) for each in machines.values()])
        pipe.recv()


def test_a_room_is_shared_and_closed_after_a_crash(
    machines: dict[str, Machine], tmp_path: Path
) -> None:
    """Two at once use the same machines; both are killed, and still all is taken down."""
    assert machines
    spawning = multiprocessing.get_context("spawn")
    users = []
    for _ in range(2):
        ours, theirs = spawning.Pipe()
        process = spawning.Process(target=use, args=(tmp_path / "room", theirs))
        process.start()
        theirs.close()
        users.append((process, ours))
    facts = [ours.recv() for _, ours in users]
    assert facts[0] == facts[1]
    assert [name for _, name in facts[0]] == ["alpha", "beta"]

    for process, ours in users:
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        process.close()
        ours.close()
    for keeper, _ in facts[0]:
        wait_until(lambda: not Path(f"/proc/{keeper}").exists(), 30, "the machine to end")  # noqa: B023
    wait_until(lambda: not (tmp_path / "room/alpha").exists(), 30, "its folder to go")
    assert str(tmp_path) not in Path("/proc/self/mounts").read_text()
