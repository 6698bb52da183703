"""A service with a replica on each of three hosts: changed together, restarted in batches."""

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import replicated
from forked import await_that
from replicated import Replicated

ONE, TWO, THREE = replicated.HOSTS
LOGS = """\
name: logs
kind: probe
question: Is what was sent what came back?
vars: {trials: 10}
steps:
  - restart: {services: [app]}
  - reproduce: {use: trials}
  - collect: {services: [app]}
  - compare:
      left: {log: app, match: 'sent key=(?P<key>\\d+) sum=(?P<value>\\w+)'}
      right: {log: app, match: 'got key=(?P<key>[2-9]|10) sum=(?P<value>\\w+)'}
"""
ALL = f"app@{ONE}, app@{TWO}, app@{THREE}"


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Replicated]:
    """A workspace whose replicas run."""
    made = replicated.make(tmp_path_factory.mktemp("replicas") / "workspace")
    assert made.run("hypothesis", "import", str(made.root / "hypotheses.yaml")).returncode == 0
    started = made.run("services", "start")
    assert started.returncode == 0, started.stderr
    yield made
    made.run("recover")
    made.run("services", "stop")


def check_as_before(up: Replicated, files: dict[str, bytes]) -> None:
    assert up.files() == files
    assert set(up.modes().values()) == {"plain"}
    assert up.run("recover").stdout == "Nothing to recover.\n"


def pids(up: Replicated) -> dict[str, int]:
    listed = json.loads(up.run("services", "list", "--json").stdout)
    return {one["name"]: one["pid"] for one in listed}


def test_batches_there_and_back(up: Replicated) -> None:
    """One replica at a time: never all are down, and what is lost is capacity."""
    files, before = up.files(), pids(up)
    done = up.run("run", "rolling", "-y")
    assert done.returncode == 0, done.stderr
    assert f"restart {ALL} in batches of 1  ok" in done.stderr
    assert done.stderr.count("3 batches, down 0.0 s") == 2
    assert "in batches of 1  (guessed 0.0 s down, 30 s of capacity lost)" in done.stderr
    planned = [json.loads(up.run("plan", name, "--json").stdout) for name in ("rolling", "at-once")]
    rolling, at_once = (one["boots"][0] for one in planned)
    assert rolling["downtime_s"] == 0.0 < at_once["downtime_s"] == at_once["lost_s"]
    assert rolling["lost_s"] == pytest.approx(at_once["lost_s"])
    assert rolling["lost_s"] < 30.0
    assert not rolling["guessed"]
    assert not {*before.values()} & {*pids(up).values()}
    check_as_before(up, files)


def test_a_rollout_over_stopped_replicas_is_down_until_the_first_is_up(up: Replicated) -> None:
    assert up.run("services", "stop").returncode == 0
    done = up.run("run", "rolling", "-y")
    assert done.returncode == 0, done.stderr
    run = json.loads(up.run("runs", "list", "--json").stdout)[0]["run"]["id"]
    there, back = json.loads(up.run("runs", "show", run, "--json").stdout)["cycles"]
    assert there["downtime_s"] > 0 == back["downtime_s"]
    assert there["money"] == pytest.approx(there["downtime_s"]), "3600 an hour: one a second"


def test_hooks_run_batch_by_batch_and_availability_tells_the_downtime(up: Replicated) -> None:
    """Each replica is drained when its turn comes; the probe fails while one is."""
    config, drained = up.root / "campaign.yaml", up.root / "drained"
    text = config.read_text()
    note = f"{{{{ host }}}} >> {up.root}/calls"
    hook = f'{{do: "echo out {note}; touch {drained}", undo: "echo in {note}; rm {drained}"}}'
    probe = f'{{command: "test ! -e {drained}", on: {ONE}, every: 10ms}}'
    more = f"    before_stop: [{hook}]\n    availability: {probe}\n"
    config.write_text(text.replace("    stop_timeout: 5s\n", f"    stop_timeout: 5s\n{more}"))
    done = up.run("run", "rolling", "-y")
    config.write_text(text)
    assert done.returncode == 0, done.stderr
    turns = [word for host in up.hosts for word in (f"out {host}", f"in {host}")]
    assert (up.root / "calls").read_text().splitlines() == [*turns, *turns]
    assert done.stderr.count("s by the availability of app: drain") == 2
    run = json.loads(up.run("runs", "list", "--json").stdout)[0]
    costs, shown = (
        run["costs"],
        json.loads(up.run("runs", "show", run["run"]["id"], "--json").stdout),
    )
    assert costs["lost_s"] == pytest.approx(sum(one["lost_s"] for one in shown["capacities"]))
    assert costs["downtime_s"] > costs["lost_s"] > 0, "it was failing in each turn"
    assert [(one["batch"], one["replicas"]) for one in shown["capacities"]] == [(1, 3)] * 2
    priced = sum(one["money"] for one in shown["cycles"])
    assert priced == pytest.approx(costs["downtime_s"]), "3600 an hour: one a second"


def test_a_patch_of_a_service_is_made_on_all_its_hosts(up: Replicated) -> None:
    files = up.files()
    done = up.run("run", "patched", "-y")
    assert done.returncode == 0, done.stderr
    assert "patch patches/fix.diff  ok" in done.stderr
    assert "6 files changed" in done.stderr
    assert "failed 0/10" in done.stderr
    check_as_before(up, files)


