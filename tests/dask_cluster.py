"""A Dask scheduler and two workers, three processes: `python dask_cluster.py` prints where.

The workers are forked off before anything runs: the library is loaded once.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ports import free_port


@dataclass(frozen=True)
class Cluster:
    """The scheduler's address, and the workers' pids."""

    address: str
    workers: tuple[int, ...]


@contextmanager
def running(folder: Path) -> Iterator[Cluster]:
    """A cluster whose files are in `folder`."""
    with (folder / "cluster.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, __file__, str(folder)],
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
            text=True,
        )
    assert process.stdout
    with process:
        facts = json.loads(process.stdout.readline())
        try:
            yield Cluster(facts["address"], tuple(facts["workers"]))
        finally:
            for pid in (*facts["workers"], process.pid):
                os.kill(pid, signal.SIGKILL)


def main(folder: str) -> None:
    import distributed

    address = f"tcp://127.0.0.1:{free_port(main)}"
    workers = []
    for number in range(2):
        pid = os.fork()
        if pid == 0:
            place = f"{folder}/{number}"
            asyncio.run(
                until_closed(distributed.Worker, address, nthreads=1, local_directory=place)
            )
            os._exit(0)
        workers.append(pid)
    print(json.dumps({"address": address, "workers": workers}), flush=True)
    port = int(address.rpartition(":")[2])
    asyncio.run(
        until_closed(distributed.Scheduler, host="127.0.0.1", port=port, dashboard_address=":0")
    )


async def until_closed(kind: type, *arguments: object, **more: object) -> None:
    async with kind(*arguments, **more) as server:
        await server.finished()


if __name__ == "__main__":
    main(sys.argv[1])
