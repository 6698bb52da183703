"""Sessions spread over a real Dask cluster: each told once, whatever becomes of its worker."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import dask_cluster
import endpoint
import pytest
from dask_cluster import Cluster
from msgspec.structs import replace

from playbooks.sessions import job, spread
from playbooks.sessions.job import Fault, Job, lacking, program
from playbooks.sessions.spec import Sessions

PATIENCE_S = 120.0


@dataclass
class Room:
    """A cluster, an endpoint, and where a child's files go."""

    cluster: Cluster
    port: int
    folder: Path

    def start(self, model: str, sessions: int) -> subprocess.Popen[str]:
        """A child that drives them, four at once."""
        spec = Sessions(
            url=f"http://127.0.0.1:{self.port}/v1",
            model=model,
            sessions=str(sessions),
            concurrency="4",
            messages=({"role": "user", "content": "Hello."},),
            dask=self.cluster.address,
        )
        path = self.folder / "job.json"
        path.write_text(Job(spec, ()).to_json(), encoding="utf-8")
        return subprocess.Popen(
            program(path, self.folder / "transcripts.jsonl"),
            stdout=subprocess.PIPE,
            text=True,
        )


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    folder = tmp_path_factory.mktemp("spread")
    with dask_cluster.running(folder) as cluster, endpoint.running() as port:
        yield Room(cluster, port, folder)


def told(child: subprocess.Popen[str], begun: str = "") -> list[int]:
    """The sessions that a child has told of, once it has ended well; some were read before."""
    with child:
        assert child.stdout
        out = begun + child.stdout.read()
        assert child.wait(PATIENCE_S) == 0
    return sorted(json.loads(line)["session"] for line in out.splitlines())


def test_workers_stop_once_the_child_is_killed(room: Room) -> None:
    child = room.start("delayed", 10_000)
    with child:
        assert child.stdout
        child.stdout.readline()
        child.kill()
    deadline = time.monotonic() + PATIENCE_S
    before, now = -1, endpoint.count_at(room.port)
    while before != now:
        assert time.monotonic() < deadline, "they go on"
        time.sleep(1)
        before, now = now, endpoint.count_at(room.port)
    assert now < 10_000


def test_sessions_of_a_killed_worker_are_driven_anew_and_told_once(room: Room) -> None:
    child = room.start("delayed", 60)
    assert child.stdout
    begun = "".join(child.stdout.readline() for _ in range(5))
    os.kill(room.cluster.workers[0], signal.SIGKILL)
    assert told(child, begun) == [*range(1, 61)]
    kept = (room.folder / "transcripts.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(json.loads(line)["session"] for line in kept) == [*range(1, 61)]


def test_a_scheduler_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "CONNECT_S", 0.5)
    with pytest.raises(Fault, match=r"tcp://127\.0\.0\.1:1 cannot be reached: Timed out"):
        spread._connect("tcp://127.0.0.1:1")


def test_without_the_extra_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = Sessions(url="http://h/v1", model="m", sessions="1", dask="tcp://scheduler:8786")
    assert lacking(spec) is None
    monkeypatch.setattr(job, "find_spec", lambda _: None)
    assert lacking(replace(spec, dask=None)) is None
    missing = lacking(spec)
    assert missing
    assert "pip install 'debug-campaign[dask]'" in missing.fix


@pytest.mark.parametrize(
    ("workers", "codes", "said"),
    [
        ({}, {}, "the Dask scheduler has no workers"),
        (
            {"w": "2.0"},
            {},
            "the worker w has distributed 2.0, and here it is 1.0: install the same",
        ),
        ({"w": "1.0"}, {"w": "other"}, "the worker w does not have this version of campaign: "),
        ({"w": "1.0"}, {"w": ImportError("no playbooks")}, r"this version of campaign \(no play"),
    ],
)
def test_workers_that_run_something_else_are_refused(
    workers: dict[str, str], codes: dict[str, object], said: str
) -> None:
    def of(version: str) -> dict[str, dict[str, str]]:
        return {"packages": {"distributed": version}}

    versions = {
        "client": of("1.0"),
        "scheduler": of("1.0"),
        "workers": {name: of(version) for name, version in workers.items()},
    }
    client = SimpleNamespace(get_versions=lambda: versions, run=lambda *_, **__: codes)
    with pytest.raises(Fault, match=said):
        spread._check(client)
