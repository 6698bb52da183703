"""`campaign history`: several campaigns, looked back at, from the outside."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from report_builders import Arm, Story
from report_demo import tell

from campaign.ledger.recorder import Recorder
from hypotheses.observation import Counts


def history(*places: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "campaign.cli", "history", *map(str, places)],
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


@pytest.fixture
def past(tmp_path: Path) -> Path:
    """A folder with two campaigns, of which one has an answer."""
    for name in ("rich", "poor"):
        (tmp_path / name).mkdir()
    with Recorder.open(tmp_path / "rich" / "campaign.db", create=True) as recorder:
        tell(Story(recorder))
    with Recorder.open(tmp_path / "poor" / "campaign.db", create=True) as recorder:
        story = Story(recorder, first=100)
        story.begin("other")
        story.hypothesis("mtp")
        story.run("baseline", arms=[Arm(Counts(1, 9))])
        story.run("mtp-off", "toggle", [Arm(Counts(1, 9))], ["mtp"], status="aborted")
    return tmp_path


def test_campaigns_are_told_with_their_cost_and_what_it_took(past: Path) -> None:
    done = history(past)
    assert (done.returncode, done.stderr) == (0, "")
    first, _, *rows = done.stdout.splitlines()
    assert first == "2 campaigns: 10 restarts, 25 s down, 3 m 04 s occupied, 4.73 USD"
    told = {row.split()[0]: " ".join(row.split()) for row in rows if row}
    assert told["pd-toolcalls"].endswith("8 20 s 3.75 USD 8 2 open, 1 abandoned, 1 confirmed")
    assert told["other"].endswith("2 5.0 s 0.98 USD none in 2 1 open")
    assert told["prefill,"] == "prefill, decode 10 0 0.5 s 0.5 s 1.5 s 2.5 s"
    assert told["idxk-checksum"] == "idxk-checksum probe 1 0 1 1 1.00 2.5 s"
    assert told["mtp-off"] == "mtp-off toggle 2 2 0 1 0.00 2.5 s"
    assert told["detok-log"].startswith("detok-log probe 1 1 0")


def test_programs_get_the_same(past: Path) -> None:
    found = json.loads(history(past / "rich", past / "poor" / "campaign.db", "--json").stdout)
    assert [one["name"] for one in found["campaigns"]].count("other") == 1
    assert {one["to_answer"] for one in found["campaigns"]} == {8, None}
    assert found["restarts"][0]["downtime_s"] == pytest.approx(2.5)
    assert found["playbooks"][0]["decided"] == 1


def test_a_ledger_that_cannot_be_read_keeps_nobody_from_the_others(past: Path) -> None:
    (past / "poor" / "campaign.db").write_text("no ledger\n" * 500, encoding="utf-8")
    done = history(past)
    assert done.returncode == 0
    assert done.stderr.startswith("left out: ")
    assert "this is not a ledger" in done.stderr
    assert done.stdout.startswith("1 campaign: ")
    alone = history(past / "poor")
    assert alone.returncode == 6
    assert "this is not a ledger" in alone.stderr
    (past / "empty").mkdir()
    assert history(past / "empty").stderr == "campaign: there is no ledger there\n"
    assert history(past / "nowhere").returncode == 2


def test_a_copy_is_counted_once_and_named_and_shared_runs_are_told(past: Path) -> None:
    whole = history(past).stdout
    shutil.copytree(past / "rich", past / "away")
    copied = history(past)
    assert sorted(copied.stdout.splitlines()) == sorted(whole.splitlines())
    assert copied.stderr == (
        f"left out: {past / 'rich' / 'campaign.db'}: all its runs are in"
        f" {past / 'away' / 'campaign.db'}, too\n"
    )
    for name in ("rich", "away"):
        with Recorder.open(past / name / "campaign.db", create=False) as recorder:
            Story(recorder, first=200).run(f"more-{name}", arms=[Arm(Counts(1, 9))])
    apart = history(past, "--json")
    assert len(json.loads(apart.stdout)["campaigns"]) == 3
    assert "have 8 runs in common, counted for both" in json.loads(apart.stdout)["twice"][0]
