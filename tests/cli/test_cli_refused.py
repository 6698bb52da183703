"""What stands in a command's way: another run, an unusable ledger, a full or read-only disk."""

import getpass
import json
import re
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import toy as toys
from toy import Toy
from toy_stop import stop_services

HELD = """\
name: held
hypothesis: rule
kind: fix
question: Does it fail with the rule corrected?
vars: {trials: 40}
steps:
  - name: correct the rule
    patch: {root: src, diff: patches/fix.diff, removes: [rule]}
  - restart: {services: [app]}
  - name: hold
    command: {do: [sh, -c, "while [ -e hold ]; do sleep 0.05; done"], undo: ["true"]}
  - reproduce: {use: trials}
verdict: {by: rate, expect: drop, against: baseline}
"""


@pytest.fixture
def holding(toy: Toy) -> Toy:
    return prepared(toy)


def prepared(toy: Toy) -> Toy:
    """A toy with the playbook `held`, which waits in its middle while there is a file `hold`."""
    toy.playbook("held", HELD)
    (toy.root / "hold").touch()
    assert toy.run("hypothesis", "import", str(toy.root / "hypotheses.yaml")).returncode == 0
    return toy


class Held:
    """A run under way that waits with its change in place; it is let go by `end`."""

    def __init__(self, toy: Toy) -> None:
        self._toy = toy
        self.process = toy.start("run", "held", "-y")
        assert self.process.stderr is not None
        self.said = ""
        for line in self.process.stderr:
            self.said += line
            if "restart app  ok" in line:
                break

    def __enter__(self) -> "Held":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def end(self) -> int:
        (self._toy.root / "hold").unlink()
        _, said = self.process.communicate(timeout=60)
        self.said += said
        return self.process.returncode


def states(toy: Toy) -> list[tuple[str, str]]:
    listed = json.loads(toy.run("runs", "list", "--json").stdout)
    return [(one["run"]["status"], one["run"]["state"]) for one in listed]


def test_a_second_run_is_refused_with_who_holds_it_and_the_first_goes_on(holding: Toy) -> None:
    before = holding.tree()
    with Held(holding) as first:
        for words in (("run", "baseline", "-y"), ("recover",), ("services", "stop")):
            second = holding.run(*words)
            assert (second.returncode, second.stdout) == (6, "")
            assert re.fullmatch(
                rf"campaign: host here: {getpass.getuser()}@\S+ works on this host for held "
                r"\(agent pid \d+, since \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\): wait for it to end\n",
                second.stderr,
            ), second.stderr
        assert holding.run("status").returncode == 0
        assert first.end() == 0, first.said
    assert holding.tree() == before
    assert states(holding) == [("completed", "clean")]


