"""campaign parse: what a parser reads in yesterday's log, before any downtime."""

import gzip
import io
import json
from pathlib import Path

import pytest
from toy import Toy

from campaign.cli.main import run

PYTEST = """\
test_kv.py::test_leak[0] RERUN                                           [ 33%]
test_kv.py::test_leak[0] PASSED                                          [ 33%]
test_kv.py::test_leak[1] FAILED                                          [ 66%]
test_kv.py::test_leak[2] SKIPPED (no)                                    [100%]
============== 1 failed, 1 passed, 1 skipped, 1 rerun in 0.12s ==============
"""
SHOWN = """\
past.log as pytest: 3 trials, 3 with an id
  outcome  counts as  trials
  rerun    fail            1
  passed   pass            1
  failed   fail            1
failed 2/3, 66.7% (20.8-93.9%)
! 1 test left out: skipped
! 1 failing attempt that the runner tried again: each is a trial of its own
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_would_be_counted_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "past.log").write_text(PYTEST)
    assert run(["parse", "pytest", "past.log"]) == 0
    assert capsys.readouterr().out == SHOWN
    (folder / "past.log.gz").write_bytes(gzip.compress(PYTEST.encode()))
    assert run(["parse", "pytest", "past.log.gz"]) == 0
    assert capsys.readouterr().out == SHOWN.replace("past.log", "past.log.gz")


def sessions(*rows: tuple[str, int, int]) -> str:
    lines = [
        {"n": f"{length}{n}", "outcome": "leak" if n < fail else "done", "length": length}
        for length, fail, total in rows
        for n in range(total)
    ]
    return "".join(json.dumps(one) + "\n" for one in lines)


WORDS = ["--fail", "leak", "--pass", "done", "--attribute", "length", "-o", "id=n"]


def test_a_split_by_an_attribute_is_offered_where_pooled_counts_hide_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "past.jsonl").write_text(sessions(("short", 0, 19), ("long", 6, 11)))
    assert run(["parse", "jsonl", "past.jsonl", *WORDS]) == 0
    shown = capsys.readouterr().out
    assert "failed 6/30, 20.0%" in shown
    assert "split by length long: 6/11, 54.5% (28.0-78.7%); all others: 0/19, at most" in shown
    assert run(["parse", "jsonl", "past.jsonl", *WORDS, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["counts"] == {"fail": 6, "passed": 24, "censored": 0}
    assert [split["name"] for split in told["splits"]] == ["length long"]
    (folder / "past.jsonl").write_text(sessions(("short", 3, 15), ("long", 3, 15)))
    assert run(["parse", "jsonl", "past.jsonl", *WORDS]) == 0
    assert "split by" not in capsys.readouterr().out


def test_standard_input_and_an_output_that_was_cut_off(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "past.log").write_text('{"outcome": "leak"}\n{"outc')
    words = ["parse", "jsonl", "past.log", "--fail", "leak"]
    assert run(words) == 2
    assert "line 2: starts with { and is not a whole JSON object" in capsys.readouterr().err
    assert run([*words, "--cut"]) == 0
    assert "failed 1/1" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b'{"outcome": "leak"}\n')))
    assert run(["parse", "jsonl", "-", "--fail", "leak", "--planned", "3"]) == 0
    assert "! 1 trial where 3 were planned: is the output cut off?" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pytest", "empty.log"], "empty.log as pytest: no trials, since there was no output"),
        (["pytest", "nothing.log"], "cannot read nothing.log: No such file or directory"),
        (["pytest", "."], "cannot read .: Is a directory"),
        (["pytest", "broken.gz"], "cannot read broken.gz: "),
        (["pytset", "empty.log"], "'pytset' (did you mean 'pytest'?); known: counts, regex"),
        (["regex", "empty.log"], "empty.log as regex: `match` is missing"),
        (["pytest", "empty.log", "-o", "x=1"], 'no option "x"; options of it: match'),
        (["pytest", "empty.log", "-o", "x"], "--option 'x' is not NAME=VALUE"),
        (["exit", "empty.log"], "exit goes by the exit code alone; give it with --exit"),
        (["pytest", "empty.log", "--exit", "2"], "exit 2 after 0 trials: the reproducer itself"),
        (["trials", "empty.log", "--fail", "x"], "'trials' is no format, and options say more"),
    ],
)
def test_what_cannot_be_counted_is_said_in_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (folder / "empty.log").touch()
    (folder / "broken.gz").write_bytes(b"\x1f\x8bno gzip")
    assert run(["parse", *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_a_reproducer_and_a_playbook_are_read_as_they_are_configured(toy: Toy) -> None:
    log = toy.root / "past.log"
    log.write_text('{"outcome": "bad", "key": "k1"}\n{"outcome": "good", "key": "k2"}\n')
    (toy.root / "playbooks" / "two.yaml").write_text(
        "name: two\nkind: baseline\nvars: {trials: 3}\nsteps:\n"
        "  - restart: {services: [app]}\n  - reproduce: {use: trials}\n"
    )
    one = toy.run("parse", "trials", str(log), "-e", "trials=2")
    assert one.returncode == 0, one.stderr
    assert "as reproducer trials (jsonl): 2 trials, 2 with keys" in one.stdout
    assert "planned" not in one.stdout
    other = toy.run("parse", "two", str(log))
    assert "as reproducer trials of two (jsonl)" in other.stdout
    assert "! 2 trials where 3 were planned" in other.stdout
    refused = toy.run("parse", "trial", str(log))
    assert refused.returncode == 2
    assert "'trial' (did you mean 'trials'?); known: trials, baseline" in refused.stderr
