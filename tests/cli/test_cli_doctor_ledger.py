"""doctor --ledger: what is wrong with the ledger and its files, and what can be saved."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from toy import Toy, make
from toy_stop import stop_services

TRIALS = 3000


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with two runs, one of many trials."""
    toy = make(tmp_path_factory.mktemp("measured") / "toy")
    repro = "for key in range(int(__import__('sys').argv[2])):\n"
    repro += "    print('{\"outcome\": \"%s\", \"key\": 1}' % ('bad' if key % 5 else 'good'))\n"
    (toy.root / "repro.py").write_text(repro, encoding="utf-8")
    try:
        for words in (["-e", "trials=20"], ["-e", f"trials={TRIALS}"]):
            done = toy.run("run", "baseline", "-y", *words)
            assert done.returncode == 0, done.stderr
    finally:
        stop_services(toy)
    return toy.root


@pytest.fixture
def kept(measured: Path, tmp_path: Path) -> Toy:
    """A copy of it, to be damaged."""
    without = shutil.ignore_patterns("host")
    return Toy(shutil.copytree(measured, tmp_path / "toy", ignore=without), 1)


def looked(toy: Toy, code: int) -> dict[str, dict[str, Any]]:
    done = toy.run("doctor", "--ledger", "--json")
    assert done.returncode == code, done.stdout + done.stderr
    return {one["check"]: one for one in json.loads(done.stdout)["findings"]}


def break_page(ledger: Path, table: str) -> None:
    """Overwrites a leaf of the table's tree, as a bad disk does."""
    with closing(sqlite3.connect(ledger)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        pages = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf' ORDER BY path", [table]
        ).fetchall()
    (page,) = pages[len(pages) // 2]
    with ledger.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xa5" * size)


def test_a_sound_ledger(kept: Toy) -> None:
    found = looked(kept, 0)
    assert {one["state"] for one in found.values()} == {"ok"}
    assert [*found] == ["structure", "references", "counts", "files", "orphans"]
    assert kept.run("doctor", "--salvage", "x.db").returncode == 2


def test_what_is_wrong_beside_it(kept: Toy) -> None:
    first, second = sorted((kept.root / ".campaign" / "artifacts").glob("*/*output.log"))
    first.unlink()
    second.write_bytes(b"x" * second.stat().st_size)
    (second.parent / "stray.txt").write_text("whose?", encoding="utf-8")
    found = looked(kept, 6)
    assert (found["files"]["state"], found["hashes"]["state"]) == ("warn", "fail")
    assert "stray.txt" in found["orphans"]["what"]


def test_rows_that_refer_to_nothing(kept: Toy) -> None:
    with closing(sqlite3.connect(kept.root / "campaign.db")) as connection, connection:
        connection.execute("DELETE FROM run WHERE rowid = 1")
        connection.execute("DELETE FROM trial WHERE position = 7")
    found = looked(kept, 6)
    assert "rows refer to rows that are not there: " in found["references"]["what"]
    assert found["counts"]["what"] == "2 observations have other trials than were counted"
    assert found["counts"]["fix"] == "campaign doctor --ledger --salvage campaign-saved.db"


def test_what_can_be_read_makes_a_new_ledger(kept: Toy) -> None:
    ledger, saved = kept.root / "campaign.db", kept.root / "campaign-saved.db"
    break_page(ledger, "trial")
    assert "see what can be saved: campaign doctor --ledger" in kept.run("status").stderr
    found = looked(kept, 6)
    assert found["structure"]["state"] == "fail"
    text = kept.run("doctor", "--ledger").stdout
    assert "run: all 2 rows can be read" in text
    assert "rows can be read, others are lost" in text
    done = kept.run("doctor", "--ledger", "--salvage", str(saved))
    assert done.returncode == 0, done.stderr
    assert kept.run("doctor", "--ledger", "--salvage", str(saved)).returncode == 2
    ledger.rename(kept.root / "broken.db")
    saved.rename(ledger)
    check_saved(kept, ledger)


def check_saved(toy: Toy, ledger: Path) -> None:
    """Before and after the damage all is there; what lost trials is no evidence."""
    with closing(sqlite3.connect(ledger)) as connection:
        rows = connection.execute(
            "SELECT invalid, count(*), max(position), run FROM observation JOIN trial "
            "ON trial.observation = observation.id GROUP BY observation.id ORDER BY 2"
        ).fetchall()
    assert rows[0][:3] == (None, 20, 19)
    invalid, count, last, run = rows[1]
    assert invalid == "trials of it were lost with a damaged ledger"
    assert TRIALS / 2 < count < TRIALS
    assert last == TRIALS - 1
    assert looked(toy, 0)["counts"]["state"] == "ok"
    assert "INVALID: trials of it were lost" in toy.run("runs", "show", run).stdout


def test_no_ledger_and_none_of_ours(kept: Toy) -> None:
    ledger = kept.root / "campaign.db"
    for path in kept.root.glob("campaign.db*"):
        path.unlink()
    assert "there is no ledger here" in looked(kept, 6)["opens"]["what"]
    ledger.write_bytes(b"no database at all" * 100)
    assert "this is not a ledger" in looked(kept, 6)["opens"]["what"]
