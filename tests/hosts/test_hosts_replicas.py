"""A unit with a replica on each of two machines, behind a balancer: rolled there and back."""

import json
import shutil
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from hosts_toy import UNIT, WAIT_S
from ports import free_port
from toy import SOURCE, Toy

pytestmark = pytest.mark.hosts

CAMPAIGN = """\
campaign: rolling
symptom: every fifth trial fails while the bug is in
lease: 6s
hosts:
  here: {{local: true}}
{hosts}
services:
  app:
    hosts: [{names}]
    systemd: {unit}.service
    env: {{via: dropin}}
    health: [{{http: "http://{{{{ host }}}}:{port}/health", timeout: 60s, settle: 20ms}}]
    availability:
      {{http: "http://127.0.0.1:{balanced}/health", on: here, every: 20ms, timeout: 30s}}
reproducers:
  trials:
    command: [{python}, -S, repro.py, "{balanced}", "{{{{ trials }}}}"]
    on: here
    timeout: 60s
    on_timeout: censored
    trials: "{{{{ trials }}}}"
    parse: {{jsonl: {{outcome: outcome, key: key, fail: [bad], pass: [good]}}}}
"""

PLAYBOOK = """\
name: {name}
hypothesis: rule
kind: fix
question: Does it fail with the rule corrected?
vars: {{trials: 10}}
steps:
  - patch: {{services: [app], root: /srv/{unit}/src, diff: patches/fix.diff, removes: [rule]}}
  - env: {{services: [app], set: {{MODE: new}}}}
  - restart: {{services: [app]{batch}}}
  - reproduce: {{use: trials}}
"""


@dataclass(kw_only=True)
class Pair(Toy):
    """A workspace here, and its service a unit of two machines."""

    unit: str
    machines: tuple[Machine, ...]

    def files(self) -> list[bytes]:
        """What the playbooks change, on both machines."""
        there = (one.root / "srv" / self.unit / "src/rule.py" for one in self.machines)
        return [path.read_bytes() for path in there]

    def mode(self, machine: Machine) -> str:
        """What the replica there says its mode is; nothing while it is down."""
        with suppress(OSError):
            return _fetched((machine.address, self.port), b"GET /env HTTP/1.0\r\n\r\n").split()[-1]
        return ""

    def modes(self) -> list[str]:
        return [self.mode(one) for one in self.machines]


def _fetched(place: tuple[str, int], asked: bytes) -> str:
    """An answer, whole; OSError where there is none."""
    with socket.create_connection(place, timeout=30) as connection:
        connection.sendall(asked)
        answer = connection.makefile("rb").read()
    if not answer:
        raise ConnectionError("closed without an answer")
    return answer.decode()


def _balance(listener: socket.socket, places: list[tuple[str, int]]) -> None:
    """Has each request answered by the first replica that answers at all."""
    while True:
        try:
            connection = listener.accept()[0]
        except OSError:
            return
        with connection, suppress(OSError):
            asked = connection.recv(4096)
            for place in places:
                with suppress(OSError):
                    connection.sendall(_fetched(place, asked).encode())
                    break


@pytest.fixture
def pair(
    machines: dict[str, Machine], ssh_config: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Pair]:
    """The pair up behind its balancer; all of it is gone at the end."""
    unit = request.node.name.replace("_", "-")
    both = (machines["alpha"], machines["beta"])
    made = Pair(tmp_path / "toy", 0, unit=unit, machines=both)
    made.port = free_port(made)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        places = [(one.address, made.port) for one in both]
        threading.Thread(target=_balance, args=(listener, places), daemon=True).start()
        _describe(made, ssh_config, listener.getsockname()[1])
        try:
            for one in both:
                _install(made, one)
            wait_until(lambda: made.modes() == ["plain"] * 2, WAIT_S, "both to be up")
            yield made
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for one in both:
                _remove(made, one)


def _describe(made: Pair, ssh_config: Path, balanced: int) -> None:
    shutil.copytree(SOURCE, made.root)
    shutil.rmtree(made.root / "playbooks")
    (made.root / "playbooks").mkdir()
    state = f"config: {ssh_config}, python: /usr/bin/python3, state_dir: /srv/{made.unit}/.state"
    text = CAMPAIGN.format(
        hosts="\n".join(f"  {one.address}: {{ssh: {one.name}, {state}}}" for one in made.machines),
        names=", ".join(one.address for one in made.machines),
        unit=made.unit,
        port=made.port,
        balanced=balanced,
        python=sys.executable,
    )
    (made.root / "campaign.yaml").write_text(text)
    for name, batch in (("rolling", ", batch: 1"), ("at-once", "")):
        made.playbook(name, PLAYBOOK.format(name=name, unit=made.unit, batch=batch))
    beliefs = str(made.root / "hypotheses.yaml")
    assert made.run("hypothesis", "import", beliefs).returncode == 0


def _install(made: Pair, machine: Machine) -> None:
    there = machine.root / "srv" / made.unit
    shutil.copytree(SOURCE / "src", there / "src", ignore=shutil.ignore_patterns("__py*"))
    (there / "env").mkdir()
    lines = f"PORT={made.port}\nADDRESS={machine.address}\nSTART={machine.name}\n"
    (there / "env/app.env").write_text(lines)
    unit = machine.root / f"etc/systemd/system/{made.unit}.service"
    unit.write_text(UNIT.format(there=f"/srv/{made.unit}") + "[Service]\nEnvironment=MODE=plain\n")
    machine.run("systemctl", "enable", "--quiet", "--now", made.unit)


def _remove(made: Pair, machine: Machine) -> None:
    unit = f"{made.unit}.service"
    machine.run("systemctl", "disable", "--quiet", "--now", unit, check=False)
    left = (f"/srv/{made.unit}", f"/etc/systemd/system/{unit}", f"/etc/systemd/system/{unit}.d")
    machine.run("rm", "-rf", *left)
    machine.run("systemctl", "daemon-reload")


def test_users_see_nothing_of_a_rollout(pair: Pair) -> None:
    """All at once they do; what both cost in capacity is told apart."""
    files = pair.files()
    done = pair.run("run", "rolling", "at-once", "-y")
    assert done.returncode == 0, done.stderr
    assert "batches of 1  ok" in done.stderr
    assert pair.files() == files
    assert pair.modes() == ["plain"] * 2
    rolled, at_once = (
        json.loads(pair.run("runs", "show", name, "--json").stdout)
        for name in ("rolling-", "at-once-")
    )
    (rollout,) = rolled["cycles"]
    assert rollout["downtime_s"] == 0.0
    assert rolled["capacities"][0]["probed"] == "app"
    assert rolled["capacities"][0]["lost_s"] > 0.0
    assert all(one["downtime_s"] > 0.0 for one in at_once["cycles"])


def test_each_machine_puts_its_own_replica_back_where_nobody_comes(pair: Pair) -> None:
    files = pair.files()
    running = pair.start("run", "rolling", "-y", "-e", "trials=100000")
    wait_until(lambda: pair.mode(pair.machines[0]) == "new", WAIT_S, "the first batch")
    running.kill()
    running.communicate()
    wait_until(lambda: pair.files() == files, WAIT_S, "the files to be put back")
    wait_until(lambda: pair.modes() == ["plain"] * 2, WAIT_S, "both to run on that")
    told = pair.run("recover")
    assert told.returncode == 0, told.stderr
    assert pair.run("recover").stdout == "Nothing to recover.\n"
