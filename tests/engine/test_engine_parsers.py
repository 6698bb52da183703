"""Reproducers of other formats in a run: test runners, and attributes of trials."""

import json

import pytest
from toy import Toy

REPRODUCERS = """\
  lengths:
    command: [cat, sessions.jsonl]
    timeout: 1m
    on_timeout: censored
    parse: {jsonl: {outcome: outcome, attributes: [length], fail: [leak], pass: [done]}}
  runner:
    command: [sh, -c, "echo '2 failed, 38 passed, 1 rerun in 1.20s'; exit 1"]
    timeout: 1m
    on_timeout: censored
    parse: pytest
"""
PLAYBOOK = """
name: {0}
kind: baseline
steps:
  - restart: {{services: [app]}}
  - reproduce: {{use: {0}}}
"""


@pytest.fixture
def driven(toy: Toy) -> Toy:
    """The toy with both reproducers, and a baseline of each."""
    config = toy.root / "campaign.yaml"
    config.write_text(config.read_text().replace("cost:", f"{REPRODUCERS}cost:"))
    for name in ("lengths", "runner"):
        toy.playbook(name, PLAYBOOK.format(name))
    return toy


def test_a_runner_may_exit_as_it_does_where_tests_failed(driven: Toy) -> None:
    ran = driven.run("run", "runner", "-y")
    assert ran.returncode == 0, ran.stderr
    assert "failed 3/41" in ran.stderr
    assert "runner: 1 failing attempt that the runner tried again" in ran.stderr


def test_a_split_that_pooled_counts_hide_is_shown_and_reported(driven: Toy) -> None:
    sessions = [
        {"outcome": "leak" if n < fail else "done", "length": length}
        for length, fail, total in (("short", 0, 19), ("long", 6, 11))
        for n in range(total)
    ]
    (driven.root / "sessions.jsonl").write_text("\n".join(map(json.dumps, sessions)))
    ran = driven.run("run", "lengths", "-y")
    assert ran.returncode == 0, ran.stderr
    shown = driven.run("runs", "show", "lengths").stdout
    assert ": 6/30, 20.0%" in shown
    split = "length long: 6/11, 54.5% (28.0-78.7%); all others: 0/19, at most 16.8%"
    assert f"split by {split}; separated (Fisher p = .00078" in shown
    assert "Split by: length long: 6/11" in driven.run("report").stdout
    told = json.loads(driven.run("runs", "show", "lengths", "--json").stdout)
    assert [one["name"] for one in told["splits"]] == ["length long"]
