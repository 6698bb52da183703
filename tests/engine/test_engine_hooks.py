"""Hooks around restarts: in their order, undone in time, and by recover after a kill -9."""

import signal

import pytest
from engine_stage import Stage
from forked import await_that

DRAIN = (
    "before_stop: [{do: 'echo drain >> calls; touch drained', "
    "undo: 'echo undrain >> calls; rm drained', check: 'test -e drained'}]"
)
WARM = "{do: 'echo warm >> calls'}"
REGISTER = "{do: 'echo register >> calls', undo: 'echo deregister >> calls'}"
IN = ["drain", "undrain", "warm", "register"]
OUT = ["deregister", "drain", "undrain", "warm"]


def hooked(stage: Stage, *lines: str) -> None:
    stage.edit(
        "campaign.yaml", "    ports:", "".join(f"    {line}\n" for line in lines) + "    ports:"
    )


@pytest.fixture
def drained(stage: Stage) -> Stage:
    hooked(stage, DRAIN, f"after_healthy: [{WARM}, {REGISTER}]")
    return stage


def calls(stage: Stage) -> list[str]:
    return (stage.root / "calls").read_text(encoding="utf-8").split()


def test_hooks_run_around_each_restart_and_are_undone(drained: Stage) -> None:
    shown = drained.run("plan", "baseline", "fix").out
    assert "before stop of app: echo drain >> calls; touch drained  (undone once healthy)" in shown
    assert "after healthy of app: echo warm >> calls  (no undo)" in shown
    assert shown.count("echo register >> calls") == 2, "the base is left without it"
    ended = drained.run("run", "baseline", "fix", "-y", "-e", "trials=5")
    assert ended.code == 0, ended.err
    assert calls(drained) == [*IN, "deregister", *IN, *OUT]
    names = [one["name"] for one in drained.rows("SELECT name FROM step WHERE kind = 'hook'")]
    assert names[0] == "before stop of app: echo drain >> calls; touch drained"
    assert f"undo: {names[0]}" in names
    downtime = drained.rows(
        "SELECT requested_at, (SELECT max(ended_at) FROM step WHERE kind ="
        " 'hook' AND boot = cycle.boot AND name LIKE 'before%') AS hooked FROM cycle"
    )
    assert all(one["hooked"] <= one["requested_at"] for one in downtime), "draining is no downtime"
    drained.check_untouched()
    drained.check_recovered()


def test_a_hook_that_fails_stops_the_run_before_anything_is_down(stage: Stage) -> None:
    hooked(stage, "before_stop: [{do: 'echo no lease; exit 4'}]")
    pid = stage.toy.ask("/health")
    ended = stage.run("run", "baseline", "-y")
    assert ended.code == 3, ended.err
    assert "do exited 4: no lease" in ended.err
    assert stage.toy.ask("/health") == pid
    stage.check_untouched()
    stage.check_recovered()


def test_a_hook_that_fails_on_the_way_back_is_told_and_stops_nothing(stage: Stage) -> None:
    hooked(stage, "before_stop: [{do: 'test ! -e once || exit 5; touch once'}]")
    ended = stage.run("run", "fix", "-y", "-e", "trials=5")
    assert ended.code == 0, ended.err
    assert "do exited 5" in ended.err
    stage.check_untouched()
    stage.check_recovered()


def test_a_hook_whose_undo_fails_is_left_with_what_to_do(stage: Stage) -> None:
    hooked(stage, DRAIN.replace("rm drained", "exit 9"))
    ended = stage.run("run", "fix", "-y", "-e", "trials=5")
    assert ended.code == 5, ended.err
    assert "exited 9. Undo it by hand in" in ended.err
    assert stage.newest()["state"] == "dirty"
    assert "bug True" in stage.toy.ask("/health"), "the files and the service are back"
    (stage.root / "drained").unlink()
    assert stage.run("recover").code == 0
    stage.check_untouched()
    stage.check_recovered()


def test_recover_undoes_the_hooks_of_a_run_that_was_killed(stage: Stage) -> None:
    waits = "{do: 'while [ -e hold ]; do sleep 0.05; done'}"
    hooked(stage, DRAIN.replace("}]", f"}}, {waits}]"))
    (stage.root / "hold").touch()
    running = stage.start("run", "fix", "-y")
    await_that((stage.root / "drained").exists, "the service is drained")
    running.signal(signal.SIGKILL)
    running.wait()
    (stage.root / "hold").unlink()
    assert stage.run("recover").code == 0
    assert calls(stage)[-1] == "undrain"
    assert not (stage.root / "drained").exists()
    stage.check_untouched()
    stage.check_recovered()
