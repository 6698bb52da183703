"""Reloads: files read again without going down, on the way back and after a kill -9, too."""

import signal

import pytest
from engine_stage import Stage

RELOADING = """\
name: reloading
hypothesis: rule
kind: fix
question: Does it fail with the rule corrected while it runs?
vars: {trials: 40}
steps:
  - patch: {root: src, diff: patches/fix.diff, removes: [rule]}
  - restart: {services: [app], action: reload}
  - reproduce: {use: trials}
verdict: {by: rate, expect: drop, against: baseline}
"""
HANDLER = """\
def read_again(*_: object) -> None:
    import importlib

    importlib.reload(rule)
    print("read again", flush=True)


signal.signal(signal.SIGHUP, read_again)
print("ready", flush=True)"""
RELOAD = "reload: {command: 'kill -HUP $MAINPID', logged: '^read again', timeout: 20s}"


@pytest.fixture
def reloading(bare: Stage) -> Stage:
    """A service that reads its rule again on SIGHUP, and says so."""
    bare.edit("src/app.py", 'print("ready", flush=True)', HANDLER)
    bare.edit("campaign.yaml", "    ports:", f"    {RELOAD}\n    ports:")
    bare.toy.playbook("reloading", RELOADING)
    bare.up()
    assert bare.run("run", "baseline", "-y").code == 0
    return bare


def test_a_reload_is_a_cycle_without_downtime(reloading: Stage) -> None:
    assert "reload app  (they go on running)" in reloading.run("plan", "reloading").out
    pid = reloading.toy.ask("/health")
    ended = reloading.run("run", "reloading", "-y")
    assert ended.code == 0, ended.err
    assert "failed 0/40" in ended.err
    assert "effect unproven" not in ended.err
    assert reloading.toy.ask("/health") == pid
    cycles = reloading.rows("SELECT downtime_s, outcome FROM cycle ORDER BY requested_at")[1:]
    assert cycles == [{"downtime_s": 0.0, "outcome": "healthy"}] * 2
    names = [one["name"] for one in reloading.rows("SELECT name FROM step WHERE kind = 'reload'")]
    assert names == ["reload app", "reload app"]
    reloading.check_untouched()
    reloading.check_recovered()


def test_a_reload_that_nothing_shows_proves_nothing(reloading: Stage) -> None:
    reloading.edit("campaign.yaml", ", logged: '^read again'", "")
    ended = reloading.run("run", "reloading", "-y")
    assert ended.code == 0, ended.err
    assert "effect unproven" in ended.err
    assert "nothing shows that it has read its files again" in ended.err


def test_a_reload_that_fails_is_put_back_by_one_that_works(reloading: Stage) -> None:
    reloading.edit(
        "campaign.yaml",
        "'kill -HUP $MAINPID'",
        "'test -e once && kill -HUP $MAINPID || { touch once; echo not now; exit 4; }'",
    )
    ended = reloading.run("run", "reloading", "-y")
    assert ended.code == 3, ended.err
    assert "reload of app exited 4: not now" in ended.err
    reloading.check_untouched()
    reloading.check_recovered()


def test_recover_reloads_what_a_killed_run_had_reloaded(reloading: Stage) -> None:
    running = reloading.start("run", "reloading", "-y", "-e", "trials=1000000")
    running.until("reload app  ok")
    assert "bug False" in reloading.toy.ask("/health")
    running.signal(signal.SIGKILL)
    running.wait()
    assert reloading.run("recover").code == 0
    reloading.check_untouched()
    reloading.check_recovered()


def test_recover_reloads_what_a_kept_run_had_reloaded(reloading: Stage) -> None:
    pid = reloading.rows("SELECT max(pid) AS pid FROM service_state")[0]["pid"]
    kept = reloading.run("run", "reloading", "-y", "--keep", "-e", "trials=5")
    assert kept.code == 0, kept.err
    assert "bug False" in reloading.toy.ask("/health")
    assert reloading.run("plan", "safe-mode").code == 0
    assert reloading.run("recover", "reloading").code == 0
    reloading.check_untouched()
    reloading.check_recovered()
    assert reloading.rows("SELECT max(pid) AS pid FROM service_state")[0]["pid"] == pid


def test_a_boot_that_restarts_follows_one_that_reloads(reloading: Stage) -> None:
    ended = reloading.run("run", "reloading", "safe-mode", "-y")
    assert ended.code == 0, ended.err
    kinds = "SELECT kind FROM step WHERE kind IN ('reload', 'restart') ORDER BY started_at"
    assert [one["kind"] for one in reloading.rows(kinds)][1:] == ["reload", "restart", "restart"]
    reloading.check_untouched()
    reloading.check_recovered()
