"""Boots two machines of systemd, sshd and journald on loopback, and keeps them while it is needed.

    python hosts_room.py FOLDER DESCRIPTOR NAME...

Run it as root in a mount namespace of its own (`unshare --mount`): whatever ends it, its mounts
are gone with it. Each machine is the root file system of this one, copy on write, booted by
systemd-nspawn on this one's network. DESCRIPTOR is the read end of a pipe that everyone holds
open for writing who uses the machines: when nobody does any more, be it for a crash, they are
stopped. FOLDER/room.json tells where they are, or why there are none.
"""

import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SUDO = {"ops": "NOPASSWD: ALL", "typist": "ALL", "guest": None}
"""The users beside root, and what sudo lets each do as root."""

BOOT_LIMIT_S = 60.0
STOP_LIMIT_S = 10.0

# Nothing that the machine below has installed starts here, but what is asked for.
TARGET = """\
[Unit]
Description=What the tests need
Requires=basic.target
Wants=ssh.service dbus.service systemd-logind.service systemd-user-sessions.service
After=basic.target ssh.service
AllowIsolate=yes
"""
MASKED = (
    "networking.service",
    "ssh.socket",
    "systemd-networkd.service",
    "systemd-networkd.socket",
    "systemd-resolved.service",
    "timers.target",
)
SSHD = """\
ListenAddress {address}
HostKey /etc/ssh/campaign_host_key
HostKey /etc/ssh/campaign_host_key_rsa
UsePAM no
MaxStartups 100
MaxAuthTries 6
"""
# Enters its cgroups, then runs nspawn, which ends with 133 where its machine is to boot again.
ENTER = """
while [ "$1" != -- ]; do echo 0 > "$1"; shift; done; shift
trap 'kill -TERM $nspawn' TERM
while :; do
    "$@" & nspawn=$!
    while :; do wait $nspawn; code=$?; kill -0 $nspawn 2>/dev/null || break; done
    [ $code = 133 ] || exit $code
done
"""
BASHRC = "echo 'this shell greets whoever logs in'\n"


def main() -> None:
    folder, descriptor, names = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))
    try:
        with machines(folder, names) as booted:
            publish(folder, {"pid": os.getpid(), "machines": booted})
            wait_until_unused(folder, descriptor)
    except Exception as error:
        publish(folder, {"error": f"{type(error).__name__}: {error}"})
        raise


def publish(folder: Path, facts: dict[str, object]) -> None:
    draft = folder / "room.json.new"
    draft.write_text(json.dumps(facts))
    draft.replace(folder / "room.json")


def wait_until_unused(folder: Path, descriptor: int) -> None:
    """Returns with the folder's lock held: newcomers wait, and then open a room of their own."""
    poll = select.poll()
    poll.register(descriptor, 0)  # the end of it is always reported
    lock = os.open(folder / "lock", os.O_RDWR)
    while True:
        poll.poll()
        fcntl.flock(lock, fcntl.LOCK_EX)
        if poll.poll(0):
            (folder / "room.json").unlink()
            return
        fcntl.flock(lock, fcntl.LOCK_UN)


@contextlib.contextmanager
def machines(folder: Path, names: list[str]) -> Iterator[list[dict[str, object]]]:
    with contextlib.ExitStack() as stack:
        booting = [Machine(name, address(n), folder, os.getpid()) for n, name in enumerate(names)]
        for machine in booting:
            stack.callback(machine.stop)
            machine.start()
        for machine in booting:
            machine.await_ssh()
        yield [machine.facts() for machine in booting]
        for machine in booting:
            machine.halt()


def address(number: int) -> str:
    """A loopback address that no other room on this machine has at this time."""
    high, rest = divmod(os.getpid(), 1 << 16)  # a pid has 22 bits
    return f"127.{64 * (number + 1) + high}.{rest >> 8}.{rest & 255}"


