"""The toy workspace with its service a unit of a real machine, and ways to break things there."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hosts_machine import Machine, wait_until
from ports import free_port
from toy import SOURCE, Toy

WAIT_S = 60.0
NOTHING = "Nothing to recover.\n"
PUT_BACK = "Everything was put back."

CAMPAIGN = """\
campaign: toy
symptom: every fifth trial fails while the bug is in
hosts:
  here: {{local: true}}
  there:
    {{ssh: {machine}, config: {folder}/ssh_config, python: /srv/{unit}/python,
      state_dir: /srv/{unit}/.state, {access}}}
services:
  app:
    host: there
    systemd: {unit}.service
    env: {{via: env_file, path: /srv/{unit}/env/app.env}}
    health:
      - {{http: "http://127.0.0.1:{port}/health", timeout: 6s, settle: 20ms}}
      - {{command: [test, -e, /srv/{unit}/may-serve], timeout: 6s}}
    ports: [{port}]
reproducers:
  trials:
    command: [{python}, -S, repro.py, "{port}", "{{{{ trials }}}}"]
    on: here
    timeout: 60s
    on_timeout: censored
    trials: "{{{{ trials }}}}"
    parse: {{jsonl: {{outcome: outcome, key: key, fail: [bad], pass: [good]}}}}
"""

UNIT = """\
[Service]
ExecStart=/usr/bin/python3 -S -B {there}/src/app.py
EnvironmentFile={there}/env/app.env
Restart=always
RestartSec=20ms
[Install]
WantedBy=campaign-hosts.target
"""

# Once armed, the agent's durable call of that number takes its connection along: see durable.py.
INTERPRETER = """\
#!/bin/sh
if [ -e {there}/armed ]; then
    read -r crash < {there}/armed
    rm {there}/armed
    export CAMPAIGN_CRASH="$crash:$PPID"
fi
exec /usr/bin/python3 "$@"
"""

SSH_CONFIG = """\
Host {machine.name}
  HostName {machine.address}
  User root
  IdentityFile {machine.key}
  IdentityAgent none
  UserKnownHostsFile {folder}/known_hosts
  GlobalKnownHostsFile none
  ProxyCommand {python} -I -S {folder}/relay.py %h %p
"""

# While `fatal` is there, whoever dialled does not outlive the connection to learn of its end.
RELAY = """\
import os, select, sys
from _socket import socket

line = socket()
line.connect((sys.argv[1], int(sys.argv[2])))
ways = {
    line: (line.recv, lambda data: os.write(1, data)),
    0: (lambda size: os.read(0, size), line.sendall),
}
ended = None
while ended is None:
    for source in select.select(list(ways), [], [])[0]:
        read, write = ways[source]
        try:
            data = read(65536)
        except OSError:
            data = b""
        if not data:
            ended = source
            break
        write(data)
if ended is line and os.path.exists(os.path.join(os.path.dirname(__file__), "fatal")):
    os.kill(os.getppid(), 9)
"""


@dataclass(kw_only=True)
class UnitToy(Toy):
    """A workspace here, whose only service is the unit `unit` of `machine`."""

    machine: Machine
    unit: str

    @property
    def there(self) -> Path:
        """The service's folder, as seen from here."""
        return self.machine.root / "srv" / self.unit

    @property
    def rule(self) -> Path:
        return self.there / "src/rule.py"

    def files(self) -> dict[str, tuple[bytes, int, int, int]]:
        """All that stands where playbooks change something: bytes, mode, owner, time."""
        found = {}
        for part in ("src", "env"):
            for path in sorted((self.there / part).rglob("*")):
                with suppress(FileNotFoundError):  # it may be put back just now
                    if path.is_file():
                        name = str(path.relative_to(self.there))
                        found[name] = (path.read_bytes(), *_state(path))
        return found

    def journal(self) -> list[str]:
        """What the machine keeps for putting back."""
        state = self.there / ".state"
        kept = (path.relative_to(state) for path in state.rglob("*") if path.is_file())
        return [str(path) for path in kept if path.parts[0] not in ("agent", "lock")]

    def check_as_before(self, files: dict[str, tuple[bytes, int, int, int]]) -> None:
        """The machine is as it was, its service runs on that, and nothing is left to do."""
        assert self.files() == files
        assert self.journal() == []
        assert "bug True" in self.ask("/health")
        assert self.ask("/env") == "plain"

    def check_recovers(self, files: dict[str, tuple[bytes, int, int, int]]) -> None:
        """`recover` brings all of it back, and a second one finds nothing to do."""
        recovered = self.run("recover")
        assert recovered.returncode == 0, (recovered.stdout, recovered.stderr)
        self.check_as_before(files)
        assert self.run("recover").stdout == "Nothing to recover.\n"

    def until(self, running: subprocess.Popen[str], text: str) -> None:
        """Reads on until a command has said `text` on stderr."""
        assert running.stderr is not None
        said = []
        for line in running.stderr:
            said.append(line)
            if text in line:
                return
        raise AssertionError(f"it ended without {text!r}: {''.join(said)}")

    def measuring(self, playbook: str, trials: int = 100_000) -> subprocess.Popen[str]:
        """A run under way, whose boot is up and whose trials are about to begin."""
        running = self.start("run", playbook, "-y", "-e", f"trials={trials}")
        self.until(running, "restart app  ok")
        return running

    def trying(self, playbook: str, trials: int) -> subprocess.Popen[str]:
        """A run under way, whose trials come in, a hundred a second at most."""
        running = self.measuring(playbook, trials)
        outputs = self.root / ".campaign/artifacts"
        come = lambda: any(one.stat().st_size for one in outputs.glob("*/*output.log"))  # noqa: E731
        wait_until(come, WAIT_S, "trials")
        return running

    def cut(self) -> None:
        """Kills the sshd process that serves the connection of the agent, nothing else."""
        agent = json.loads((self.there / ".state/lock").read_text())["pid"]
        status = (self.machine.root / f"proc/{agent}/status").read_text()
        self.machine.run("kill", "-9", status.partition("PPid:")[2].split()[0])

    def arm(self, crash: str) -> None:
        """The next agent cuts its connection at a durable call: `operator:N` or `both:N`."""
        (self.there / "armed").write_text(f"{crash}\n")

    @contextmanager
    def small_disk(self, part: str) -> Iterator[Callable[[], Path]]:
        """Moves a part of the service's folder to a disk of 1 MiB; gives what fills that."""
        where, aside = f"/srv/{self.unit}/{part}", f"/srv/{self.unit}/aside"
        self.machine.run("mkdir", "-p", where)
        self.machine.run("mv", where, aside)
        self.machine.run("mkdir", where)
        self.machine.run("mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", where)
        self.machine.run("cp", "-a", f"{aside}/.", where)
        try:
            yield lambda: _fill(self.there / part / "filler")
        finally:
            self.machine.run("umount", "--lazy", where)

    def show(self, name: str) -> str:
        return self.machine.run("systemctl", "show", "-P", name, self.unit).strip()


