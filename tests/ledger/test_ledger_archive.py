"""export and import from the outside: what goes in comes out, and nothing else comes in."""

import gzip
import io
import json
import sqlite3
import tarfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
import toy as toys
from ledger_builders import make_comparison, make_run, observe
from toy import Toy

from campaign.ledger import records
from campaign.ledger.recorder import Recorder
from hypotheses.hypothesis import Hypothesis

Members = list[tuple[str, bytes]]


@pytest.fixture
def one(tmp_path: Path) -> Toy:
    """A workspace with a run of 40 odd trials, an artifact, and what JSON and tar stumble over."""
    made = toys.make(tmp_path / "one")
    log = made.root / ".campaign" / "artifacts" / "baseline-aaaaaa" / "output.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(bytes(range(256)) * 40)
    with Recorder.open(made.root / "campaign.db", create=True) as recorder:
        recorder.set_campaign("toy", "it 'leaks' \u2028 \x00 \U0001f980", "USD")
        recorder.add_hypothesis(Hypothesis("rule", "a", prior=0.1 + 0.2))
        recorder.add_hypothesis(Hypothesis("mode", "b"))
        run = make_run()
        seen = observe(recorder, run, ["fail", "pass", "censored"] * 14)
        recorder.link_run(run.id, ["rule"])
        step = records.Step(seen.step, run.id, seen.boot, 1, "", "", 0.0)
        recorder.add_all(
            [
                make_comparison("c", step),
                records.ComparisonKey("c", "7", "mismatched", "left", "right"),
                records.ComparisonKey("c", "7", "mismatched", "left", "right"),
                records.Artifact(
                    "a", run.id, None, "output.log", str(log.relative_to(made.root)), 10240, "00"
                ),
                records.Artifact("gone", run.id, None, "x.log", ".campaign/artifacts/x", 1, "00"),
            ]
        )
    return made


def rows(toy: Toy) -> dict[str, list[tuple[object, ...]]]:
    with closing(sqlite3.connect(toy.root / "campaign.db")) as connection:
        tables = connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'"
        ).fetchall()
        return {
            name: connection.execute(f'SELECT * FROM "{name}"').fetchall()
            for (name,) in tables
            if not name.startswith("_")
        }


def exported(toy: Toy, name: str = "archive.tar.gz") -> Path:
    archive = toy.root.parent / name
    done = toy.run("export", str(archive))
    assert (done.returncode, done.stderr) == (0, "")
    return archive


def test_an_archive_is_written_over_only_by_force(tmp_path: Path) -> None:
    toy = Toy(tmp_path / "toy", 0)
    toy.root.mkdir()
    toy.run("init")
    archive = exported(toy)
    before = archive.read_bytes()
    toy.run("hypothesis", "add", "one", "--claim", "x")
    again = toy.run("export", str(archive))
    assert again.returncode == 2
    assert again.stderr == (
        f"campaign: {archive} is there already; name another file, or say --force\n"
    )
    assert archive.read_bytes() == before
    assert toy.run("export", str(archive), "--force").returncode == 0
    assert archive.read_bytes() != before
    dash = toy.run("export", "-")
    assert (dash.returncode, "not to standard output" in dash.stderr) == (2, True)


def repacked(archive: Path, change: Callable[[Members], Members]) -> Path:
    """The archive with its members changed by somebody who knows the format."""
    with tarfile.open(archive) as tar:
        members = [(one.name, tar.extractfile(one).read()) for one in tar]  # type: ignore[union-attr]
    target = archive.with_name("changed.tar.gz")
    with tarfile.open(target, "w:gz") as tar:
        for name, data in change(members):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return target


def with_manifest(**changes: object) -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        manifest = {**json.loads(members[0][1]), **changes}
        return [("manifest.json", json.dumps(manifest).encode()), *members[1:]]

    return change


def test_a_campaign_comes_out_as_it_went_in(one: Toy, tmp_path: Path) -> None:
    archive = exported(one)
    assert archive.stat().st_mode & 0o777 == 0o600
    (tmp_path / "two").mkdir()
    two = Toy(tmp_path / "two", one.port)
    done = two.run("import", str(archive))
    assert (done.returncode, done.stdout) == (0, "imported 1 run, 6 files\n")
    assert rows(two) == rows(one)
    log = ".campaign/artifacts/baseline-aaaaaa/output.log"
    assert (two.root / log).read_bytes() == (one.root / log).read_bytes()
    assert exported(two, "again.tar.gz").read_bytes() == archive.read_bytes()
    assert two.run("status").stdout == one.run("status").stdout
    left = sorted(path.name for path in two.root.iterdir() if "campaign.db-" not in path.name)
    assert left == [".campaign", "campaign.db", "campaign.yaml", "patches", "playbooks"]


def test_an_artifact_without_its_file_is_told_and_keeps_nobody(one: Toy) -> None:
    done = one.run("export", str(one.root.parent / "a.tar.gz"))
    assert done.stdout.endswith("not in it: 1 artifact whose file is gone\n")


def test_an_existing_ledger_is_left_alone_unless_it_is_to_be_merged(one: Toy) -> None:
    archive, before = exported(one), rows(one)
    refused = one.run("import", str(archive))
    assert refused.returncode == 6
    assert refused.stderr.endswith(
        "campaign.db is there already; add --merge to add the archive's runs to it,"
        " or import into another folder\n"
    )
    merged = one.run("import", str(archive), "--merge")
    assert (merged.returncode, merged.stdout) == (0, "added 0 runs (1 now), 0 files\n")
    assert rows(one) == before


