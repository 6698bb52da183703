"""What `cycle.py` works on: machines, each with a service that takes a second to warm up.

Two are real machines of systemd, booted as the tests boot them. Any number of others are an sshd
each on this machine, at an address of its own, with a service that a script starts and stops.
"""

import contextlib
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "hosts"))
from hosts_machine import missing, open_room

PARTS = ("north", "south", "west")
UNIT = "campaign-bench"
START_LIMIT_S = 60.0

APP = """\
import os, socket, time
import north, south, west

time.sleep(1)
with socket.create_server(("127.0.0.1", int(os.environ["PORT"])), backlog=64) as server:
    with open("starts", "a") as starts:
        print(north.PACE, south.PACE, west.PACE, os.environ["MODE"], file=starts)
    while True:
        line, _ = server.accept()
        with line:
            line.recv(65536)
            line.sendall(b"HTTP/1.0 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
"""
STARTED = ["fast fast fast quick", "slow slow slow plain"]
"""What the service notes of the two starts of a cycle, changed and put back."""

SERVICE = """\
[Service]
WorkingDirectory={there}
Environment=PORT={port} MODE=plain
ExecStart=/usr/bin/python3 -I -S -B -c "import sys; sys.path.insert(0, 'src'); import app"
"""
SCRIPT = """\
#!/bin/sh
cd {there} || exit 1
case $1 in
start) set -a; . ./app.env
       setsid /usr/bin/python3 -S -B src/app.py </dev/null >>log 2>&1 & echo $! >pid ;;
stop)  kill "$(cat pid)"; while kill -0 "$(cat pid)" 2>/dev/null; do sleep .02; done ;;
status) kill -0 "$(cat pid)" ;;
esac
"""
DIFF = "".join(
    f"--- a/{part}.py\n+++ b/{part}.py\n@@ -1,2 +1,2 @@\n"
    f' NAME = "{part}"\n-PACE = "slow"\n+PACE = "fast"\n'
    for part in PARTS
)
SSHD = """\
ListenAddress {address}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PidFile none
UsePAM no
StrictModes no
MaxStartups 100
Subsystem sftp internal-sftp
"""
SSH_CONFIG = """\
Host {name}
  HostName {address}
  Port {port}
"""
SSH_CONFIG_ALL = """\
Host *
  User root
  IdentityFile {key}
  IdentityAgent none
  IdentitiesOnly yes
  UserKnownHostsFile {known}
  GlobalKnownHostsFile none
"""


@dataclass(frozen=True)
class Target:
    """A host: where its sshd listens, its file system seen from here, and its service's folder.

    `http` is the port that the service answers at. Without `unit` a script drives it.
    """

    name: str
    address: str
    port: int
    root: Path
    there: str
    http: int
    unit: bool

    @property
    def folder(self) -> Path:
        return self.root / self.there.lstrip("/")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http}/"

    @property
    def dropins(self) -> str:
        return f"/etc/systemd/system/{UNIT}.service.d"

    def pace(self, pace: str) -> dict[str, str]:
        """The three files, at that pace."""
        return {f"{part}.py": f'NAME = "{part}"\nPACE = "{pace}"\n' for part in PARTS}

    def install(self) -> None:
        (self.folder / "src").mkdir(parents=True)
        for name, text in {**self.pace("slow"), "app.py": APP}.items():
            (self.folder / "src" / name).write_text(text)
        (self.folder / "app.env").write_text(f"PORT={self.http}\nMODE=plain\n")
        (self.folder / "service.sh").write_text(SCRIPT.format(there=self.there))
        (self.folder / "service.sh").chmod(0o755)
        if self.unit:
            unit = self.root / f"etc/systemd/system/{UNIT}.service"
            unit.write_text(SERVICE.format(there=self.there, port=self.http))

    def await_service(self) -> None:
        deadline = time.monotonic() + START_LIMIT_S
        while True:
            with contextlib.suppress(OSError), urlopen(self.url, timeout=5):
                return
            if time.monotonic() > deadline:
                raise SystemExit(f"the service of {self.name} did not come up")
            time.sleep(0.05)

    def check_cycled(self) -> None:
        """Since the last check it was started changed, then as it was; all is as it was."""
        notes = self.folder / "starts"
        assert notes.read_text().splitlines() == STARTED, (self.name, notes.read_text())
        notes.unlink()
        found = {name: (self.folder / "src" / name).read_text() for name in self.pace("")}
        assert found == self.pace("slow"), self.name
        assert not (self.root / self.dropins.lstrip("/")).exists() or not self.unit
        assert (self.folder / "app.env").read_text().endswith("MODE=plain\n")


