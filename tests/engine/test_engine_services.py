"""Services that do not do as they should: the run says so, and everything goes back."""

import json
import os
import re
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from engine_stage import Stage
from ports import free_port

COMMAND = 'command: ["@PYTHON@", -S, -B, src/app.py]'

COMMANDED = """\
      start: sh app.sh & echo $! > app.pid
      stop: kill $(cat app.pid)
      status: kill -0 $(cat app.pid)
"""

BLANKED = """
import ctypes


def blank():
    fields = open("/proc/self/stat", "rb").read().rpartition(b")")[2].split()
    start, end = int(fields[47]), int(fields[48])
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, b"worker", 6)


"""

KILLER = """
import glob, json, os, re, signal, sys, time
from urllib.request import urlopen


def told(text, until):
    print(text, flush=True)
    while not any(until in open(path).read() for path in glob.glob({artifacts!r})):
        time.sleep(0.01)


def gone(pid):
    try:
        return open(f"/proc/{{pid}}/stat").read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


lines = [json.dumps({{"outcome": "good", "key": key}}) for key in range(12)]
told("\\n".join(lines), lines[-1])
told("noted", "noted")
with urlopen(f"http://127.0.0.1:{{sys.argv[1]}}/health") as answer:
    pid = int(re.search(rb"pid (\\d+)", answer.read())[1])
os.kill(pid, signal.SIGKILL)
while not gone(pid):
    time.sleep(0.01)
"""

GOES_ON = """
for key in range(12, 17):
    print(json.dumps({"outcome": "good", "key": key}))
"""


@pytest.fixture
def impatient(bare: Stage) -> Stage:
    """A service that is given five seconds to become healthy."""
    bare.edit("campaign.yaml", "timeout: 20s", "timeout: 5s")
    bare.up()
    return bare


def test_a_service_that_never_becomes_healthy(impatient: Stage) -> None:
    port = free_port(impatient)
    impatient.edit("playbooks/safe-mode.yaml", "MODE: safe", f'PORT: "{port}"')
    ended = impatient.run("run", "safe-mode", "-y")
    assert ended.code == 3, ended.err
    assert "app" in ended.err
    assert "within 5 s" in ended.err
    assert "ready" in ended.err, "the last log lines"
    impatient.check_untouched()
    assert impatient.newest()["status"] == "failed"
    outcomes = impatient.rows("SELECT outcome FROM cycle ORDER BY requested_at")
    assert [one["outcome"] for one in outcomes] == ["failed", "healthy"]
    impatient.check_recovered()


def test_a_service_that_crashes_at_start_is_seen_at_once(stage: Stage) -> None:
    stage.edit("campaign.yaml", "timeout: 20s", "timeout: 1h")
    stage.edit("patches/fix.diff", "+BUG = False", '+raise SystemExit("no rule today")')
    ended = stage.run("run", "fix", "-y")
    assert ended.code == 3, ended.err
    assert "exit code 1" in ended.err
    assert "no rule today" in ended.err
    stage.check_untouched()
    stage.check_recovered()


def test_a_port_that_is_taken_meanwhile(stage: Stage) -> None:
    """By someone who came after the start, at another address: it cannot be brought up either way,

    until they are gone.
    """
    running = stage.start("run", "fix", "-y", "-e", "trials=1000000")
    running.until("restart app  ok")
    with socket.create_server(("127.0.0.2", stage.toy.port)):
        running.signal(signal.SIGINT)
        running.wait()
    name = Path("/proc/self/comm").read_text(encoding="utf-8").strip()
    holder = f"is still held by pid {os.getpid()} ({name}) after app stopped"
    assert f"port {stage.toy.port} of app {holder}" in running.err
    assert running.code == 5
    recovered = stage.run("recover")
    assert recovered.code == 0, recovered.out
    stage.check_untouched()
    stage.check_recovered()


