"""The machines as the tests see them, and the way to a room that runs them."""

import contextlib
import fcntl
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = {
    "systemd-nspawn": "systemd-container",
    "/usr/sbin/sshd": "openssh-server",
    "sudo": "sudo",
    "ssh": "openssh-client",
}
"""What the machines are made of, and the Debian packages that have it."""

_START_LIMIT_S = 120.0
_STOP_LIMIT_S = 30.0


@dataclass(frozen=True)
class Machine:
    """A booted machine: sshd answers at `address`:22, and `key` is let in as every user.

    `keeper` is the process that runs it, and runs it again when it boots again.
    """

    name: str
    address: str
    keeper: int
    host_key: str
    key: Path

    @property
    def init(self) -> int:
        """Its first process, as seen from here; another one after a reboot."""
        return _child(_child(self.keeper))

    @property
    def root(self) -> Path:
        """Its file system."""
        return Path(f"/proc/{self.init}/root")

    def run(self, *command: str, check: bool = True) -> str:
        """The output of a command that root runs there, without a login."""
        inside = ["nsenter", "--target", str(self.init), "--all", "--", *command]
        done = subprocess.run(inside, capture_output=True, text=True, check=False)
        if check and done.returncode != 0:
            raise AssertionError(f"{command} on {self.name}: {done.stderr or done.stdout}")
        return done.stdout

    def greets(self) -> bool:
        """Whether its sshd takes connections."""
        try:
            with socket.create_connection((self.address, 22), timeout=5) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def reboot(self) -> None:
        """Boots it again, and waits until its sshd answers."""
        before = self.init
        self.run("systemctl", "reboot", check=False)  # which may end before it can say so
        wait_until(lambda: not Path(f"/proc/{before}").exists(), _START_LIMIT_S, "it to go down")
        wait_until(self.greets, _START_LIMIT_S, "it to come up")

    def processes(self, word: str) -> dict[int, str]:
        """Its processes, by its own pids, that have `word` in their command line."""
        found = {}
        for folder in (self.root / "proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if word in line:
                    found[int(folder.name)] = line
        return found


def _child(pid: int) -> int:
    """The only child of a process. Raises LookupError where it has none."""
    return int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])


def missing() -> str:
    """Why no machine can be booted here, or nothing."""
    if os.geteuid() != 0:
        return "they need root"
    packages = [name for program, name in PROGRAMS.items() if not shutil.which(program)]
    return f"they need the Debian packages {' '.join(packages)}" if packages else ""


@contextlib.contextmanager
def open_room(
    folder: Path, names: tuple[str, ...] = ("alpha", "beta")
) -> Iterator[dict[str, Machine]]:
    """The machines by name. All who give the same folder share them; the last one stops them."""
    folder.mkdir(exist_ok=True)
    room = Room(folder, names)
    try:
        yield room.machines()
    finally:
        room.leave()


class Room:
    """A place in the room that runs the machines; see hosts_room.py for how it ends."""

    def __init__(self, folder: Path, names: tuple[str, ...]) -> None:
        self._folder = folder
        self._names = names
        self._holders = os.open(folder / "holders", os.O_RDWR | os.O_CREAT)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT)
        fcntl.flock(lock, fcntl.LOCK_EX)
        fcntl.flock(self._holders, fcntl.LOCK_SH)
        with contextlib.suppress(FileExistsError):
            os.mkfifo(folder / "users")
        self._hold = os.open(folder / "users", os.O_RDWR)
        try:
            if not (folder / "room.json").exists():
                self._start()
            self._facts = json.loads((folder / "room.json").read_text())
        finally:
            os.close(lock)

    def machines(self) -> dict[str, Machine]:
        if "error" in self._facts:
            raise RuntimeError(f"no machines: {self._facts['error']}")
        key = self._folder / "client_key"
        return {each["name"]: Machine(**each, key=key) for each in self._facts["machines"]}

    def leave(self) -> None:
        """Lets go of the room. The last one waits until all of it is gone."""
        try:
            fcntl.flock(self._holders, fcntl.LOCK_EX | fcntl.LOCK_NB)
            last = "pid" in self._facts
        except BlockingIOError:
            last = False
        os.close(self._holders)
        os.close(self._hold)
        if last:
            room = Path(f"/proc/{self._facts['pid']}")
            wait_until(lambda: not room.exists(), _STOP_LIMIT_S, "the room to close")

    def _start(self) -> None:
        key = self._folder / "client_key"
        if not key.exists():
            run = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "tests", "-f", str(key)]
            subprocess.run(run, check=True)
        reading = os.open(self._folder / "users", os.O_RDONLY | os.O_NONBLOCK)
        program = str(Path(__file__).with_name("hosts_room.py"))
        apart = ["setsid", "--fork", "unshare", "--mount", "--propagation", "private"]
        with (self._folder / "room.log").open("ab") as log:
            subprocess.run(
                [*apart, sys.executable, program, str(self._folder), str(reading), *self._names],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[reading],
                check=True,
            )
        os.close(reading)
        wait_until((self._folder / "room.json").exists, _START_LIMIT_S, "the machines to boot")


def wait_until(true: Callable[[], object], limit_s: float, what: str) -> None:
    """Looks until it is true. Raises AssertionError, naming `what`, where it never is."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"waited {limit_s:.0f} s for {what}"
        time.sleep(0.02)