@dataclass(frozen=True)
class Fleet:
    """The hosts, and how everyone reaches them."""

    targets: tuple[Target, ...]
    key: Path
    ssh_config: Path
    known_hosts: Path


@contextlib.contextmanager
def fleet(folder: Path, count: int) -> Iterator[Fleet]:
    """Two real machines, or `count` addresses of this one; all is gone again at the end."""
    why = missing()
    if why:
        raise SystemExit(f"no hosts to measure on: {why}")
    with _machines(folder) if count == 2 else _addresses(folder, count) as made:
        for target in made.targets:
            target.await_service()
            (target.folder / "starts").unlink()
        yield made


@contextlib.contextmanager
def _machines(folder: Path) -> Iterator[Fleet]:
    with open_room(folder / "room") as room:
        ports, targets = _free_ports(len(room)), []
        keys = []
        for machine, http in zip(room.values(), ports, strict=True):
            there = f"/srv/{UNIT}"
            target = Target(machine.name, machine.address, 22, machine.root, there, http, True)
            target.install()
            (machine.root / "root/.bashrc").write_text("")  # its greeting would end pyinfra's sftp
            machine.run("systemctl", "daemon-reload")
            machine.run("systemctl", "start", UNIT)
            targets.append(target)
            keys.append(f"{machine.address} {machine.host_key}")
            key = machine.key
        yield _described(folder, targets, key, keys)


@contextlib.contextmanager
def _addresses(folder: Path, count: int) -> Iterator[Fleet]:
    for name in ("host_key", "key"):
        _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name))
    host_key = " ".join((folder / "host_key.pub").read_text().split()[:2])
    ssh_port, *ports = _free_ports(count + 1)
    Path("/run/sshd").mkdir(exist_ok=True)
    targets, keys = [], []
    with contextlib.ExitStack() as stack:
        for number, http in enumerate(ports, 1):
            name, address = f"h{number:02}", f"127.0.8.{number}"
            there = str(folder / name)
            target = Target(name, address, ssh_port, Path("/"), there, http, False)
            target.install()
            stack.callback(subprocess.run, [f"{there}/service.sh", "stop"], check=False)
            _run(f"{there}/service.sh", "start")
            stack.callback(_end, _sshd(folder, target))
            targets.append(target)
            keys.append(f"[{address}]:{ssh_port} {host_key}")
        yield _described(folder, targets, folder / "key", keys)


def _sshd(folder: Path, target: Target) -> "subprocess.Popen[bytes]":
    config = target.folder / "sshd_config"
    config.write_text(SSHD.format(address=target.address, port=target.port, folder=folder))
    command = [shutil.which("sshd") or "/usr/sbin/sshd", "-D", "-f", str(config)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    process.wait()


def _described(folder: Path, targets: list[Target], key: Path, known: list[str]) -> Fleet:
    config, known_hosts = folder / "ssh_config", folder / "known_hosts"
    known_hosts.write_text("".join(f"{line}\n" for line in known))
    aliases = "".join(
        SSH_CONFIG.format(name=one.name, address=one.address, port=one.port) for one in targets
    )
    config.write_text(aliases + SSH_CONFIG_ALL.format(key=key, known=known_hosts))
    return Fleet(tuple(targets), key, config, known_hosts)


def _free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        bound = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [one.getsockname()[1] for one in bound]


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
