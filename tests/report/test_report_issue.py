"""The report for an issue tracker: its tables, its limit, and the hosts taken out."""

import os
from pathlib import Path

from report_builders import Arm, Story
from report_demo import tell

from campaign.report.content import collect
from campaign.report.disguise import Disguise, rewritten
from campaign.report.issue import MOST_CHARACTERS, page
from hypotheses.observation import Counts

GOLD = Path(__file__).parent / "gold" / "campaign.issue.md"


def told(story: Story) -> str:
    with story.ledger() as ledger:
        return page(collect(ledger))


def test_an_issue_is_told_as_in_the_gold_file(story: Story) -> None:
    tell(story)
    text = told(story)
    if os.environ.get("UPDATE_GOLD"):
        GOLD.write_text(text, encoding="utf-8")
    assert text == GOLD.read_text(encoding="utf-8"), "UPDATE_GOLD=1 rewrites the gold file"


def test_an_issue_calls_nobody_and_links_to_no_other(story: Story) -> None:
    story.begin("c", "since #12, says @ada; mail a@b.org <details>")
    text = told(story)
    assert "since #\u200b12, says @\u200bada; mail a@b.org \\<details>" in text


def test_what_does_not_fit_into_an_issue_is_left_out_oldest_first(story: Story) -> None:
    diff = "".join(f"+{'x' * 400}{line}\n" for line in range(50))
    for number in range(6):
        story.run(f"run{number}", "fix", [Arm(Counts(1, 3), diffs={"/f": f"{diff}{number}"})])
    text = told(story)
    assert len(text) <= MOST_CHARACTERS + 200
    assert "Details of 3 older runs are left out: they would not fit." in text
    assert text.count("<details>") == text.count("</details>") == 3
    assert "<summary>run5-" in text
    assert "| run0-" in text


def test_hosts_are_called_by_numbers_everywhere(story: Story) -> None:
    story.begin(symptom="gpu-a.lab fails, gpu-a too, not gpu-ab; see http://metrics.lab:9/x")
    arm = Arm(Counts(1, 3), diffs={"/etc/gpu-a.conf": "+peer=10.1.2.3\n+me=127.0.0.1\n"})
    story.run("on-gpu-a", arms=[arm], conditions={"host": "gpu-a"}, command="run on gpu-a")
    with story.ledger() as ledger:
        found = collect(ledger)
    text = page(rewritten(found, Disguise(["gpu-a", "gpu-a.lab"])))
    for name in ("gpu-a.lab", "metrics.lab", "10.1.2.3", "gpu-a.conf", "on gpu-a"):
        assert name not in text
    assert "host-1 fails, host-2 too, not gpu-ab; see http://host-3:9/x" in text
    assert "+me=127.0.0.1" in text
    assert found.symptom.startswith("gpu-a.lab")
