"""What happens to those who open a ledger: none, a damaged, a newer, a locked, a full one."""

import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from ledger_builders import make_run

from campaign.errors import CampaignError, Exit
from campaign.ledger import connect
from campaign.ledger.connect import is_there
from campaign.ledger.reads import Ledger
from campaign.ledger.recorder import Recorder
from campaign.ledger.version import VERSION

_OPENER = """
import sys, time
from pathlib import Path
from campaign.ledger.recorder import Recorder
print("ready", flush=True)
for line in sys.stdin:
    moment, path = line.rstrip("\\n").split(" ", 1)
    while time.monotonic() < float(moment):
        pass
    try:
        with Recorder.open(Path(path), create=True) as recorder:
            recorder.set_campaign("race", "", "")
        print("stored", flush=True)
    except Exception as error:
        print(repr(error), flush=True)
"""

_HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.read()
connection.close()
"""


@contextmanager
def _python(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process


def _ask(process: subprocess.Popen[str], line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def _refusal(path: Path) -> str:
    """The one line that readers and writers alike get for `path`."""
    with pytest.raises(CampaignError) as reading:
        Ledger.open(path)
    with pytest.raises(CampaignError) as writing:
        Recorder.open(path, create=False)
    assert reading.value.exit is writing.value.exit is Exit.REFUSED
    assert str(reading.value) == str(writing.value)
    assert "\n" not in str(reading.value)
    return str(reading.value)


def test_two_processes_open_a_new_ledger_at_once(tmp_path: Path) -> None:
    with _python(_OPENER) as one, _python(_OPENER) as other:
        for attempt in range(20):
            moment = time.monotonic() + 0.02
            for process in (one, other):
                _ask(process, f"{moment} {tmp_path / str(attempt)}")
            for process in (one, other):
                assert process.stdout is not None
                assert process.stdout.readline() == "stored\n"


def test_a_missing_ledger_is_named_and_not_made(path: Path) -> None:
    assert _refusal(path) == f"{path}: there is no ledger here; `campaign init` makes one"
    assert not path.exists()


def test_a_missing_folder_is_named(path: Path) -> None:
    with pytest.raises(CampaignError, match="folder cannot be opened: No such file") as refused:
        Recorder.open(path / "missing" / "campaign.db", create=True)
    assert refused.value.exit is Exit.REFUSED


def test_an_empty_file_is_no_ledger_but_can_become_one(path: Path) -> None:
    assert not is_there(path)
    path.touch()
    assert not is_there(path)
    assert "the ledger is empty" in _refusal(path)
    Recorder.open(path, create=True).close()
    Ledger.open(path).close()
    assert is_there(path)


def test_a_folder_is_no_ledger(path: Path) -> None:
    path.mkdir()
    assert "this is a folder" in _refusal(path)


def test_a_name_that_no_file_can_have_is_told(path: Path) -> None:
    assert _refusal(path.with_name("x" * 300)).endswith("File name too long")


def test_a_text_is_no_ledger_and_is_left_alone(path: Path) -> None:
    path.write_text("hello\n" * 1000)
    assert "this is not a ledger" in _refusal(path)
    with pytest.raises(CampaignError, match="this is not a ledger"):
        Recorder.open(path, create=True)
    assert path.read_text() == "hello\n" * 1000


def test_another_programs_database_is_refused_and_left_alone(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    before = path.read_bytes()
    assert "another program's database" in _refusal(path)
    with pytest.raises(CampaignError, match="another program's database"):
        Recorder.open(path, create=True)
    assert path.read_bytes() == before


def test_a_damaged_ledger_is_told(path: Path, recorder: Recorder) -> None:
    recorder.add(make_run())
    recorder.close()
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = b"\xff" * (len(damaged) - 4096)
    path.write_bytes(damaged)
    assert "the ledger is damaged; put back a copy" in _refusal(path)


def test_damage_in_one_page_of_many_is_told_when_the_ledger_is_opened(
    path: Path, recorder: Recorder
) -> None:
    recorder.add_all(make_run(f"run-{number:06}", question="x" * 500) for number in range(200))
    recorder.close()
    damaged = bytearray(path.read_bytes())
    page = len(damaged) // 4096 * 3 // 4
    damaged[page * 4096 : page * 4096 + 64] = b"\xff" * 64
    path.write_bytes(damaged)
    assert "the ledger is damaged; put back a copy" in _refusal(path)


def test_a_newer_ledger_is_refused_with_both_versions(path: Path, recorder: Recorder) -> None:
    recorder.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    line = _refusal(path)
    assert f"has version {VERSION + 1}, and this program knows up to {VERSION}" in line


def test_a_half_made_ledger_is_finished_by_the_next_writer(path: Path) -> None:
    """As an opener leaves it that is killed after it chose the journal mode."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    with Recorder.open(path, create=True) as recorder:
        recorder.add(make_run())


