"""`campaign report` as a user types it: formats, files, what is chosen, what is refused."""

import csv
import json
from pathlib import Path

import pytest
import toy as toys
from report_builders import Arm, Story
from report_demo import tell
from toy import Toy

from campaign.ledger.recorder import Recorder
from hypotheses.observation import Counts

FIX = "sentinel-after-transfer-000030"


@pytest.fixture(scope="module")
def rich(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    """A workspace whose ledger is a whole campaign; to be looked at only."""
    made = toys.make(tmp_path_factory.mktemp("report") / "toy")
    with Recorder.open(made.root / "campaign.db", create=True) as recorder:
        tell(Story(recorder))
    return made


def test_each_format_is_written_whole_and_by_the_ending_of_its_file(
    rich: Toy, tmp_path: Path
) -> None:
    begins = {"md": "# pd-toolcalls\n", "html": "<!doctype html>", "json": "{", "csv": "run,"}
    for ending, beginning in begins.items():
        file = tmp_path / f"report.{ending}"
        file.write_text("what was there before", encoding="utf-8")
        file.chmod(0o640)
        done = rich.run("report", "-o", str(file))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        text = file.read_text(encoding="utf-8")
        assert text.lower().startswith(beginning)
        assert text.endswith(("\n", "</html>"))
        assert file.stat().st_mode & 0o777 == 0o640
        assert sorted(tmp_path.iterdir()) == [file]
        file.unlink()
    for words, said in (
        (("x.pdf",), "no format has this ending; use .md, .html, .json, .csv, or say --format"),
        (("x.html", "--format", "issue"), "its ending says html, and --format issue"),
    ):
        refused = rich.run("report", "-o", str(tmp_path / words[0]), *words[1:])
        assert (refused.returncode, said in refused.stderr) == (2, True), refused.stderr
    assert not list(tmp_path.iterdir())
    printed = rich.run("report", "--format", "issue").stdout
    assert printed.startswith("### pd-toolcalls: tool-call markup leaks")


def test_what_cannot_be_written_is_one_line_and_leaves_nothing(rich: Toy, tmp_path: Path) -> None:
    missing = rich.run("report", "-o", str(tmp_path / "no" / "report.html"))
    assert missing.returncode == 2
    assert missing.stderr.startswith("campaign: cannot write ")
    assert missing.stderr.endswith(": No such file or directory\n")
    assert list(tmp_path.iterdir()) == []


def test_only_what_is_chosen_is_told_and_its_costs_sum(rich: Toy) -> None:
    whole = json.loads(rich.run("report", "--format", "json").stdout)
    assert whole["format"] == 1
    assert [one["name"] for one in whole["costs"]["by_kind"]][:2] == ["baseline", "toggle"]
    by = {
        words: json.loads(rich.run("report", "--format", "json", *words).stdout)
        for words in (
            ("--hypothesis", "mtp"),
            ("--run", "after-transfer"),
            ("--since", "2026-01-05"),
        )
    }
    mtp, fix, since = by.values()
    assert [one["record"]["playbook"] for one in mtp["runs"]] == ["mtp-off", "detok-log"]
    assert [one["hypothesis"]["slug"] for one in mtp["hypotheses"]] == ["mtp"]
    assert mtp["scope"] == "Only the runs for mtp: 2 of 8. The standings rest on all of them."
    assert {one["name"]: one["costs"]["downtime_s"] for one in mtp["costs"]["by_hypothesis"]} == {
        "mtp": 1.25,
        "detokenizer": 1.25,
    }
    assert [one["record"]["id"] for one in fix["runs"]] == [FIX]
    assert fix["costs"]["total"]["restarts"] == 1
    assert fix["summary"]["standings"] == whole["summary"]["standings"]
    assert since["costs"]["total"] == whole["costs"]["total"]
    empty = rich.run("report", "--since", "2099-01-01").stdout
    assert empty.count("None of these.") == 1
    assert "No run is within what this report is about" in empty
    assert "Nothing has been run yet" not in empty


def test_the_rows_of_the_spreadsheet_sum_to_the_campaign(rich: Toy) -> None:
    text = rich.run("report", "--format", "csv").stdout
    rows = list(csv.DictReader(text.splitlines()))
    total = json.loads(rich.run("status", "--json").stdout)["total"]
    for column in ("restarts", "downtime_s", "occupied_s", "money"):
        assert sum(float(row[column]) for row in rows) == pytest.approx(total[column])
    fix = next(row for row in rows if row["run"] == FIX)
    assert (fix["fail"], fix["n"], fix["verdict"]) == ("0", "60", "inconclusive, leading")
    assert rows[0]["started_at"].startswith("2026-01-05T09:30:")
    assert [row["way_back"] for row in rows].count("1") == 1


def test_a_spreadsheet_calculates_nothing_that_somebody_wrote(tmp_path: Path) -> None:
    made = toys.make(tmp_path / "toy")
    with Recorder.open(made.root / "campaign.db", create=True) as recorder:
        Story(recorder).run("=1+1", arms=[Arm(Counts(1, 1), "@arm")])
    (row,) = csv.DictReader(made.run("report", "--format", "csv").stdout.splitlines())
    assert (row["playbook"], row["arm"]) == ("'=1+1", "'@arm")


def test_what_there_is_not_is_refused_with_what_was_meant(rich: Toy) -> None:
    for words, line in (
        (("--hypothesis", "topk-v3"), "there is no hypothesis 'topk-v3'; did you mean 'topk-v2'?"),
        (("--run", "idxk"), "'idxk' matches 2 runs: idxk-checksum-000021, idxk-known-bad-000012;"),
        (("--since", "yesterday"), "Invalid value for '--since': 'yesterday' does not match"),
        (("--format", "pdf"), "Invalid value for '--format': 'pdf' is not one of 'md', 'html',"),
    ):
        done = rich.run("report", *words)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith(f"campaign: {line}")
        assert done.stderr.count("\n") == 1


def test_a_broken_playbook_never_keeps_anyone_from_the_report(tmp_path: Path) -> None:
    made = toys.make(tmp_path / "toy")
    with Recorder.open(made.root / "campaign.db", create=True) as recorder:
        story = Story(recorder)
        story.begin()
        story.hypothesis("rule")
        story.hypothesis("mode")
        story.run("baseline", arms=[Arm(Counts(21, 39))])
    assert "None of the listed: " in made.run("report").stdout
    made.playbook("broken", "name: [")
    broken = made.run("report")
    assert broken.returncode == 0
    assert (
        "## Next\n\n- what to run next is not known: playbooks/broken.yaml:1:8: " in broken.stdout
    )


def test_status_says_what_was_spent_of_the_budget_and_where_it_is_over(rich: Toy) -> None:
    file = rich.root / "campaign.yaml"
    before = file.read_text(encoding="utf-8")
    try:
        file.write_text(f"{before}\nbudget: {{restarts: 2}}\n", encoding="utf-8")
        told = rich.run("status").stdout.splitlines()[0]
    finally:
        file.write_text(before, encoding="utf-8")
    assert "8 of 2 restarts, 20 s down, " in told
    assert told.endswith("| over the budget")
