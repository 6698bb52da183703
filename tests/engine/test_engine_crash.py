"""Crash enumeration end to end: killed at any durable call, `campaign recover` restores all.

By default at some of the calls, spread over all of a run: tests/agent/test_agent_crash.py has the
agent's code crash at each. CAMPAIGN_CRASH_ALL=1 takes every call here, too.
"""

import fcntl
import os
import random
import signal
from bisect import bisect_left
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import pytest
from engine_stage import Stage, staged

ALL = bool(os.environ.get("CAMPAIGN_CRASH_ALL"))
CHUNKS = 2
STRIDES = {"agent": 5, "operator": 11, "both": 13}
"""One in so many calls is tried; numbers without a common divisor meet few calls twice."""
LIMIT = 256
"""More durable calls than any run of the playbook makes."""

PLAYBOOK = """
name: both
kind: fix
question: Does it fail with the rule corrected, in safe mode?
steps:
  - name: correct the rule
    patch: {root: src, diff: patches/fix.diff}
  - name: switch safe mode on
    env: {services: [app], set: {MODE: safe}}
  - restart: {services: [app]}
  - reproduce: {use: trials, vars: {trials: 1}}
"""

QUICK_SERVICE = """
import _signal as signal, _socket as socket, os, sys
import rule
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server = socket.socket()
server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.1", int(os.environ["PORT"])))
server.listen()
while True:
    connection = socket.socket(fileno=server._accept()[0])
    asked = connection.recv(4096).split(b" ")[1:2]
    answer = os.environ["MODE"] if asked == [b"/env"] else f"bug {rule.BUG}"
    connection.send(b"HTTP/1.0 200 OK\\r\\n\\r\\n" + answer.encode())
    connection.close()
"""

QUICK_REPRODUCER = 'print(\'{"outcome": "good", "key": 1}\')'


class Crashing:
    """A stage that is crashed over and over, and must always come back to what it was."""

    def __init__(self, stage: Stage, counted: Path) -> None:
        self.stage = stage
        self._counted = counted
        stage.toy.playbook("both", PLAYBOOK)
        for path, text in (("src/app.py", QUICK_SERVICE), ("repro.py", QUICK_REPRODUCER)):
            (stage.root / path).write_text(text, encoding="utf-8")
        stage.up()

    @cached_property
    def calls(self) -> int:
        """How many durable calls a run takes its agent; the workers of a test run count once."""
        with self._counted.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            known = file.read() or str(self._count())
            file.truncate(0)
            file.write(known)
        return int(known)

    def _count(self) -> int:
        """One more call kills nobody."""
        return bisect_left(range(1, LIMIT), True, key=self._survives)

    def _survives(self, call: int) -> bool:
        ended = self.stage.run("run", "both", "-y", CAMPAIGN_CRASH=f"operator:{call}")
        self.check(f"operator:{call}")
        return ended.code == 0

    def check(self, when: str) -> None:
        """Recovers, and finds everything as it was before anything ran."""
        recovered = self.stage.run("recover")
        assert recovered.code == 0, (when, recovered.out, recovered.err)
        self.stage.check_untouched(when)
        self.stage.check_recovered(when)

    def is_kept(self, when: str) -> bool:
        """Recovers. Whether something is kept: then all that the run changed, and running."""
        recovered = self.stage.run("recover")
        assert recovered.code == 0, (when, recovered.out)
        if "kept by" not in recovered.out:
            return False
        rule = (self.stage.root / "src" / "rule.py").read_text(encoding="utf-8")
        assert "False" in rule, when
        assert (self.stage.root / "src" / "notes" / "why.txt").exists(), when
        assert "bug False" in self.stage.toy.ask("/health"), when
        assert self.stage.toy.ask("/env") == "safe", when
        return True

    def is_interrupted(self) -> bool:
        """Whether the listing says so of the newest run."""
        return "interrupted" in self.newest()

    def newest(self) -> str:
        """The line of the newest run in the listing."""
        return self.stage.run("runs", "list").out.splitlines()[1]


@pytest.fixture(scope="module")
def crashing(
    tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config
) -> Iterator[Crashing]:
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if hasattr(pytestconfig, "workerinput") else base
    with staged("crash-") as stage:
        yield Crashing(stage, shared / "durable-calls")


def spread(calls: int, chunk: int, victims: str) -> range:
    """The calls of a chunk: one in so many, and all where they are asked for."""
    stride = 1 if ALL else STRIDES[victims]
    return range(1 + chunk * stride, calls + 1, CHUNKS * stride)


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_the_agent_dies_at_any_call(crashing: Crashing, chunk: int) -> None:
    """The run itself goes on with a fresh agent, which dies at the same call of its own.

    Where that is later than it needs to put back, the run leaves nothing to recover.
    """
    for call in spread(crashing.calls + 1, chunk, "agent"):
        when = f"agent:{call}"
        ended = crashing.stage.run("run", "both", "-y", CAMPAIGN_CRASH=when)
        assert ended.code in (0, 3, 4, 5), (when, ended.code, ended.err)
        if ended.code in (0, 3):
            crashing.stage.check_untouched(when)
            crashing.stage.check_recovered(when)
        else:
            assert ended.code == 4 or "recover" in ended.err, when
            crashing.check(when)
        assert call <= crashing.calls or ended.code == 0, when


@pytest.mark.parametrize("chunk", range(CHUNKS))
@pytest.mark.parametrize("victims", ["operator", "both"])
def test_the_operator_dies_at_any_call(crashing: Crashing, victims: str, chunk: int) -> None:
    for call in spread(crashing.calls, chunk, victims):
        when = f"{victims}:{call}"
        ended = crashing.stage.run("run", "both", "-y", CAMPAIGN_CRASH=when)
        assert ended.code == -signal.SIGKILL, (when, ended.code, ended.err)
        if "[1/" in ended.err:
            assert crashing.is_interrupted(), when
        crashing.check(when)


@pytest.mark.slow
def test_a_run_that_is_to_be_kept_is_kept_whole_or_not_at_all(crashing: Crashing) -> None:
    """Killed with its agent at any call; and again on the way back from there."""
    stage, ends = crashing.stage, 0
    for call in range(1, LIMIT, 1 if ALL else 16):
        when = f"both:{call}"
        ended = stage.run("run", "both", "-y", "--keep", CAMPAIGN_CRASH=when)
        if crashing.is_kept(when):
            stage.run("recover", "both", CAMPAIGN_CRASH=f"both:{2 + 13 * ends}")
            ends += 1
            if crashing.is_kept(when):
                stage.run("recover", "both")
        crashing.check(when)
        if ended.code == 0 and ends > (LIMIT if ALL else 1):
            return
    assert ends, "no run was kept"


MOMENTS = ("[1/2]", "  1  ", "  3  ", "  4  ", "[2/2]", "undo: ")


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_a_random_moment(crashing: Crashing, seed: int) -> None:
    chance = random.Random(seed)
    moment, delay = chance.choice(MOMENTS), chance.random() * 0.3
    running = crashing.stage.start("run", "both", "-y")
    running.until(moment)
    running.process.join(delay)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    if running.code != 0:  # it may have been about to leave
        newest = crashing.newest()
        assert "interrupted" in newest or "completed" in newest, running.err
    crashing.check(f"{moment} and {delay:.3f} s")