@dataclass
class Machine:
    """One machine of the room whose process is `room`."""

    name: str
    address: str
    folder: Path
    room: int
    nspawn: "subprocess.Popen[bytes] | None" = None

    @property
    def home(self) -> Path:
        return self.folder / self.name

    @property
    def root(self) -> Path:
        return self.home / "merged"

    @property
    def unique(self) -> str:
        return f"{self.name}-{self.room}"

    def facts(self) -> dict[str, object]:
        assert self.nspawn
        key = (self.root / "etc/ssh/campaign_host_key.pub").read_text()
        return {
            "name": self.name,
            "address": self.address,
            "keeper": self.nspawn.pid,
            "host_key": " ".join(key.split()[:2]),
        }

    def start(self) -> None:
        self.mount()
        self.furnish()
        for group in self.cgroups():
            group.mkdir(parents=True)
        entered = [str(group / "cgroup.procs") for group in self.cgroups()]
        nspawn = [
            "systemd-nspawn",
            *("-D", str(self.root), "-M", self.unique, "--hostname", self.name),
            *("--register=no", "--keep-unit", "--link-journal=no", "--console=pipe", "-b"),
        ]
        self.nspawn = subprocess.Popen(
            ["sh", "-c", ENTER, "sh", *entered, "--", *nspawn],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    def mount(self) -> None:
        self.home.mkdir()
        run("mount", "-t", "tmpfs", "-o", "size=2g,mode=0755", "tmpfs", str(self.home))
        for name in ("upper", "work", "merged"):
            (self.home / name).mkdir()
        layers = f"lowerdir=/,upperdir={self.home}/upper,workdir={self.home}/work"
        run("mount", "-t", "overlay", "overlay", "-o", layers, str(self.root))

    def furnish(self) -> None:
        self.write("etc/machine-id", run("systemd-id128", "new"))
        self.write("etc/hostname", self.name + "\n")
        self.write("etc/hosts", f"127.0.0.1 localhost {self.name}\n")
        self.write("etc/systemd/system/campaign-hosts.target", TARGET)
        self.write("etc/ssh/sshd_config.d/00-campaign.conf", SSHD.format(address=self.address))
        for unit in MASKED:
            self.link(f"etc/systemd/system/{unit}", "/dev/null")
        self.link("etc/systemd/system/default.target", "campaign-hosts.target")
        for name, kind in (("key", ["ed25519"]), ("key_rsa", ["rsa", "-b", "2048"])):
            path = str(self.root / f"etc/ssh/campaign_host_{name}")
            run("ssh-keygen", "-q", "-N", "", "-C", self.name, "-f", path, "-t", *kind)
        self.add_users()

    def add_users(self) -> None:
        key = (self.folder / "client_key.pub").read_text()
        self.write("root/.ssh/authorized_keys", key, 0o600)
        self.write("root/.bashrc", BASHRC)
        for name, allowed in SUDO.items():
            run("chroot", str(self.root), "useradd", "-m", "-s", "/bin/bash", "-p", "*", name)
            self.write(f"home/{name}/.ssh/authorized_keys", key, 0o600)
            self.write(f"home/{name}/.bashrc", BASHRC)
            run("chroot", str(self.root), "chown", "-R", f"{name}:", f"/home/{name}")
            if allowed:
                self.write(f"etc/sudoers.d/{name}", f"{name} ALL=(ALL) {allowed}\n", 0o440)

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        where = self.root / path
        if not where.parent.exists():
            where.parent.mkdir(mode=0o700)
        where.unlink(missing_ok=True)
        where.write_text(text)
        where.chmod(mode)

    def link(self, path: str, target: str) -> None:
        (self.root / path).unlink(missing_ok=True)
        (self.root / path).symlink_to(target)

    def cgroups(self) -> list[Path]:
        """Of its own: two machines in one would share the cgroups of their services."""
        top = Path("/sys/fs/cgroup")
        trees = [tree for tree in (top, top / "systemd", top / "unified") if is_tree(tree)]
        return [tree / f"campaign-hosts-{self.room}" / self.name for tree in trees]

    def await_ssh(self) -> None:
        """Until its sshd greets."""
        deadline = time.monotonic() + BOOT_LIMIT_S
        while not self.greets():
            assert self.nspawn
            if self.nspawn.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} did not boot (exit {self.nspawn.poll()})")
            time.sleep(0.05)

    def greets(self) -> bool:
        try:
            with socket.create_connection((self.address, 22), timeout=5) as connection:
                return connection.recv(4) == b"SSH-"
        except OSError:
            return False

    def halt(self) -> None:
        if self.nspawn:
            self.nspawn.terminate()

    def stop(self) -> None:
        """Ends it and its mounts, even where it never came up."""
        if self.nspawn:
            end(self.nspawn)
        for where in (self.root, self.home):
            subprocess.run(["umount", "--lazy", str(where)], check=False)
        for left in (self.home, Path("/run/systemd/nspawn/propagate") / self.unique):
            shutil.rmtree(left, ignore_errors=True)
        for group in self.cgroups():
            remove_cgroup(group)


def is_tree(path: Path) -> bool:
    return (path / "cgroup.procs").exists()


def remove_cgroup(group: Path) -> None:
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            Path(folder).rmdir()
    with contextlib.suppress(OSError):
        group.parent.rmdir()


def end(process: "subprocess.Popen[bytes]") -> None:
    """Ends nspawn, which takes all of its machine along."""
    process.terminate()
    try:
        process.wait(STOP_LIMIT_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def run(*command: str) -> str:
    """The output of a command. Raises RuntimeError with what it said where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout


if __name__ == "__main__":
    main()
