"""The demo's system under test: the race, its fix, its instruments and its orderly end."""

import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from ports import free_port

import campaign.demo
from playbooks import probes

WORKSPACE = Path(campaign.demo.__file__).parent / "workspace"
SERVICES = ("prefill", "decode", "router")
ROOM_SUM = re.compile(r"^checksum_probe .*key=(\d+) crc32=([0-9a-f]+)", re.MULTILINE)
CORRUPTED = re.compile(r"^idxk corrupted room=(\d+)$", re.MULTILINE)
UNDER_LOAD = {"sessions": 60, "rounds": 1, "concurrency": 60}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"required": ["it"]}}}


@dataclass(frozen=True)
class Reproduction:
    """What the reproducer printed, and how it ended."""

    sessions: tuple[dict[str, Any], ...]
    lines: tuple[str, ...]
    stderr: str
    code: int

    def rooms(self, *outcomes: str) -> list[set[str]]:
        """The rooms of each session with one of these outcomes."""
        return [set(one["rooms"]) for one in self.sessions if one["outcome"] in outcomes]


class System:
    """A copy of the workspace on ports of its own, and the services that run in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.ports = {name: free_port(self) for name in SERVICES}
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        shutil.copytree(WORKSPACE, root, ignore=shutil.ignore_patterns("__pycache__"))
        for file in (root / "env").iterdir():
            file.write_text(self._filled(file.read_text()))

    def _filled(self, text: str) -> str:
        for name, port in self.ports.items():
            text = text.replace(f"@PORT_{name.upper()}@", str(port))
        return text

    def patch(self, name: str) -> None:
        diff = self.root / "patches" / name
        subprocess.run(["git", "apply", diff], cwd=self.root / "system", check=True)

    def instrument(self) -> None:
        """Calls the checksum probe on both sides of the transfer, and lays it beside them."""
        self.patch("idxk-cksum.diff")
        shutil.copy(probes.file("checksum"), self.root / "system")

    def start(self, **environment: str) -> None:
        for name in SERVICES:
            self.launch(name, environment)
        for name in SERVICES:
            eventually(lambda name=name: self.health(name) == 200, f"{name} is healthy")

    def launch(self, name: str, environment: Mapping[str, str]) -> None:
        lines = (self.root / "env" / f"{name}.env").read_text().splitlines()
        own = dict(line.split("=", 1) for line in lines)
        with self.log_file(name).open("wb") as log:
            self.processes[name] = subprocess.Popen(
                [sys.executable, f"system/{name}.py"],
                cwd=self.root,
                env={"PATH": os.environ["PATH"], **own, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def log_file(self, name: str) -> Path:
        return self.root / f"{name}.log"

    def log(self, name: str) -> str:
        return self.log_file(name).read_text()

    def sums(self, name: str) -> dict[str, str]:
        """The checksum that a service logged for each room."""
        found = ROOM_SUM.findall(self.log(name))
        assert len(found) == len(dict(found)), "a room was logged twice"
        return dict(found)

    def mismatching(self) -> set[str]:
        """The rooms whose sums differ, once each side has logged as many; it logs with a delay."""
        sides = "prefill", "decode"
        eventually(lambda: len({len(self.sums(one)) for one in sides}) == 1, "as many sums")
        prefill, decode = map(self.sums, sides)
        assert prefill.keys() == decode.keys()
        return {room for room in prefill if prefill[room] != decode[room]}

    def request(self, service: str, path: str, body: object | None = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[service], timeout=30)
        with contextlib.closing(connection):
            method = "GET" if body is None else "POST"
            connection.request(method, path, None if body is None else json.dumps(body))
            response = connection.getresponse()
            return response.status, json.loads(response.read())

    def health(self, service: str) -> int | None:
        """The status of /health; None while nothing answers."""
        try:
            return self.request(service, "/health")[0]
        except OSError:
            return None

    def reproduce(self, sessions: int, rounds: int, concurrency: int) -> Reproduction:
        numbers = {"sessions": sessions, "rounds": rounds, "concurrency": concurrency}
        flags = [word for name, value in numbers.items() for word in (f"--{name}", str(value))]
        url = f"http://127.0.0.1:{self.ports['router']}"
        command = [sys.executable, "repro_sessions.py", "--url", url, *flags]
        ran = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        *lines, counts, share = ran.stdout.splitlines()
        parsed = tuple(json.loads(line) for line in lines)
        return Reproduction(parsed, (counts, share), ran.stderr, ran.returncode)

    def stop(self) -> None:
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            process.wait(timeout=60)


def eventually(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.02)


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    one = System(tmp_path / "workspace")
    try:
        yield one
    finally:
        one.stop()


def group(leader: int) -> list[int]:
    """The processes of the group that `leader` leads, itself first."""
    members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[2]) == leader and fields[0] != "Z":
                members.append(int(stat.parent.name))
    return sorted(members, key=lambda pid: pid != leader)


def shared_memory() -> set[Path]:
    """What is in shared memory; folders there are those of other tests."""
    return {path for path in Path("/dev/shm").iterdir() if path.is_file()}


def environ(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


def test_one_session_at_a_time_never_leaks(system: System) -> None:
    system.start()
    alone = system.reproduce(sessions=3, rounds=1, concurrency=1)
    assert alone.code == 0, alone.stderr
    assert [one["outcome"] in ("maxrounds", "done") for one in alone.sessions] == [True] * 3


def under_load(system: System) -> list[Reproduction]:
    """Driven until a session leaks: how many do depends on what else the machine has to do."""
    driven: list[Reproduction] = []
    while len(driven) < 5 and not any(one.rooms("leak") for one in driven):
        driven.append(system.reproduce(**UNDER_LOAD))
        assert driven[-1].code == 0, driven[-1].stderr
    return driven


def test_under_load_some_sessions_leak_and_some_do_not(system: System) -> None:
    system.start()
    loaded = under_load(system)[-1]
    leaks, clean = loaded.rooms("leak"), loaded.rooms("maxrounds", "done")
    assert leaks
    assert clean
    assert len(leaks) + len(clean) == 60
    assert len(set.union(*leaks, *clean)) == 60
    counts = json.loads(loaded.lines[0].removeprefix("counts="))
    assert counts["leak"] == len(leaks)
    assert loaded.lines[1].startswith(f"CORRUPTION sessions: {len(leaks)}/60 = ")


def test_announcing_after_the_landing_ends_the_leaks(system: System) -> None:
    system.patch("sentinel.diff")
    system.start()
    fixed = system.reproduce(**UNDER_LOAD)
    assert fixed.code == 0, fixed.stderr
    assert len(fixed.rooms("maxrounds", "done")) == 60


def test_rooms_of_leaking_sessions_differ_between_the_two_sides(system: System) -> None:
    system.instrument()
    system.start(CHECKSUM_PROBE="1")
    driven = under_load(system)
    leaks = [rooms for one in driven for rooms in one.rooms("leak")]
    clean = [rooms for one in driven for rooms in one.rooms("maxrounds", "done")]
    bad = system.mismatching()
    assert system.sums("prefill").keys() == set.union(*leaks, *clean)
    assert leaks
    assert all(rooms & bad for rooms in leaks)
    assert sum(bool(rooms & bad) for rooms in clean) <= len(bad) // 4


def test_corrupted_rooms_are_those_that_mismatch(system: System) -> None:
    system.instrument()
    system.start(CHECKSUM_PROBE="1", DEMO_IDXK_CORRUPT_EVERY="2")
    alone = system.reproduce(sessions=3, rounds=1, concurrency=1)
    assert not alone.rooms("leak")
    corrupted = set(CORRUPTED.findall(system.log("prefill")))
    assert len(corrupted) == 1
    assert system.mismatching() == corrupted


def test_the_instrument_is_silent_until_switched_on(system: System) -> None:
    system.instrument()
    system.start()
    assert not system.reproduce(sessions=1, rounds=1, concurrency=1).rooms("leak")
    assert "probe" not in system.log("prefill") + system.log("decode")


@pytest.mark.parametrize("name", ["sentinel.diff", "idxk-cksum.diff"])
def test_patch_and_git_agree_on_the_diffs(tmp_path: Path, name: str) -> None:
    diff = WORKSPACE / "patches" / name
    by_git, by_patch = tmp_path / "git", tmp_path / "patch"
    for copy in (by_git, by_patch):
        shutil.copytree(WORKSPACE / "system", copy, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(["git", "apply", diff], cwd=by_git, check=True)
    subprocess.run(["patch", "-s", "-p1", "-i", diff], cwd=by_patch, check=True)
    assert {file.name: file.read_bytes() for file in by_git.iterdir()} == {
        file.name: file.read_bytes() for file in by_patch.iterdir()
    }


@pytest.mark.parametrize("leader_only", [False, True], ids=["group", "leader"])
def test_term_ends_all_in_the_middle_of_work(system: System, leader_only: bool) -> None:
    before = shared_memory()
    system.start()
    drive = [
        sys.executable,
        "repro_sessions.py",
        "--url",
        "http://127.0.0.1:" + str(system.ports["router"]),
        "--sessions",
        "20",
        "--concurrency",
        "20",
    ]
    with subprocess.Popen(
        drive, cwd=system.root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as reproducer:
        eventually(lambda: system.log("prefill").count("prefill room=") >= 20, "rooms in flight")
        members = [pid for one in system.processes.values() for pid in group(one.pid)]
        assert len(members) == 4
        for process in system.processes.values():
            (os.kill if leader_only else os.killpg)(process.pid, signal.SIGTERM)
        codes = {name: one.wait(timeout=60) for name, one in system.processes.items()}
        eventually(lambda: not any(group(one.pid) for one in system.processes.values()), "gone")
        assert codes == dict.fromkeys(SERVICES, 0)
        assert reproducer.wait(timeout=60) == 1
    assert not any(listens(port) for port in system.ports.values())
    assert shared_memory() <= before
    for name in SERVICES:
        assert "Traceback" not in system.log(name)


def test_the_workers_environment_is_unreadable_under_a_readable_parent(system: System) -> None:
    system.start()
    parent, worker = group(system.processes["decode"].pid)
    assert b"DEMO_PORT=" in environ(parent)
    eventually(lambda: not environ(worker).strip(b"\0"), "the worker blanked its environment")
    assert Path(f"/proc/{worker}/cmdline").read_bytes().strip(b"\0") == b"demo::detokenizer"
    assert system.health("decode") == 200


def test_decode_has_to_be_restarted_with_prefill(system: System) -> None:
    system.start()
    system.processes["prefill"].terminate()
    system.processes["prefill"].wait(timeout=60)
    system.launch("prefill", {})
    eventually(lambda: system.health("prefill") == 200, "prefill is back")
    eventually(lambda: system.health("decode") == 503, "decode misses its channel")
    failed = system.reproduce(sessions=1, rounds=1, concurrency=1)
    assert (failed.code, failed.sessions[0]["outcome"]) == (1, "error")
    assert "restart it with prefill" in failed.stderr


def test_an_unreachable_router_is_an_error_and_no_pass(system: System) -> None:
    refused = system.reproduce(sessions=2, rounds=1, concurrency=2)
    assert refused.code == 1
    assert [one["outcome"] for one in refused.sessions] == ["error", "error"]
    assert json.loads(refused.lines[0].removeprefix("counts="))["error"] == 2
    assert refused.stderr.startswith("2 of 2 sessions failed: no answer from 127.0.0.1:")


def test_the_front_speaks_chat_completions(system: System) -> None:
    system.start()
    question = {"role": "user", "content": 'where is "A-7" ?'}
    asked = {"model": "demo-pd", "messages": [question], "tools": [TOOL]}
    for variant in ({}, {"DEMO_OPT_USE_TOPK_V2": "0", "DEMO_MTP": "0", "DEMO_INDEX_WIDTH": "32"}):
        if variant:
            system.stop()
            system.start(**variant)
        status, answer = system.request("router", "/v1/chat/completions", asked)
        assert (status, answer["object"]) == (200, "chat.completion")
        choice = answer["choices"][0]
        assert choice["finish_reason"] == "tool_calls"
        assert choice["message"]["tool_calls"][0]["function"] == {
            "name": "look",
            "arguments": '{"it": "A-7"}',
        }
        assert "<|" not in choice["message"]["content"]
        usage = answer["usage"]
        assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/chat/completions", {"messages": []}, 400, "messages is empty"),
        ("/v1/chat/completions", {"messages": "hello"}, 400, "messages is not a list"),
        ("/v1/chat/completions", [], 400, "not a JSON object"),
        ("/v1/chat/completions", {"messages": [{}], "stream": True}, 400, "leave out stream"),
        ("/v1/chat/completions", {"messages": [{}], "tools": [{}]}, 400, "a tool needs"),
        ("/v1/chat/completions", {"messages": [{"content": "a " * 5000}]}, 400, "at most 4096"),
        ("/v1/models", {}, 404, "no such path"),
    ],
)
def test_a_bad_request_gets_one_clear_line(
    tmp_path: Path, path: str, body: object, status: int, message: str
) -> None:
    with running_router(tmp_path) as system:
        got, answer = system.request("router", path, body)
    assert got == status
    assert message in answer["error"]["message"]


@contextlib.contextmanager
def running_router(tmp_path: Path) -> Iterator[System]:
    """A router alone: enough for requests that it refuses itself."""
    system = System(tmp_path / "workspace")
    system.launch("router", {})
    try:
        eventually(lambda: system.health("router") == 200, "the router is healthy")
        yield system
    finally:
        system.stop()


@pytest.mark.parametrize(
    ("service", "environment", "message"),
    [
        ("router", {"DEMO_PORT": "http"}, "DEMO_PORT is 'http': expected a whole number"),
        ("router", {"DECODE_URL": ""}, "DECODE_URL is not set"),
        ("decode", {"DEMO_INDEX_WIDTH": "65"}, "DEMO_INDEX_WIDTH is '65'"),
    ],
)
def test_a_bad_setting_ends_a_service_with_one_line(
    tmp_path: Path, service: str, environment: dict[str, str], message: str
) -> None:
    system = System(tmp_path / "workspace")
    system.launch(service, environment)
    assert system.processes[service].wait(timeout=60) == 1
    (line,) = system.log(service).splitlines()
    assert message in line


def test_a_taken_port_is_named(tmp_path: Path) -> None:
    system = System(tmp_path / "workspace")
    with socket.create_server(("127.0.0.1", system.ports["router"])):
        system.launch("router", {})
        assert system.processes["router"].wait(timeout=60) == 1
    assert f"cannot listen on port {system.ports['router']}" in system.log("router")
