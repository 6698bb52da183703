"""prune: logs go, numbers stay, and what goes is said and asked first."""

import json
import time
from pathlib import Path

import pytest
import toy as toys
from cli_terminal import Terminal
from toy import Toy

from campaign.ledger import records
from campaign.ledger.owner import current_owner
from campaign.ledger.recorder import Recorder

DAY_S = 86_400


@pytest.fixture
def aged(tmp_path: Path) -> Toy:
    """A workspace with a run of 40 days ago, a dirty one, and one of today, each with a log."""
    made = toys.make(tmp_path / "toy")
    with Recorder.open(made.root / "campaign.db", create=True) as recorder:
        recorder.set_campaign("toy", "it fails", "USD")
        for name, days, state in (("old", 40, "clean"), ("left", 39, "dirty"), ("new", 0, "clean")):
            _run(made, recorder, name, time.time() - days * DAY_S, state)
    return made


def _run(toy: Toy, recorder: Recorder, name: str, at: float, state: str) -> None:
    owner = current_owner()
    recorder.add(
        records.Run(
            name, name, name, "baseline", "", "", "", "", "", "{}", "", "completed", state, at,
            owner.pid, owner.start, owner.boot, at,
        )
    )  # fmt: skip
    recorder.add(records.Boot(f"b{name}", name, name, 0, "", "", at))
    recorder.add(records.Step(f"s{name}", name, f"b{name}", 1, "", "reproduce", at))
    recorder.add(
        records.Observation(
            f"o{name}",
            name,
            f"b{name}",
            None,
            f"s{name}",
            "trials",
            "",
            "{}",
            at,
            tail="x" * 60_000,
        )
    )
    recorder.add(records.Trial(f"o{name}", 0, "bad", "fail", None, "", None, at))
    log = toy.root / ".campaign" / "artifacts" / name / "output.log"
    log.parent.mkdir(parents=True)
    log.write_text("a line\n" * 1000, encoding="utf-8")
    path = str(log.relative_to(toy.root))
    recorder.add(records.Artifact(f"a{name}", name, None, "output.log", path, 7000, "00"))
    outside = records.Artifact(f"e{name}", name, None, "evil", "campaign.yaml", 1, "00")
    recorder.add(outside)


def logs(toy: Toy) -> list[str]:
    return sorted(path.parent.name for path in (toy.root / ".campaign").rglob("output.log"))


def test_old_logs_go_and_every_number_stays(aged: Toy) -> None:
    before = aged.run("report").stdout, aged.run("runs", "list").stdout
    size = (aged.root / "campaign.db").stat().st_size
    done = aged.run("prune", "--keep", "0", "-y")
    assert done.returncode == 0, done.stderr
    assert "logs of 1 run, 7000 bytes in all\nremoved 1 file of 7000 bytes;" in done.stderr
    assert logs(aged) == ["left", "new"]
    assert not (aged.root / ".campaign" / "artifacts" / "old").exists()
    assert (aged.root / "campaign.yaml").exists()
    assert (aged.root / "campaign.db").stat().st_size < size - 50_000
    assert (aged.run("report").stdout, aged.run("runs", "list").stdout) == before
    gone = aged.run("runs", "log", "old")
    assert gone.stderr.endswith("is gone; the numbers are still in the ledger\n")


def test_nothing_goes_unasked(aged: Toy) -> None:
    for words in (("-n",), ("-n", "-y"), ()):
        done = aged.run("prune", "--keep", "0", *words)
        assert done.returncode == 0
        assert "nothing was removed" in done.stderr
        assert logs(aged) == ["left", "new", "old"]
    told = json.loads(aged.run("prune", "--keep", "0", "-n", "--json").stdout)
    assert [(one["run"], one["bytes"]) for one in told["runs"]] == [("old", 7000)]
    assert told["removed"] is None


def test_young_and_newest_runs_keep_their_logs(aged: Toy) -> None:
    for words in (("--older-than", "60", "--keep", "0"), ("--keep", "3"), ()):
        assert aged.run("prune", *words, "-y").stderr == "no logs that old\n"
    assert len(logs(aged)) == 3


def test_a_person_is_asked(aged: Toy) -> None:
    with Terminal(aged, "prune", "--keep", "0") as asked:
        asked.until("Remove them? [y/N]")
        asked.type("n\n")
        assert asked.end() == (0, "")
    assert len(logs(aged)) == 3