def test_two_ledgers_of_one_campaign_become_one(one: Toy, tmp_path: Path) -> None:
    archive = exported(one)
    (tmp_path / "two").mkdir()
    two = Toy(tmp_path / "two", one.port)
    two.run("import", str(archive))
    with Recorder.open(two.root / "campaign.db", create=False) as recorder:
        observe(recorder, make_run("fix-bbbbbb", kind="fix"), ["pass"] * 9)
        recorder.retract("baseline-aaaaaa", "wrong load")
    (two.root / "playbooks" / "new.yaml").write_text("name: new\n", encoding="utf-8")
    one.playbook("baseline", "name: ours\n")
    done = one.run("import", str(exported(two, "two.tar.gz")), "--merge")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "added 1 run (2 now), 1 file",
        "kept ours of run: 1 row differed",
        "left as it is: playbooks/baseline.yaml, which the archive has otherwise",
    ]
    found = rows(one)
    assert len(found["trial"]) == 42 + 9
    assert len(found["comparison_key"]) == 2
    retracted = json.loads(one.run("runs", "show", "baseline", "--json").stdout)
    assert retracted["listed"]["run"]["retracted"] is None


def test_another_campaign_is_not_merged(one: Toy, tmp_path: Path) -> None:
    archive = exported(one)
    other = toys.make(tmp_path / "other")
    with Recorder.open(other.root / "campaign.db", create=True) as recorder:
        recorder.set_campaign("another", "", "")
    before = rows(other)
    refused = other.run("import", str(archive), "--merge")
    assert refused.returncode == 6
    line = "campaign: that is the campaign toy, and this ledger is of another\n"
    assert refused.stderr == line
    assert rows(other) == before


@pytest.mark.parametrize(
    ("change", "code", "said"),
    [
        (with_manifest(format=2), 6, "its format has version 2, and this program knows up to 1"),
        (with_manifest(ledger=99), 6, "its ledger has version 99, and this program knows up to"),
        (lambda members: members[1:], 2, "it does not begin with manifest.json"),
        (lambda members: members[:-1], 2, "is not where it belongs"),
        (lambda members: [*members, ("files/more", b"")], 2, "there is more in it than it says"),
        (
            lambda members: [(name, data.replace(b"pass", b"fail")) for name, data in members],
            2,
            "tables/trial.jsonl is not what it was",
        ),
        (
            with_manifest(files={"../../evil": {"bytes": 0, "sha256": ""}}),
            2,
            "'../../evil' is not a place for a file",
        ),
        (
            with_manifest(files={".campaign/host/journal": {"bytes": 0, "sha256": ""}}),
            2,
            "'.campaign/host/journal' is not a place for a file",
        ),
        (with_manifest(tables={}, files={}), 2, "there is more in it than it says"),
    ],
)
def test_an_archive_that_is_not_right_brings_nothing(
    one: Toy, tmp_path: Path, change: Callable[[Members], Members], code: int, said: str
) -> None:
    archive = repacked(exported(one), change)
    (tmp_path / "two").mkdir()
    refused = Toy(tmp_path / "two", one.port).run("import", str(archive))
    assert (refused.returncode, refused.stdout) == (code, "")
    assert said in refused.stderr
    assert refused.stderr.count("\n") == 1
    assert list((tmp_path / "two").iterdir()) == []


def test_a_cut_or_changed_file_is_damaged_and_a_text_is_no_archive(
    one: Toy, tmp_path: Path
) -> None:
    whole = exported(one).read_bytes()
    (tmp_path / "two").mkdir()
    two = Toy(tmp_path / "two", one.port)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    for data in (b"hello\n", whole[: len(whole) // 2], bytes(flipped), gzip.compress(b"x" * 2048)):
        (tmp_path / "bad.tar.gz").write_bytes(data)
        refused = two.run("import", str(tmp_path / "bad.tar.gz"))
        assert refused.returncode == 2, refused.stderr
        assert "the archive is damaged, or none: " in refused.stderr
        assert refused.stderr.endswith("; nothing was imported; export it again\n")
        assert list(two.root.iterdir()) == []
    missing = two.run("import", str(tmp_path / "none.tar.gz"))
    assert missing.returncode == 2
    assert missing.stderr.endswith("none.tar.gz: No such file or directory\n")


def test_rows_that_make_no_ledger_bring_nothing(one: Toy, tmp_path: Path) -> None:
    """Whoever makes an archive by hand may get its sums right and its rows wrong."""
    import hashlib

    def lie(members: Members) -> Members:
        manifest = json.loads(members[0][1])
        changed = [
            (name, data.replace(b'"result":"pass"', b'"result":"fine"')) for name, data in members
        ]
        for name, data in changed[1:]:
            if name == "tables/trial.jsonl":
                sums = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
                manifest["tables"]["trial"] = sums
        return [("manifest.json", json.dumps(manifest).encode()), *changed[1:]]

    archive = repacked(exported(one), lie)
    (tmp_path / "two").mkdir()
    refused = Toy(tmp_path / "two", one.port).run("import", str(archive))
    assert refused.returncode == 2
    assert "its rows make no ledger: CHECK constraint failed: result IN" in refused.stderr
    assert list((tmp_path / "two").iterdir()) == []
