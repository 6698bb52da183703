"""Two hosts are worked on at once: neither waits for the other, and a failure of one ends both."""

import json
import shutil
import signal
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from ports import free_port
from toy import Toy

pytestmark = pytest.mark.hosts

HOMES = {"one": "alpha", "two": "beta"}
WAIT_S = 60.0

# Each serves once it has met the other: whoever waits for one before the other starts waits long.
SERVICE = """\
import os, socket, sys, time
from contextlib import suppress

name, own, other, health = sys.argv[1], *map(int, sys.argv[2:])
if os.environ["MODE"] == "crash":
    sys.exit("this cannot go well")
meeting = socket.create_server(("127.0.0.1", own))
if os.environ["MODE"] == "hang":
    open(f"{name}.hangs", "w").close()
    time.sleep(600)
met = False
while not met:
    with suppress(OSError), socket.create_connection(("127.0.0.1", other), 1):
        met = True
    time.sleep(0.02)
serving = socket.create_server(("127.0.0.1", health))
while True:
    serving.accept()[0].close()
"""

CAMPAIGN = """\
campaign: pair
symptom: two who have to meet
hosts:
  alpha: {{ssh: alpha, config: {config}, state_dir: {there}/.state}}
  beta: {{ssh: beta, config: {config}, state_dir: {there}/.state}}
services:
  one: {one}
  two: {two}
reproducers:
  nothing: {{command: ["true"], on: alpha, cwd: /, timeout: 1m, on_timeout: censored}}
"""

PLAYBOOK = """\
name: {name}
kind: probe
hypothesis: pair
question: Do they meet?
predicts: {{if_true: they do, if_false: they do not}}
steps:
  - env: {{services: [one], set: {{MODE: {one}}}}}
  - env: {{services: [two], set: {{MODE: {two}}}}}
  - restart: {{services: [one, two]}}
  - reproduce: {{use: nothing}}
"""


@dataclass(frozen=True)
class Pair:
    """A workspace here, and a service on each of two machines."""

    toy: Toy
    folders: dict[str, Path]
    health: dict[str, int]

    def check_as_before(self) -> None:
        """Both run as they were, and nothing is left to do."""
        for name, folder in self.folders.items():
            assert (folder / f"{name}.env").read_text() == "MODE=plain\n"
            socket.create_connection(("127.0.0.1", self.health[name]), 5).close()
        assert self.toy.run("recover").stdout == "Nothing to recover.\n"


@pytest.fixture
def pair(machines: dict[str, Machine], ssh_config: Path, tmp_path: Path) -> Iterator[Pair]:
    """The pair up; all of it is gone at the end."""
    toy, there = Toy(tmp_path / "pair", 0), f"/srv/{tmp_path.name}"
    folders = {name: machines[home].root / there[1:] for name, home in HOMES.items()}
    meet, health = ({name: free_port(toy) for name in HOMES} for _ in range(2))
    specs = {
        name: _spec(name, there, (meet[name], meet[other], health[name]))
        for name, other in (("one", "two"), ("two", "one"))
    }
    for name, folder in folders.items():
        folder.mkdir()
        (folder / "pair.py").write_text(SERVICE)
        (folder / f"{name}.env").write_text("MODE=plain\n")
    (toy.root / "playbooks").mkdir(parents=True)
    text = CAMPAIGN.format(config=ssh_config, there=there, **specs)
    (toy.root / "campaign.yaml").write_text(text)
    try:
        assert toy.run("hypothesis", "add", "pair", "--claim", "they meet").returncode == 0
        started = toy.run("services", "start")
        assert started.returncode == 0, started.stderr
        yield Pair(toy, folders, health)
    finally:
        toy.run("recover")
        toy.run("services", "stop")
        for folder in folders.values():
            shutil.rmtree(folder)


def _spec(name: str, there: str, ports: tuple[int, int, int]) -> str:
    own, _, health = ports
    return json.dumps(
        {
            "host": HOMES[name],
            "process": {
                "command": ["/usr/bin/python3", "-S", "pair.py", name, *map(str, ports)],
                "cwd": there,
            },
            "env": {"via": "env_file", "path": f"{there}/{name}.env"},
            "health": [{"tcp": f"127.0.0.1:{health}", "timeout": "10m"}],
            "ports": [own, health],
        }
    )


def _write(pair: Pair, name: str, one: str, two: str) -> None:
    pair.toy.playbook(name, PLAYBOOK.format(name=name, one=one, two=two))


def test_both_go_through_a_restart_at_once_there_and_back(pair: Pair) -> None:
    """What was lived at once is one cycle, and is paid for once."""
    _write(pair, "meet", "again", "again")
    done = pair.toy.run("run", "meet", "-y")
    assert done.returncode == 0, done.stderr
    back = done.stderr.partition("put back\n")[2]
    assert all(f"  restart {name}  ok" in back for name in HOMES), done.stderr
    pair.check_as_before()
    status = json.loads(pair.toy.run("status", "--json").stdout)
    assert status["total"]["restarts"] == 2


def test_both_keep_what_was_changed_and_are_put_back_together(pair: Pair) -> None:
    _write(pair, "meet", "again", "again")
    done = pair.toy.run("run", "meet", "-y", "--keep")
    assert done.returncode == 0, done.stderr
    assert "Kept as changed: 2 files on alpha, beta." in done.stderr
    for name, folder in pair.folders.items():
        assert (folder / f"{name}.env").read_text() == "MODE=again\n"
    assert "is kept changed by meet-" in pair.toy.run("plan", "meet").stderr
    back = pair.toy.run("recover", "meet")
    assert back.returncode == 0, (back.stdout, back.stderr)
    assert "restarted one, two" in back.stdout
    pair.check_as_before()


def test_a_crash_of_one_ends_the_wait_for_the_other(pair: Pair) -> None:
    """It is the crash that is told, not the end of the wait."""
    _write(pair, "broken", "hang", "crash")
    done = pair.toy.run("run", "broken", "-y")
    assert done.returncode == 3, done.stderr
    assert "two ended before it was healthy: exit code 1" in done.stderr
    assert "this cannot go well" in done.stderr
    assert "cancelled" not in done.stderr
    pair.check_as_before()


def test_asked_to_stop_while_both_are_waited_for(pair: Pair) -> None:
    _write(pair, "stuck", "hang", "hang")
    running = pair.toy.start("run", "stuck", "-y")
    marks = [folder / f"{name}.hangs" for name, folder in pair.folders.items()]
    wait_until(lambda: all(mark.exists() for mark in marks), WAIT_S, "both to hang")
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=2 * WAIT_S)
    assert running.returncode == 130, said
    pair.check_as_before()
