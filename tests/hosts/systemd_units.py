"""Units on a real machine, written, used and taken away by one test."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass

from hosts_machine import Machine

from playbooks.hosts.specs import UnitSpec


@dataclass(frozen=True)
class TestUnit:
    """A unit of `machine`; its drop-ins stand in `UNIT.d` beside it."""

    __test__ = False

    machine: Machine
    name: str

    @property
    def spec(self) -> UnitSpec:
        return UnitSpec("svc", self.name)

    def write(self, path: str, text: str) -> None:
        where = self.machine.root / path.lstrip("/")
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_text(text)

    def service(self, text: str) -> None:
        """Its [Service] section; systemd reads it at once."""
        self.write(f"/etc/systemd/system/{self.name}", f"[Service]\n{text}")
        self.machine.run("systemctl", "daemon-reload")

    def show(self, name: str) -> str:
        return self.machine.run("systemctl", "show", "--value", "-p", name, self.name).strip()

    def environ(self) -> dict[str, str]:
        """The environment of its main process."""
        path = self.machine.root / "proc" / self.show("MainPID") / "environ"
        pairs = path.read_bytes().decode("utf-8", "surrogateescape").split("\0")
        return dict(pair.partition("=")[::2] for pair in pairs if pair)


@contextlib.contextmanager
def unit(machine: Machine, name: str) -> Iterator[TestUnit]:
    """A unit of this name; what is left of it is ended and removed."""
    made = TestUnit(machine, name)
    try:
        yield made
    finally:
        machine.run("systemctl", "kill", "-s", "KILL", name, check=False)
        machine.run("systemctl", "stop", name, check=False)
        machine.run("systemctl", "unmask", name, check=False)
        folder = "/etc/systemd/system"
        machine.run("rm", "-rf", f"{folder}/{name}", f"{folder}/{name}.d")
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "reset-failed", name, check=False)


def journal(machine: Machine, name: str) -> list[str]:
    """The messages of a unit, as journalctl has them."""
    shown = machine.run("journalctl", "-u", name, "-o", "json", "--all")
    return [str(json.loads(line)["MESSAGE"]) for line in shown.splitlines()]