def test_a_ledger_locked_by_another_process_loses_nothing(holding: Toy) -> None:
    before = holding.tree()
    with Held(holding) as run, closing(sqlite3.connect(holding.root / "campaign.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        noting = holding.start("hypothesis", "note", "rule", "text")
        assert holding.run("status").returncode == 0  # readers do not wait
        assert run.end() == 6
        _, said = noting.communicate(timeout=60)
        assert noting.returncode == 6
        for told in (run.said, said):
            assert told.count("campaign.db: the ledger is locked by another process; try") == 1
        assert "Everything was put back." in run.said
        other.rollback()
    assert holding.tree() == before
    assert states(holding) == [("interrupted", "clean")]
    assert "closed run held-" in holding.run("recover").stdout
    assert holding.run("recover").stdout == "Nothing to recover.\n"


def damaged(ledger: Path) -> None:
    content = bytearray(ledger.read_bytes())
    content[4096:] = b"\xaa" * (len(content) - 4096)
    ledger.write_bytes(content)


def newer(ledger: Path) -> None:
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA user_version = 99")


def foreign(ledger: Path) -> None:
    ledger.unlink()
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("CREATE TABLE mine (x)")


def test_an_unusable_ledger_is_refused_and_left_as_it_is(holding: Toy) -> None:
    ledger = holding.root / "campaign.db"
    good = ledger.read_bytes()
    for spoil, said in (
        (damaged, "the ledger is damaged; put back a copy"),
        (newer, "the ledger has version 99, and this program knows up to"),
        (foreign, "this is another program's database"),
        (lambda path: path.write_text("some text\n" * 500), "this is not a ledger"),
    ):
        spoil(ledger)
        spoiled = ledger.read_bytes()
        for words in (("status",), ("run", "baseline", "-y")):
            refused = holding.run(*words)
            assert (refused.returncode, refused.stdout) == (6, ""), (spoil, words)
            assert f"{ledger}: {said}" in refused.stderr
            assert len(refused.stderr.splitlines()) == 1
        assert ledger.read_bytes() == spoiled
        ledger.write_bytes(good)
    assert holding.run("status").returncode == 0


def test_recovery_puts_back_without_a_usable_ledger(holding: Toy) -> None:
    before = holding.tree()
    with Held(holding) as run:
        run.process.kill()
        run.process.communicate(timeout=60)
    newer(holding.root / "campaign.db")
    looked = holding.run("doctor")
    assert looked.returncode == 6
    assert f"a run whose name the ledger does not tell ({holding.root}/campaign.db" in looked.stdout
    recovered = holding.run("recover")
    assert recovered.returncode == 6
    assert "restored " in recovered.stdout
    assert "the hosts were seen to, but the runs stay open" in recovered.stderr
    assert holding.tree() == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 3 MB; skips where this user may not mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = mount("-t", "tmpfs", "-o", "size=3m", "tmpfs", disk)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr.strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True, timeout=60)


def mount(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = ["mount", *map(str, words)]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    except FileNotFoundError as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))


def fill(path: Path) -> None:
    """Writes until the disk is full."""
    with path.open("wb", buffering=0) as file:
        while True:
            try:
                file.write(bytes(4096))
            except OSError:
                return


def test_a_full_disk_stops_the_run_and_loses_nothing(small_disk: Path) -> None:
    made = prepared(toys.make(small_disk / "toy"))
    try:
        before = made.tree()
        with Held(made) as run:
            fill(small_disk / "rest")
            assert run.end() == 6, run.said
        assert run.said.count("campaign.db: the disk is full") == 1
        assert "Everything was put back." in run.said
        assert made.tree() == before
        fill(small_disk / "more")
        halved = made.run("init", "new")
        assert (halved.returncode, (made.root / "new" / "campaign.yaml").exists()) == (2, False)
        read = made.run("status")
        assert (read.returncode, "campaign.db: the disk is full" in read.stderr) == (6, True)
        for name in ("rest", "more"):
            (small_disk / name).unlink()
        assert states(made) == [("failed", "clean")]
        assert made.run("recover").stdout == "Nothing to recover.\n"
    finally:
        stop_services(made)


def test_a_read_only_workspace_can_be_read(small_disk: Path) -> None:
    made = prepared(toys.make(small_disk / "toy"))
    assert mount("-o", "remount,ro", small_disk).returncode == 0
    for words in (("status",), ("report",), ("runs", "list"), ("check",), ("plan", "baseline")):
        read = made.run(*words)
        assert read.returncode == 0, read.stderr
    for words in (("hypothesis", "note", "rule", "x"), ("run", "baseline", "-y")):
        refused = made.run(*words)
        assert refused.returncode == 6
        assert f"{made.root / 'campaign.db'}: the ledger cannot be " in refused.stderr
        assert len(refused.stderr.splitlines()) == 1
    refused = made.run("services", "stop")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (6, 1)
    assert f"no journal can be kept in {made.root}/.campaign/host: Read-only" in refused.stderr
    assert "name another folder: state_dir: of this host" in refused.stderr
