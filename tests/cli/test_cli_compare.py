"""campaign compare: two logs that are there already."""

import bz2
import gzip
import io
import json
import lzma
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from toy import Toy

from campaign.cli.main import run

LEFT = "idxk room=6 sum=aa\nGET /health\nidxk room=7 sum=bb\nidxk room=8 sum=cc\n"
RIGHT = "idxk room=7 sum=b0\nidxk room=6 sum=aa\nidxk room=8 sum=cc\n"
MATCH = ["--match", r"room=(?P<key>\d+) sum=(?P<value>\w+)"]
PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
LOOK = r"""
name: look
kind: probe
steps:
  - restart: {services: [app]}
  - reproduce: {use: trials}
  - compare:
      left: {log: app, match: '(?P<room>\d+) sum=(?P<value>\w+)', key: room}
      right: {log: app, match: 'room=(?P<key>\d+) sum=(?P<value>\w+)'}
vars: {trials: 1}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "left.log").write_text(LEFT)
    (tmp_path / "right.log").write_text(RIGHT)
    return tmp_path


Capture = pytest.CaptureFixture[str]


def test_what_the_manual_shows_is_printed_whatever_the_files_are_packed_by(
    folder: Path, capsys: Capture
) -> None:
    assert run(["compare", "left.log", "right.log", *MATCH]) == 0
    plain = capsys.readouterr().out
    (page,) = re.findall(r"^prefill\.log\.gz with .*?(?=^\$)", PAGE.read_text(), re.M | re.S)
    assert page == plain.replace("left.log", "prefill.log.gz").replace(
        "right.log", "decode.log.zst"
    )
    packed = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}
    for name, pack in packed.items():
        (folder / name).write_bytes(pack(LEFT.encode()))
        assert run(["compare", name, "right.log", *MATCH]) == 0
        assert capsys.readouterr().out == plain.replace("left.log", name)
    assert [run(["compare", "left.log", other, *MATCH]) for other in ("gz", "xz")] == [0, 0]


@pytest.mark.skipif(shutil.which("zstd") is None, reason="there is no zstd here")
def test_zstd_is_unpacked_by_its_program(folder: Path, capsys: Capture) -> None:
    subprocess.run(["zstd", "-q", "right.log", "-o", "right"], check=True)
    assert run(["compare", "left.log", "right", *MATCH, "--show", "0"]) == 0
    assert capsys.readouterr().out.endswith("coverage 100.0%\n  and 1 more mismatched\n")
    whole = (folder / "right").read_bytes()
    (folder / "right").write_bytes(whole[:20])
    assert run(["compare", "left.log", "right", *MATCH]) == 2
    assert "cannot read right: " in capsys.readouterr().err


def test_journalds_json_from_standard_input_beside_fields(
    folder: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = "".join(json.dumps({"MESSAGE": line}) + "\n" for line in LEFT.splitlines())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(journal.encode())))
    words = ["--field", "MESSAGE", *MATCH, "--json", "--expect", "match"]
    assert run(["compare", "-", "-", *words]) == 2
    assert "standard input can be one side only" in capsys.readouterr().err
    (folder / "right.json").write_text(journal.replace("sum=bb", "sum=b0"))
    assert run(["compare", "-", "right.json", *words]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["counts"]["matched"], found["counts"]["mismatched"]) == (2, 1)
    assert found["odd"][0]["right"]["line"] == "idxk room=7 sum=b0"
    (folder / "a.jsonl").write_text('{"seed": 1, "of": {"digest": "x"}}\n{"seed": 2}\n')
    fields = ["--key", "seed", "--value", "of.digest", "--expect", "match"]
    assert run(["compare", "a.jsonl", "a.jsonl", *fields]) == 0


def test_lines_of_json_without_their_end_are_lost(folder: Path, capsys: Capture) -> None:
    whole = "".join(json.dumps({"seed": n, "sum": "x"}) + "\n" for n in range(9))
    torn = whole.replace('{"seed": 3, "sum": "x"}', '{"seed": 3, "su')[:-5]
    (folder / "whole.jsonl").write_text(whole)
    (folder / "torn.jsonl").write_text("{INFO} up\n" + torn)
    fields = ["--key", "seed", "--value", "sum"]
    assert run(["compare", "whole.jsonl", "torn.jsonl", *fields]) == 0
    told = capsys.readouterr().out
    assert "9 keys, 7 match, 0 mismatch, 2 left only" in told
    assert "lines of JSON that were cut off: 2; nobody knows which keys are missing" in told
    (folder / "few.jsonl").write_text(whole[:40])
    assert run(["compare", "few.jsonl", "few.jsonl", *fields, "--expect", "match", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["lost"] == 2  # one a side


def test_keys_known_to_be_bad(folder: Path, capsys: Capture) -> None:
    (folder / "bad.log").write_text("corrupted room=7\ncorrupted room=9\n")
    bad = ["--known-bad", "bad.log", "--bad-match", r"room=(?P<key>\d+)"]
    assert run(["compare", "left.log", "right.log", *MATCH, *bad]) == 0
    assert "known bad: 1 of 2 mismatch; 0 others do" in capsys.readouterr().out


@pytest.mark.usefixtures("folder")
def test_as_a_playbook_compares(toy: Toy, capsys: Capture) -> None:
    toy.playbook("look", LOOK)
    for name, code, said in (("look", 0, "1 mismatch"), ("baseline", 2, "has no compare step")):
        words = ["-w", str(toy.root), "compare", "left.log", "right.log", "--as", name]
        assert run(words) == code
        told = capsys.readouterr()
        assert said in told.out + told.err


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say how keys and values are found"),
        (["--match", "(?P<key>"], "--match '(?P<key>': unclosed group"),
        (["--match", "(?P<key>x)"], "needs the named group (?P<value>...)"),
        ([*MATCH, "--right-match", r"\d(?P<key>"], r"--right-match '\d(?P<key>': unclosed group"),
        (["--match", "(?P<key>x)(?P<value>y)"], "no key was found in left.log or right.log"),
        ([*MATCH, "--skip", "a(?=b)"], "--skip 'a(?=b)': look-around"),
        ([*MATCH, "--known-bad", "x"], "--known-bad and --bad-match belong together"),
        ([*MATCH, "--as", "look"], "--as says how the logs are joined"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(
    capsys: Capture, words: list[str], said: str
) -> None:
    assert run(["compare", "left.log", "right.log", *words]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert len(told.splitlines()) == 1


def test_files_that_cannot_be_read(folder: Path, capsys: Capture) -> None:
    (folder / "cut.xz").write_bytes(lzma.compress(LEFT.encode())[:40])
    for name in ("none.log", ".", "cut.xz"):
        assert run(["compare", "left.log", name, *MATCH]) == 2
        assert f"cannot read {name}: " in capsys.readouterr().err