def _older(path: Path, version: int) -> None:
    """A ledger as the program that knew `version` left it."""
    from sqlite_utils import Database

    from campaign.ledger.migrations import bring_up_to

    with closing(Database(path)) as database:
        bring_up_to(database, version)
        database.execute("INSERT INTO campaign VALUES ('old', 'it leaks', 'EUR', 1.0, 'key')")
        database.conn.commit()


@pytest.mark.parametrize("opened", ["for reading", "for writing"])
@pytest.mark.parametrize("version", range(1, VERSION))
def test_an_older_ledger_is_brought_up_to_date_with_a_backup(
    path: Path, version: int, opened: str
) -> None:
    _older(path, version)
    if opened == "for writing":
        Recorder.open(path, create=False).close()
    with Ledger.open(path) as ledger:
        assert ledger.hypothesis_costs() == ledger.boot_lines() == ()
        campaign = ledger.campaign()
    assert campaign is not None
    assert (campaign.symptom, campaign.hash_key) == ("it leaks", "key")
    (backup,) = path.parent.glob("campaign.db.version-*")
    assert backup.name == f"campaign.db.version-{version}"
    with closing(sqlite3.connect(backup)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (version,)
        assert connection.execute("SELECT name FROM campaign").fetchall() == [("old",)]


def test_no_backup_takes_the_place_of_another(path: Path) -> None:
    for _ in range(2):
        path.unlink(missing_ok=True)
        _older(path, 2)
        Recorder.open(path, create=False).close()
    names = sorted(one.name for one in path.parent.glob("*.version-*"))
    assert names == ["campaign.db.version-2", "campaign.db.version-2.2"]


def test_the_version_is_the_number_of_migrations() -> None:
    from campaign.ledger.migrations import MIGRATIONS

    assert len(MIGRATIONS._migrations) == VERSION


def test_a_name_with_marks_of_an_address_is_just_a_name(tmp_path: Path) -> None:
    path = tmp_path / "what? 100% #1 é.db"
    with Recorder.open(path, create=True) as recorder:
        recorder.set_campaign("odd", "", "")
    with Ledger.open(path) as ledger:
        assert ledger.campaign() is not None


def test_a_locked_ledger_refuses_writers_and_serves_readers(
    path: Path, recorder: Recorder, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder.add(make_run("before-aaaaaa"))
    monkeypatch.setattr(connect, "PATIENCE_S", 0.05)
    with Recorder.open(path, create=False) as impatient:
        with _python(_HOLDER, str(path)):
            with pytest.raises(CampaignError, match="locked by another process") as refused:
                impatient.add(make_run("during-aaaaaa"))
            assert refused.value.exit is Exit.REFUSED
            assert [run.id for run in ledger.runs()] == ["before-aaaaaa"]
            with Ledger.open(path) as late:
                assert len(late.runs()) == 1
        impatient.add(make_run("after-aaaaaa"))
    assert [run.id for run in ledger.runs()] == ["after-aaaaaa", "before-aaaaaa"]


def test_a_full_disk_loses_nothing(recorder: Recorder, ledger: Ledger) -> None:
    recorder.add(make_run("kept-aaaaaa"))
    big = make_run("big-aaaaaa", playbook_text="x" * 1_000_000)
    (pages,) = recorder._connection.execute("PRAGMA page_count").fetchone()
    recorder._connection.execute(f"PRAGMA max_page_count = {pages + 10}")
    with pytest.raises(CampaignError, match="the disk is full") as refused:
        recorder.add_all([make_run("small-aaaaaa"), big])
    assert refused.value.exit is Exit.REFUSED
    assert [run.id for run in ledger.runs()] == ["kept-aaaaaa"]
    recorder._connection.execute("PRAGMA max_page_count = 1000000")
    recorder.add(big)
    assert [run.id for run in ledger.runs()] == ["big-aaaaaa", "kept-aaaaaa"]


def test_readers_do_not_load_what_only_writers_need() -> None:
    heavy = {"sqlite_utils", "numpy", "pandas", "scipy", "textual", "paramiko"}
    code = (
        "import sys, campaign.ledger.reads, campaign.ledger.recorder;"
        f"print(sorted({heavy!r} & set(sys.modules)))"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert loaded.stdout == b"[]\n"
