"""What anyone may ask of a run under way: to pause, go on, stop; and how its way back is told."""

import signal

import pytest
from engine_stage import Stage
from forked import Command, await_that

PLAYBOOK = """
name: {name}
kind: fix
question: Does it fail with the rule corrected?
vars: {{trials: "{trials}"}}
steps:
  - name: correct the rule
    patch: {{root: src, diff: patches/fix.diff}}
  - name: switch safe mode on
    env: {{services: [app], set: {{MODE: safe}}}}
  - name: leave a mark
    command: {{do: [touch, mark], undo: [rm, mark], on: here}}
  - restart: {{services: [app]}}
  - reproduce: {{use: trials}}
"""
HELD = """while os.path.exists("hold"):
    time.sleep(0.01)
"""


@pytest.fixture
def marked(stage: Stage) -> Stage:
    for name, trials in (("short", 5), ("long", 1000000)):
        stage.toy.playbook(name, PLAYBOOK.format(name=name, trials=trials))
    stage.edit("repro.py", "port, count", f"{HELD}port, count")
    return stage


def steps(stage: Stage) -> list[tuple[str, str]]:
    found = stage.rows("SELECT name, status FROM step ORDER BY position")
    return [(one["name"], one["status"]) for one in found]


def driven(stage: Stage) -> Command:
    """A long run that has come to its trials."""
    running = stage.start("run", "long", "-y")
    await_that(lambda: stage.rows("SELECT 1 FROM trial LIMIT 1"), running.err)
    return running


def test_each_undo_is_a_step_the_last_one_first(marked: Stage) -> None:
    running = driven(marked)
    assert marked.run("runs", "abort", "long").code == 0
    running.wait()
    assert running.code == 130, running.err
    way_back = steps(marked)[5:]
    assert way_back == [
        ("undo: leave a mark", "completed"),
        ("undo: switch safe mode on", "completed"),
        ("undo: correct the rule", "completed"),
        ("restart app", "completed"),
    ]
    (undone,) = marked.rows("SELECT detail FROM step WHERE name = 'undo: correct the rule'")
    assert undone["detail"] == "put back rule.py, notes/why.txt"
    assert "undo: leave a mark  ok" in running.err
    marked.check_untouched()


def test_a_second_abort_is_refused_with_what_remains(marked: Stage) -> None:
    (marked.root / "playbooks" / "short.yaml").write_text(
        PLAYBOOK.format(name="short", trials=5).replace(
            "[rm, mark]", "[sh, -c, 'while [ -e slow ]; do sleep 0.05; done; rm mark']"
        ),
        encoding="utf-8",
    )
    (marked.root / "slow").touch()
    running = marked.start("run", "short", "-y")
    await_that(lambda: ("undo: leave a mark", "running") in steps(marked), running.err)
    refused = marked.run("runs", "abort", "short")
    assert refused.code == 6
    assert "is putting back already: undo: leave a mark" in refused.err
    (marked.root / "slow").unlink()
    running.wait()
    assert running.code == 0, running.err
    assert "is over: completed" in marked.run("runs", "abort", "short").err
    marked.check_untouched()


def paused(stage: Stage) -> Command:
    """A run that was asked to pause in its first boot, and does."""
    (stage.root / "hold").touch()
    running = stage.start("run", "short", "baseline", "-y")
    await_that(lambda: stage.rows("SELECT 1 FROM step WHERE kind = 'restart'"), running.err)
    asked = stage.run("runs", "pause", "short")
    assert asked.code == 0, asked.err
    (stage.root / "hold").unlink()
    running.until("paused, everything stays as it is")
    return running


def test_a_pause_keeps_the_boot_up_until_it_is_called_off(marked: Stage) -> None:
    running = paused(marked)
    assert "was asked to pause before" in marked.run("runs", "pause", "short").err
    assert (marked.root / "mark").exists()
    assert "[2/3]" not in running.err
    assert marked.run("runs", "resume", "short").code == 0
    running.wait()
    assert running.code == 0, running.err
    (pause,) = marked.rows("SELECT boot, ended_at - began_at AS seconds FROM request")
    (boot,) = marked.rows(f"SELECT occupied_s FROM boot WHERE id = '{pause['boot']}'")
    assert boot["occupied_s"] > pause["seconds"] > 0, "the boot pays for it"
    marked.check_untouched()


@pytest.mark.parametrize("number", [None, signal.SIGTERM])
def test_a_paused_run_puts_back_when_asked_to_stop(
    marked: Stage, number: signal.Signals | None
) -> None:
    running = paused(marked)
    if number is None:
        marked.run("runs", "abort", "short")
    else:
        running.signal(number)
    running.wait()
    assert running.code == (130 if number is None else 143)
    (pause,) = marked.rows("SELECT ended_at FROM request WHERE kind = 'pause'")
    assert pause["ended_at"] is not None
    marked.check_untouched()


def test_only_a_run_under_way_can_be_asked(marked: Stage) -> None:
    running = driven(marked)
    assert "is not paused" in marked.run("runs", "resume", "long").err
    running.signal(signal.SIGKILL)
    running.wait()
    for verb in ("pause", "resume", "abort"):
        refused = marked.run("runs", verb, "long")
        assert refused.code == 6
        assert "its process is gone; campaign recover" in refused.err.replace("\n", " ")
    assert marked.run("recover").code == 0
    assert "is over: interrupted" in marked.run("runs", "abort", "long").err
    marked.check_untouched()
