"""A run that loses its operator: its host puts itself back, and the ledger learns of it."""

import json
import os
import signal

import pytest
from engine_stage import Stage
from forked import Command, await_that

LEASE = "lease: {}\n"


def lease(stage: Stage, length: str) -> None:
    """Says in campaign.yaml how long a host waits."""
    with (stage.root / "campaign.yaml").open("a", encoding="utf-8") as file:
        file.write(LEASE.format(length))


def trying(stage: Stage) -> Command:
    """A run under way whose trials come in."""
    running = stage.start("run", "fix", "-y", "-e", "trials=1000000")
    outputs = stage.root / ".campaign" / "artifacts"
    await_that(lambda: any(one.stat().st_size for one in outputs.glob("*/*output.log")), "trials")
    return running


def kept(stage: Stage) -> list[dict[str, object]]:
    """The lapses in the host's journal that have come to their end."""
    path = stage.root / ".campaign" / "host" / "journal.json"
    lapses = json.loads(path.read_bytes()).get("lapses", []) if path.exists() else []
    return [one for one in lapses if one["ended_at"]]


def await_lapse(stage: Stage) -> None:
    await_that(lambda: kept(stage), "the host to put itself back")


def check_as_before(stage: Stage, restarts: int) -> None:
    """All is as before the run, with as many restarts booked; the ledger has nothing open."""
    stage.check_untouched()
    stage.check_recovered()
    cycles = stage.rows("SELECT outcome, downtime_s FROM cycle")
    assert [one["outcome"] for one in cycles] == ["healthy"] * restarts
    assert all(one["downtime_s"] > 0 for one in cycles)


@pytest.mark.parametrize("contact", ["status", "run", "recover"])
def test_the_ledger_learns_of_it_at_the_next_contact(stage: Stage, contact: str) -> None:
    lease(stage, "4s")
    running = trying(stage)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    await_lapse(stage)
    assert stage.toy.ask("/env") == "plain"
    words = ["baseline", "-y", "-e", "trials=5"] if contact == "run" else []
    told = stage.run(contact, *words)
    assert told.code == 0, told.err
    assert "host here put itself back at 20" in told.out + told.err
    assert "was interrupted" not in stage.run("status").out
    (ended,) = stage.rows("SELECT status, state FROM run WHERE playbook = 'fix'")
    assert ended == {"status": "interrupted", "state": "clean"}
    check_as_before(stage, restarts=3 if contact == "run" else 2)


def test_a_host_that_is_at_it_yet_is_told_of_again_when_it_is_through(stage: Stage) -> None:
    lease(stage, "4s")
    gate = stage.root / "go"
    gate.touch()
    check = f"{{command: [test, -e, {gate}], timeout: 60s}}"
    stage.edit("campaign.yaml", "settle: 20ms}]", f"settle: 20ms}}, {check}]")
    running = trying(stage)
    gate.unlink()
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    await_that(lambda: "host here began to put itself" in stage.run("status").out, "its beginning")
    gate.touch()
    await_lapse(stage)
    assert "host here put itself back at 20" in stage.run("status").out
    assert "host here" not in stage.run("status").out
    check_as_before(stage, restarts=2)


def test_asleep_beyond_the_lease(stage: Stage) -> None:
    """The run ends with its reason when the laptop wakes, and nothing is done twice."""
    lease(stage, "4s")
    running = trying(stage)
    running.signal(signal.SIGSTOP)
    await_lapse(stage)
    running.signal(signal.SIGCONT)
    running.wait()
    assert running.code == 3, running.err
    assert "the lease is over" in running.err
    assert "Everything was put back." in running.err
    assert stage.newest()["status"] == "failed"
    check_as_before(stage, restarts=2)


def test_asleep_while_no_host_is_asked(stage: Stage) -> None:
    """The run does not go on with files that are the base's again."""
    lease(stage, "4s")
    stage.edit("playbooks/fix.yaml", "  - reproduce:", "  - wait: 5s\n  - reproduce:")
    running = stage.start("run", "fix", "-y")
    running.until("restart app  ok")
    running.signal(signal.SIGSTOP)
    await_lapse(stage)
    running.signal(signal.SIGCONT)
    running.wait()
    assert running.code == 3, running.err
    assert "lease is over" in running.err
    check_as_before(stage, restarts=2)


def test_awake_before_the_lease_is_over(stage: Stage) -> None:
    lease(stage, "60s")
    running = trying(stage)
    running.signal(signal.SIGSTOP)
    status = stage.run("status")
    assert status.code == 0
    running.signal(signal.SIGCONT)
    running.signal(signal.SIGINT)
    running.wait()
    assert running.code == 130, running.err
    check_as_before(stage, restarts=2)


def test_status_says_who_is_waited_for(stage: Stage) -> None:
    running = trying(stage)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    await_that(lambda: "and then puts itself back" in stage.run("status").out, "the wait")
    assert "puts them back at 20" in stage.run("doctor").out
    assert stage.run("recover").code == 0
    check_as_before(stage, restarts=2)