def _fill(path: Path) -> Path:
    """Writes a file until there is no space left."""
    with path.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return path


def _state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mode, found.st_uid, found.st_mtime_ns


def unit_name(request: pytest.FixtureRequest) -> str:
    """A unit's name that no other test has."""
    return re.sub("[^a-z0-9]+", "-", request.node.name).strip("-")


@contextmanager
def unit_toy(machine: Machine, folder: Path, unit: str) -> Iterator[UnitToy]:
    """A workspace in `folder`, and its service up as `unit` of `machine`; all is removed again."""
    shutil.copytree(SOURCE, folder)
    toy = UnitToy(folder, 0, machine=machine, unit=unit)
    toy.port = free_port(toy)
    try:
        _install(toy)
        _describe(toy)
        beliefs = str(folder / "hypotheses.yaml")
        assert toy.run("hypothesis", "import", beliefs).returncode == 0
        wait_until(lambda: _answers(toy), WAIT_S, "the service to be up")
        yield toy
    finally:
        _remove(toy)


def _describe(toy: UnitToy) -> None:
    """Writes the workspace's files, and the way to the machine."""
    access(toy, "user: root")
    (toy.root / "ssh_config").write_text(
        SSH_CONFIG.format(folder=toy.root, machine=toy.machine, python=sys.executable)
    )
    (toy.root / "relay.py").write_text(RELAY)
    known = f"{toy.machine.address} {toy.machine.host_key}\n"
    (toy.root / "known_hosts").write_text(known)
    fix = toy.root / "playbooks/fix.yaml"
    root = f"host: there, root: /srv/{toy.unit}/src"
    fix.write_text(fix.read_text().replace("root: src", root))


def access(toy: UnitToy, said: str) -> None:
    """Writes campaign.yaml, in which this is said of how the machine is used."""
    words = {"folder": toy.root, "machine": toy.machine.name, "python": sys.executable}
    text = CAMPAIGN.format(**words, port=toy.port, unit=toy.unit, access=said)
    (toy.root / "campaign.yaml").write_text(text)


def _install(toy: UnitToy) -> None:
    toy.there.mkdir(parents=True)
    for part in ("src", "env"):
        shutil.copytree(SOURCE / part, toy.there / part, ignore=shutil.ignore_patterns("__py*"))
    (toy.there / "env/app.env").write_text(f"PORT={toy.port}\nMODE=plain\n")
    (toy.there / "may-serve").touch()
    (toy.there / "python").write_text(INTERPRETER.format(there=f"/srv/{toy.unit}"))
    (toy.there / "python").chmod(0o755)
    unit = toy.machine.root / f"etc/systemd/system/{toy.unit}.service"
    unit.write_text(UNIT.format(there=f"/srv/{toy.unit}"))
    toy.machine.run("systemctl", "enable", "--quiet", "--no-reload", "--now", toy.unit)


def _answers(toy: UnitToy) -> bool:
    try:
        return "bug True" in toy.ask("/health")
    except OSError:
        return False


def _remove(toy: UnitToy) -> None:
    run, unit = toy.machine.run, f"{toy.unit}.service"
    run("systemctl", "disable", "--quiet", "--no-reload", "--now", unit, check=False)
    run("rm", "-rf", f"/srv/{toy.unit}", f"/etc/systemd/system/{unit}")
    run("systemctl", "daemon-reload")
    run("systemctl", "reset-failed", unit, check=False)
