"""Sessions driven by the workers of a Dask cluster, told as they end.

Each worker has one share, pinned to it, and sends what ends through a queue of the scheduler. The
sessions of a worker that is lost are driven again by the others; what it had told before counts.
"""

import asyncio
import hashlib
import time
import uuid
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import astuple

from playbooks.sessions.drive import Driver, Told
from playbooks.sessions.job import Fault
from playbooks.sessions.session import Script

if TYPE_CHECKING:
    from distributed import Client, Future

CONNECT_S = 10.0
LOOK_S = 0.5
SEND_S = 0.05
WAVES = 3
"""How often sessions are driven anew whose worker was lost; after that they are censored."""

_ALIKE = ("python", "distributed", "msgpack", "cloudpickle")


class Secret:
    """A value that neither logs nor dashboards of the cluster show."""

    def __init__(self, value: str | None) -> None:
        self.value = value

    def __repr__(self) -> str:
        return "[redacted]"


def spread(
    address: str,
    script: Script,
    numbers: Sequence[int],
    api_key: str | None,
    take: Callable[[Told], None],
) -> None:
    """Drives the sessions `numbers` on the cluster of the scheduler at `address`.

    `take` is told of each once. Raises Fault.
    """
    client = _connect(address)
    try:
        _check(client)
        cluster = _Cluster(client, script, Secret(api_key), take)
        for _ in range(WAVES):
            cluster.drive([one for one in numbers if one not in cluster.done])
            if len(cluster.done) == len(numbers):
                break
    finally:
        client.close()


def _connect(address: str) -> "Client":
    import warnings

    from distributed import Client

    warnings.filterwarnings("ignore", module="distributed")  # versions are looked at by _check
    try:
        return Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        why = str(error).splitlines()[0] if str(error) else "no answer"
        raise Fault(
            f"the Dask scheduler {address} cannot be reached: {why}: start it, or correct spread:"
        ) from None


def _check(client: "Client") -> None:
    """Every worker must run what we run. Raises Fault."""
    found = client.get_versions()
    if not found["workers"]:
        raise Fault("the Dask scheduler has no workers: start some with 'dask worker'")
    ours = found["client"]["packages"]
    for name, theirs in [("the scheduler", found["scheduler"]), *found["workers"].items()]:
        for package in _ALIKE:
            mine, other = ours.get(package), theirs["packages"].get(package)
            if mine != other:
                raise Fault(
                    f"{_named(name)} has {package} {other}, and here it is {mine}: "
                    "install the same there"
                )
    for name, code in client.run(code_digest, on_error="return").items():
        if code != code_digest():
            why = f" ({code})" if isinstance(code, Exception) else ""
            raise Fault(
                f"{_named(name)} does not have this version of campaign{why}: "
                "install the same debug-campaign[dask] there"
            )


def _named(name: str) -> str:
    return name if name.startswith("the ") else f"the worker {name}"


def code_digest() -> str:
    """The SHA-256 of the code that drives sessions, the same where it is the same."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


class _Share(Struct):
    """What one worker has to drive."""

    worker: str
    future: "Future"


class _Cluster:
    def __init__(
        self, client: "Client", script: Script, api_key: Secret, take: Callable[[Told], None]
    ) -> None:
        from distributed import Queue

        self.done: set[int] = set()
        self._client = client
        self._script = script
        self._api_key = api_key
        self._take = take
        self._name = f"campaign-{uuid.uuid4().hex}"
        self._queue = Queue(self._name, client=client)

    def drive(self, numbers: Sequence[int]) -> None:
        """Drives them once, as far as no worker is lost. Raises Fault."""
        shares = self._shares(numbers)
        looked = time.monotonic()
        while shares:
            self._receive(LOOK_S)
            if time.monotonic() - looked >= LOOK_S:
                looked = time.monotonic()
                alive = self._alive()
                shares = [one for one in shares if self._goes_on(one, alive)]
        while self._queue.qsize():
            self._receive(LOOK_S)

    def _shares(self, numbers: Sequence[int]) -> list[_Share]:
        """As many as there are workers, each with its part of the sessions at once."""
        workers = sorted(self._alive())
        if not workers:
            raise Fault("the Dask scheduler has lost all its workers")
        total = int(self._script.spec.concurrency)
        used = workers[: min(len(workers), total, len(numbers))]
        return [
            _Share(worker, self._submit(worker, numbers[at :: len(used)], lanes))
            for at, worker in enumerate(used)
            if (lanes := total // len(used) + (at < total % len(used)))
        ]

    def _submit(self, worker: str, numbers: Sequence[int], concurrency: int) -> "Future":
        return self._client.submit(
            drive_share,
            self._script,
            list(numbers),
            concurrency,
            self._api_key,
            self._name,
            key=f"{self._name}-{uuid.uuid4().hex}",
            workers=[worker],
            allow_other_workers=False,
            pure=False,
        )

    def _alive(self) -> Collection[str]:
        if self._client.status != "running":
            raise Fault("the Dask scheduler was lost")
        return dict(self._client.nthreads())

    def _goes_on(self, share: _Share, alive: Collection[str]) -> bool:
        from distributed.scheduler import KilledWorker

        if share.worker not in alive:
            share.future.cancel()
            return False
        if share.future.status == "error":
            error: Any = share.future.exception()
            if not isinstance(error, KilledWorker):
                raise Fault(f"the worker {share.worker} failed: {error}")
        return share.future.status not in ("finished", "error", "cancelled", "lost")

    def _receive(self, timeout_s: float) -> None:
        """Takes what has come, waiting for it as long."""
        with suppress(TimeoutError):
            for one in self._queue.get(timeout=timeout_s):
                told = Told(*one)
                if told.number not in self.done:
                    self.done.add(told.number)
                    self._take(told)


def drive_share(
    script: Script, numbers: Sequence[int], concurrency: int, api_key: Secret, queue: str
) -> None:
    """What a worker does: its share, until it is over or nobody wants it any more."""
    from distributed import Queue, get_client, get_worker

    worker = get_worker()
    key = worker.get_current_task()
    sent = Queue(queue, client=get_client())

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    driver = Driver(script, numbers, concurrency, api_key.value)
    asyncio.run(_drive_share(driver, sent.put, wanted))


async def _drive_share(
    driver: Driver, send: Callable[[list[tuple[Any, ...]]], None], wanted: Callable[[], bool]
) -> None:
    over: list[Told] = []
    driving = asyncio.ensure_future(driver.run(over.append))
    while not driving.done() or over:
        await asyncio.wait({driving}, timeout=SEND_S)
        if not wanted():
            driving.cancel()
            break
        if over:
            batch, over[:] = [astuple(one) for one in over], []
            await asyncio.to_thread(send, batch)
    with suppress(asyncio.CancelledError):
        await driving
