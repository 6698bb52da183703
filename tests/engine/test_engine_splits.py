"""Attributes of trials, from what a reproducer prints through the ledger to what is shown."""

import json

from toy import Toy

REPRODUCER = """
  lengths:
    command: [sh, -c, "cat sessions.jsonl"]
    on: here
    timeout: 1m
    on_timeout: censored
    parse: {jsonl: {outcome: outcome, attributes: [length], fail: [leak], pass: [done]}}
"""
PLAYBOOK = """
name: lengths
kind: baseline
steps:
  - restart: {services: [app]}
  - reproduce: {use: lengths}
"""


def test_a_split_that_pooled_counts_hide_is_shown_and_reported(toy: Toy) -> None:
    config = toy.root / "campaign.yaml"
    config.write_text(config.read_text().replace("cost:", f"{REPRODUCER.lstrip(chr(10))}cost:"))
    toy.playbook("lengths", PLAYBOOK)
    rows = [("short", 0, 19), ("long", 6, 11)]
    sessions = [
        {"outcome": "leak" if n < fail else "done", "length": length}
        for length, fail, total in rows
        for n in range(total)
    ]
    (toy.root / "sessions.jsonl").write_text("\n".join(map(json.dumps, sessions)))
    ran = toy.run("run", "lengths", "-y")
    assert ran.returncode == 0, ran.stderr
    shown = toy.run("runs", "show", "lengths").stdout
    assert ": 6/30, 20.0%" in shown
    split = "length long: 6/11, 54.5% (28.0-78.7%); all others: 0/19, at most 16.8%"
    assert f"split by {split}; separated (Fisher p = .00078" in shown
    assert "Split by: length long: 6/11" in toy.run("report").stdout
    told = json.loads(toy.run("runs", "show", "lengths", "--json").stdout)
    assert [one["name"] for one in told["splits"]] == ["length long"]
