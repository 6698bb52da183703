"""The case that started it all, on two machines: engines on one, the router on the other.

Rates come from a real race: only what must hold is asserted.
"""

import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from hosts_machine import Machine
from ports import free_port
from toy import Toy

pytestmark = pytest.mark.hosts

CASE = Path(__file__).parents[1] / "campaigns" / "pd_hosts"
DEMO = Path(__file__).parents[2] / "campaign" / "demo" / "workspace"
THERE = Path("srv/pd")
UNITS = {"alpha": ("pd-prefill", "pd-decode"), "beta": ("pd-router",)}
VARIABLES = ("CHECKSUM_PROBE", "DEMO_IDXK_CORRUPT_EVERY")


class Case:
    """The workspace here, and what the machines hold of the system."""

    def __init__(self, workspace: Toy, machines: dict[str, Machine], ports: dict[str, str]) -> None:
        self.workspace = workspace
        self._machines = machines
        self._ports = ports

    def files(self) -> dict[str, tuple[bytes, int, int, int]]:
        """Every file of the system: bytes, mode, owner and modification time."""
        return {
            f"{name}:{path}": (path.read_bytes(), *_state(path))
            for name in UNITS
            for path in sorted((self._machines[name].root / THERE).rglob("*"))
            if path.is_file() and ".state" not in path.parts
        }

    def journals(self) -> list[Path]:
        """What the machines still keep for putting back."""
        roots = [self._machines[name].root / THERE / ".state" for name in UNITS]
        return [path for root in roots for path in root.glob("journal.json")]

    def pids(self) -> dict[str, int]:
        """The main process of each unit."""
        return {
            unit: int(self._machines[name].run("systemctl", "show", "-P", "MainPID", unit))
            for name, units in UNITS.items()
            for unit in units
        }

    def environ(self, unit: str) -> set[str]:
        """The names of the variables that the unit's main process has."""
        (name,) = [one for one, units in UNITS.items() if unit in units]
        path = self._machines[name].root / "proc" / str(self.pids()[unit]) / "environ"
        return {pair.partition(b"=")[0].decode() for pair in path.read_bytes().split(b"\0")}

    def is_healthy(self, place: str) -> bool:
        with urlopen(f"http://127.0.0.1:{self._ports[place]}/health", timeout=5) as answer:
            return bool(answer.status == 200)

    def answer(self, *arguments: str) -> Any:
        done = self.workspace.run(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def _state(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_mode, found.st_uid, found.st_mtime_ns


@pytest.fixture
def case(machines: dict[str, Machine], ssh_config: Path, tmp_path: Path) -> Iterator[Case]:
    """The system up on both machines, as someone else had started it."""
    workspace = Toy(tmp_path / "pd", 0)
    ports = {place: str(free_port(workspace)) for place in ("PREFILL", "DECODE", "ROUTER")}
    values = {f"@PORT_{place}@": port for place, port in ports.items()}
    values |= {"@PYTHON@": sys.executable, "@SSH_CONFIG@": str(ssh_config)}
    _write(workspace.root, values)
    with ExitStack() as stack:
        for name, units in UNITS.items():
            stack.callback(_remove, machines[name], units)
            _install(machines[name], workspace.root / name, units)
        beliefs = str(workspace.root / "hypotheses.yaml")
        assert workspace.run("hypothesis", "import", beliefs).returncode == 0
        started = workspace.run("services", "start")
        assert started.returncode == 0, started.stderr
        yield Case(workspace, machines, ports)


def _write(folder: Path, values: dict[str, str]) -> None:
    shutil.copytree(CASE, folder)
    shutil.copytree(DEMO / "patches", folder / "patches")
    shutil.copy(DEMO / "repro_sessions.py", folder)
    for path in folder.rglob("*"):
        if path.suffix in (".yaml", ".sh"):
            text = path.read_text(encoding="utf-8")
            for name, value in values.items():
                text = text.replace(name, value)
            path.write_text(text, encoding="utf-8")


def _install(machine: Machine, parts: Path, units: tuple[str, ...]) -> None:
    there = machine.root / THERE
    shutil.copytree(DEMO / "system", there / "system", ignore=shutil.ignore_patterns("__pycache__"))
    for unit in units:
        shutil.copy(parts / f"{unit}.service", machine.root / "etc/systemd/system")
    for script in parts.glob("*.sh"):
        shutil.copy(script, there)
        (there / script.name).chmod(0o750)
    machine.run("systemctl", "daemon-reload")


def _remove(machine: Machine, units: tuple[str, ...]) -> None:
    machine.run("systemctl", "kill", "-s", "KILL", *units, check=False)
    machine.run("systemctl", "stop", *units, check=False)
    machine.run("rm", "-rf", f"/{THERE}", *(f"/etc/systemd/system/{one}.service" for one in units))
    machine.run("systemctl", "daemon-reload")


def test_the_checksums_of_two_engines_joined_by_room(case: Case) -> None:
    before, pids = case.files(), case.pids()
    done = case.answer("run", "idxk-known-bad", "idxk-checksum", "-y")
    assert [(one["status"], one["verdict"]["word"]) for one in done["runs"]] == [
        ("completed", "supported"),
        ("completed", "supported"),
    ]
    _check_put_back(case, before, pids)
    _check_detector(case)
    _check_probe(case)


def _check_put_back(case: Case, before: dict[str, Any], pids: dict[str, int]) -> None:
    """Every file is what it was, and all was started again on it, as a group of two machines."""
    assert case.files() == before
    assert case.journals() == []
    assert not pids.items() & case.pids().items()
    assert all(case.is_healthy(place) for place in ("PREFILL", "DECODE", "ROUTER"))
    assert not any(case.environ(unit) & {*VARIABLES} for unit in UNITS["alpha"])
    assert case.answer("status")["total"]["restarts"] == 3
    assert case.workspace.run("recover").stdout == "Nothing to recover.\n"


def _check_detector(case: Case) -> None:
    """12 rooms or fewer, of which every third was corrupted: exactly those differ."""
    shown = case.answer("runs", "show", "idxk-known-bad")
    (comparison,) = shown["comparisons"]
    rooms = comparison["matched"] + comparison["mismatched"]
    assert comparison["mismatched"] == rooms // 3 > 0


def _check_probe(case: Case) -> None:
    """Three files were changed; no room is missing; each leaking session has one that differs."""
    shown = case.answer("runs", "show", "idxk-checksum")
    edited = {Path(one["path"].partition(":")[2] or one["path"]).name for one in shown["edits"]}
    assert {"prefill.py", "generation.py", "checksum_probe.py"} <= edited
    assert {one["effect"] for one in shown["states"]} == {"effective"}
    (comparison,) = shown["comparisons"]
    missing = ("left_only", "right_only", "duplicate", "fail_match")
    assert {name: comparison[name] for name in missing} == dict.fromkeys(missing, 0)
    assert comparison["mismatched"] > 0