def test_a_toggle_that_is_not_effective(bare: Stage) -> None:
    """A wrapper sets the variable itself, whatever the env file says."""
    text = (bare.root / "campaign.yaml").read_text(encoding="utf-8")
    (words,) = re.findall(r"command: \[(.*)\], cwd", text)
    python, *rest = (word.strip(' "') for word in words.split(","))
    wrapped = f"MODE=plain exec {python} {' '.join(rest)}"
    bare.edit("campaign.yaml", f"[{words}]", json.dumps(["sh", "-c", wrapped]))
    bare.up()
    bare.run("run", "baseline", "-y")
    ended = bare.run("run", "safe-mode", "-y")
    assert ended.code == 0
    assert "verdict (mode): invalid, not effective" in ended.err
    assert re.search(r"app: pid \d+ has MODE=plain, the boot sets MODE=safe", ended.err)
    bare.check_untouched()


def blanking(stage: Stage, where: str) -> None:
    serve = "serve(int("
    stage.edit("src/app.py", "import rule\n", f"import rule\n{BLANKED}")
    stage.edit("src/app.py", serve, f"{where}\n{serve}")
    stage.up()
    stage.run("run", "baseline", "-y")


def test_an_unreadable_child_is_accepted_under_its_parent(bare: Stage) -> None:
    child = (
        "ready, done = os.pipe()\n"
        "if os.fork() == 0:\n    blank()\n    os.write(done, b'.')\n    signal.pause()\n"
        "os.read(ready, 1)"
    )
    blanking(bare, child)
    ended = bare.run("run", "safe-mode", "-y")
    assert "verdict (mode): inconclusive, leading" in ended.err
    (state,) = bare.rows("SELECT proof FROM service_state WHERE moment = 'end'")[1:]
    proof = json.loads(state["proof"])
    assert len(proof["processes"]) == 2
    assert len(proof["unreadable"]) == 1
    bare.check_untouched()


def test_an_effect_that_nothing_proves(bare: Stage) -> None:
    blanking(bare, "blank()")
    ended = bare.run("run", "safe-mode", "-y")
    assert "verdict (mode): inconclusive, effect unproven" in ended.err
    assert "no readable parent vouches for it" in ended.err
    bare.check_untouched()


@pytest.fixture
def blind(bare: Stage) -> Iterator[Stage]:
    """A service that commands manage, none of whose processes can be seen."""
    bare.edit("campaign.yaml", "process: {command:", f"command:\n{COMMANDED}    #")
    (bare.root / "app.sh").write_text(f"exec {sys.executable} -S -B src/app.py\n")
    bare.up()
    yield bare
    assert bare.run("services", "stop").code == 0


def test_what_has_no_process_here_is_restarted_on_the_way_back(blind: Stage) -> None:
    """As a pod or a container: by its own start it is known what it has read."""
    ended = blind.run("run", "safe-mode", "-y")
    assert ended.code == 0, ended.err
    assert "app has no process that we can see" in ended.err
    assert ended.err.count("restart app  ok") == 2
    blind.check_untouched()
    blind.check_recovered()


@pytest.mark.parametrize(
    ("proof", "verdict", "said"),
    [
        ('http: "http://127.0.0.1:@PORT@/env", match: "^{{ value }}$"', "leading", ""),
        ("log: 'mode={{ value }}$'", "leading", ""),
        (
            'http: "http://127.0.0.1:@PORT@/health", match: "mode {{ value }}"',
            "effect unproven",
            "its proof of MODE does not hold: GET http://127.0.0.1:",
        ),
    ],
)
def test_a_service_may_prove_its_variables_itself(
    bare: Stage, proof: str, verdict: str, said: str
) -> None:
    declared = f"proof: {{MODE: {{{proof.replace('@PORT@', str(bare.toy.port))}}}}}"
    bare.edit("campaign.yaml", "    ports:", f"    {declared}\n    ports:")
    blanking(bare, "print('mode=' + os.environ['MODE'], flush=True)\nblank()")
    ended = bare.run("run", "safe-mode", "-y")
    assert f"verdict (mode): inconclusive, {verdict}" in ended.err
    assert said in ended.err
    bare.check_untouched()