def test_logs_are_those_of_all_replicas(up: Replicated) -> None:
    """Of a key that does not match it is told which replica logged it."""
    up.playbook("logs", LOGS)
    done = up.run("run", "logs", "-y")
    assert done.returncode == 0, done.stderr
    assert "7 match, 2 mismatch, 1 left only" in done.stderr
    run = json.loads(up.run("runs", "list", "--json").stdout)[0]["run"]["id"]
    shown = json.loads(up.run("runs", "show", run, "--json").stdout)
    (keys,) = shown["keys"].values()
    lines = {one["key"]: one["left_line"] for one in keys}
    assert lines == {key: f"app@{ONE}: sent key={key} sum={int(key):x}" for key in ("1", "5", "10")}
    kept = {one["name"]: one["bytes"] for one in shown["artifacts"]}
    assert {name: size > 100 for name, size in kept.items() if name.endswith(".log")} == {
        "output.log": True,
        f"app@{ONE}.log": True,
        f"app@{TWO}.log": False,
        f"app@{THREE}.log": False,
    }


def test_a_replica_that_does_not_come_up_ends_the_rollout(up: Replicated) -> None:
    """What was not reached goes on running; what was goes back, the ill one first."""
    up.break_on(TWO)
    files, before = up.files(), pids(up)
    done = up.run("run", "rolling", "-y")
    assert done.returncode == 3, done.stderr
    left = f"(restarted: app@{ONE}, failed: app@{TWO}, not restarted: app@{THREE})"
    assert f"app@{TWO} ended before it was healthy: exit code 1" in done.stderr
    assert f"the rollout stopped in batch 2 of 3 {left}" in done.stderr
    assert f"restart app@{ONE}, app@{TWO}  ok" in done.stderr
    assert pids(up)[f"app@{THREE}"] == before[f"app@{THREE}"]
    (up.folder(TWO) / "broken").unlink()
    check_as_before(up, {name: text for name, text in files.items() if "broken" not in name})


def test_killed_in_the_middle_of_a_rollout(up: Replicated) -> None:
    """The hosts' journals know the batches: `recover` goes back in them."""
    files = up.files()
    running = up.start("run", "rolling", "-y")
    await_that(lambda: mode_of(up, ONE) == "safe", "the first batch")
    running.kill()
    running.communicate()
    recovered = up.run("recover")
    assert recovered.returncode == 0, recovered.stderr
    check_as_before(up, files)


@pytest.fixture
def alone(up: Replicated) -> Iterator[Sequence[Path]]:
    """The journals of hosts whose rollout was through when its operator was killed.

    Their lease is short, and a batch may take six seconds.
    """
    config, text = up.root / "campaign.yaml", (up.root / "campaign.yaml").read_text()
    quick = text.replace("timeout: 20s", "timeout: 4s").replace("timeout: 5s", "timeout: 2s")
    config.write_text(quick + "lease: 4s\n")
    files = up.files()
    running = up.start("run", "rolling", "-y", "-e", "trials=1000000")
    await_that(lambda: mode_of(up, THREE) == "safe", "the last batch")
    running.kill()
    running.communicate()
    yield [up.state(host) / "journal.json" for host in up.hosts]
    config.write_text(text)
    check_as_before(up, files)


def newest(up: Replicated) -> tuple[str, dict[str, Any]]:
    """The state of the newest run, and its last restart cycle."""
    run = json.loads(up.run("runs", "list", "--json").stdout)[0]["run"]
    shown = json.loads(up.run("runs", "show", run["id"], "--json").stdout)
    return run["state"], shown["cycles"][-1]


def test_hosts_that_nobody_comes_back_to_restart_their_replicas_in_turn(
    up: Replicated, alone: Sequence[Path]
) -> None:
    await_that(lambda: all(map(is_over, alone)), "the hosts to put themselves back")
    assert up.run("status").stdout.count("put itself back at 20") == 3
    state, cycle = newest(up)
    assert (state, cycle["outcome"], cycle["downtime_s"]) == ("clean", "healthy", 0.0)
    began = {name: one["started_at"] for name, one in json.loads(cycle["proof"]).items()}
    assert sorted(began, key=lambda name: began[name]) == [f"app@{host}" for host in up.hosts]


def test_who_comes_back_meanwhile_goes_on_for_hosts_that_wait_for_their_turn(
    up: Replicated, alone: Sequence[Path]
) -> None:
    await_that(lambda: is_over(alone[0]), "the first host to put itself back")
    refused = up.run("run", "rolling", "-y")
    assert (refused.returncode, "campaign recover does so now" in refused.stderr) == (6, True)
    recovered = up.run("recover")
    assert recovered.returncode == 0, recovered.stderr
    assert f"host {ONE} put itself back at 20" in recovered.stdout
    assert newest(up)[0] == "clean"


def is_over(journal: Path) -> bool:
    """Whether a host put itself back, and nobody has learnt of it yet."""
    lapses = json.loads(journal.read_bytes())["lapses"]
    return bool(lapses) and lapses[-1]["ended_at"] is not None


def mode_of(up: Replicated, host: str) -> str:
    """The mode of a replica that may be down just now."""
    with suppress(OSError):
        return up.ask_at(host, "/env")
    return ""


def test_one_replica_is_named_with_its_host(up: Replicated) -> None:
    before = pids(up)
    done = up.run("services", "restart", f"app@{TWO}")
    assert done.returncode == 0, done.stderr
    changed = {name for name, pid in pids(up).items() if pid != before[name]}
    assert changed == {f"app@{TWO}"}
    refused = up.run("services", "restart", "app@elsewhere")
    assert refused.returncode == 2
    assert f"there are: app, {ALL}" in refused.stderr
