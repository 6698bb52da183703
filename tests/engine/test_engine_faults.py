"""Everything goes wrong, and nobody watches: supervisors, slow drains, a system that stays ill."""

import pytest
from engine_stage import Stage

SUPERVISE = """\
trap 'kill $pid; wait $pid; exit' TERM
while :; do
  set -a; . env/app.env; set +a
  {python} -S -B src/app.py >> app.log 2>&1 &
  pid=$!
  echo $pid > app.pid
  wait $pid
done
"""
SUPERVISED = """\
command:
      start: "setsid sh supervise.sh > /dev/null 2>&1 & echo $! > supervisor.pid"
      stop: "kill $(cat supervisor.pid); while kill -0 $(cat supervisor.pid); do sleep 0.05; done"
      status: kill -0 $(cat supervisor.pid)
      pids: cat app.pid
      log: app.log
"""
DIES = """
import os, signal
pid = int(open("app.pid").read())
os.kill(pid, signal.SIGKILL)
while open("app.pid").read().strip() in ("", str(pid)):
    time.sleep(0.01)
while True:
    try:
        ask(port, "/health")
    except OSError:
        time.sleep(0.01)
    else:
        break
print(json.dumps({"outcome": "good", "key": 0}), flush=True)
"""
OTHER = """\
name: other
hypothesis: rule
kind: fix
question: Does it fail with the rule written another way?
steps:
  - patch:
      root: src
      replace: {path: rule.py, old: "BUG = True", new: "BUG = 0 > 1"}
  - restart: {services: [app]}
  - command: {do: [grep, -q, BUG = 0 > 1, src/rule.py]}
  - reproduce: {use: trials, vars: {trials: 5}}
"""
SICK = """\
name: sick
kind: fix
question: What if it stays ill?
steps:
  - patch: {root: src, diff: patches/fix.diff}
  - restart: {services: [app]}
  - command: {do: [touch, ill]}
"""


def test_a_supervisor_that_restarts_what_died_is_seen(bare: Stage) -> None:
    """It answers again at once; but what answers is another process than what was proven."""
    text = (bare.root / "campaign.yaml").read_text(encoding="utf-8")
    start = text.index("process: {command: [")
    line = text[start : text.index("\n", start) + 1]
    python = line.split('"')[1]
    bare.edit("campaign.yaml", f"{line}", SUPERVISED.rstrip(" "))
    (bare.root / "supervise.sh").write_text(SUPERVISE.format(python=python), encoding="utf-8")
    bare.up()
    assert bare.run("run", "baseline", "-y", "-e", "trials=10").code == 0
    with (bare.root / "repro.py").open("a", encoding="utf-8") as file:
        file.write(DIES)
    ended = bare.run("run", "fix", "-y", "-e", "trials=10")
    assert ended.code == 0, ended.err
    assert "invalid, the system changed during the measures" in ended.err
    (observed,) = bare.rows("SELECT invalid FROM observation ORDER BY rowid DESC LIMIT 1")
    assert "became pid" in observed["invalid"]
    bare.check_untouched()
    bare.check_recovered()
    assert bare.run("services", "stop").code == 0


def test_a_drain_that_does_not_end_is_cut_and_told(bare: Stage) -> None:
    bare.edit("src/app.py", "lambda *_: sys.exit(0)", "lambda *_: None")
    bare.edit("campaign.yaml", "stop_timeout: 5s", "stop_timeout: 300ms")
    bare.up()
    ended = bare.run("run", "fix", "-y", "-e", "trials=5")
    assert ended.code == 0, ended.err
    assert "killed: app" in ended.err
    assert [one["killed"] for one in bare.rows("SELECT killed FROM cycle")] == ["app", "app"]
    bare.check_untouched()
    bare.check_recovered()


def test_two_playbooks_change_one_file_in_one_run(stage: Stage) -> None:
    """Each lies over the base, and neither over the other's work."""
    stage.toy.playbook("other", OTHER)
    ended = stage.run("run", "fix", "other", "-y", "-e", "trials=5")
    assert ended.code == 0, ended.err
    edits = stage.rows("SELECT before_sha256, after_sha256 FROM edit WHERE path LIKE '%rule.py'")
    assert len({one["before_sha256"] for one in edits}) == 1
    assert len({one["after_sha256"] for one in edits}) == 2
    assert len(stage.rows("SELECT id FROM cycle")) == 3
    stage.check_untouched()
    stage.check_recovered()


@pytest.fixture
def ill(bare: Stage) -> Stage:
    """A service that is not healthy while there is a file `ill`."""
    check = f"{{command: 'test ! -e {bare.root}/ill', timeout: 1s}}, "
    bare.edit("campaign.yaml", "health: [", f"health: [{check}")
    bare.up()
    bare.toy.playbook("sick", SICK)
    return bare


def test_a_system_that_stays_ill_after_put_back_is_dirty(ill: Stage) -> None:
    ended = ill.run("run", "sick", "-y")
    assert ended.code == 5, ended.err
    assert "the files are as they were, but app did not become healthy" in ended.err
    assert ill.newest()["state"] == "dirty"
    assert ill.run("recover").code == 5, "it is ill still"
    (ill.root / "ill").unlink()
    assert ill.run("recover").code == 0
    ill.check_untouched()
    ill.check_recovered()