@pytest.fixture
def deadly(stage: Stage) -> Stage:
    """A reproducer that kills the service after twelve trials."""
    artifacts = str(stage.root / ".campaign" / "artifacts" / "fix-*" / "*output.log")
    stage.run("run", "baseline", "-y")
    (stage.root / "repro.py").write_text(KILLER.format(artifacts=artifacts), encoding="utf-8")
    return stage


def lengthen(stage: Stage, more: str) -> None:
    with (stage.root / "repro.py").open("a", encoding="utf-8") as file:
        file.write(more)


def test_a_service_that_dies_in_mid_measure(deadly: Stage) -> None:
    lengthen(deadly, GOES_ON)
    ended = deadly.run("run", "fix", "-y")
    assert ended.code == 0, ended.err
    assert "invalid, the system changed during the measures" in ended.err
    told = "was killed by SIGKILL, 12 trials before that and 5 after; its last log lines: "
    (observed,) = deadly.rows("SELECT invalid FROM observation ORDER BY rowid DESC LIMIT 1")
    assert told in observed["invalid"]
    assert told in ended.err
    deadly.check_untouched()
    deadly.check_recovered()


def test_a_death_explains_why_the_reproducer_failed(deadly: Stage) -> None:
    lengthen(deadly, 'sys.exit("connection refused")')
    ended = deadly.run("run", "fix", "-y")
    assert ended.code == 3
    assert "was killed by SIGKILL, 12 trials before that and 0 after" in ended.err
    assert "connection refused" in ended.err
    deadly.check_untouched()


def test_a_crash_counts_where_it_is_the_symptom(deadly: Stage) -> None:
    deadly.edit("campaign.yaml", "on_timeout: censored", "on_timeout: censored\n    crash_is: fail")
    lengthen(deadly, 'sys.exit("connection refused")')
    ended = deadly.run("run", "fix", "-y")
    assert ended.code == 0, ended.err
    assert "failed 1/13" in ended.err
    (observed,) = deadly.rows("SELECT invalid FROM observation ORDER BY rowid DESC LIMIT 1")
    assert observed["invalid"] is None
    trials = deadly.rows("SELECT result FROM trial WHERE outcome = 'crash'")
    assert trials == [{"result": "fail"}]
    assert "verdict (rule): inconclusive" in ended.err
    deadly.check_untouched()


def test_a_service_that_died_under_a_baseline_is_up_again(deadly: Stage) -> None:
    """Nothing was changed, and yet what the run leaves must not be a dead system."""
    deadly.edit("repro.py", "fix-*", "baseline-*")
    lengthen(deadly, GOES_ON)
    deadly.run("run", "baseline", "-y")
    deadly.check_untouched()
    deadly.check_recovered()


def test_a_service_changed_by_hand_since_its_start_is_refused(stage: Stage) -> None:
    rule = stage.root / "src" / "rule.py"
    rule.write_bytes(rule.read_bytes())
    ended = stage.run("run", "fix", "-y")
    assert ended.code == 6
    assert "rule.py was changed after app started" in ended.err
    assert "campaign services restart" in ended.err
    assert stage.run("services", "restart").code == 0
    assert stage.run("run", "fix", "-y").code == 0


def test_the_log_of_a_crash_names_no_secret(bare: Stage) -> None:
    bare.edit("campaign.yaml", "cost:", "secrets: {TOKEN: {env: TOY_TOKEN}}\ncost:")
    bare.edit("patches/fix.diff", "+BUG = False", '+raise SystemExit("token hush-hush-hush")')
    bare.toy.env["TOY_TOKEN"] = "hush-hush-hush"
    bare.up()
    ended = bare.run("run", "fix", "-y")
    assert ended.code == 3
    assert "token [redacted]" in ended.err
    kept = [bare.root / "campaign.db", *(bare.root / ".campaign" / "artifacts").rglob("*.log")]
    assert not [path for path in kept if b"hush-hush" in path.read_bytes()]
