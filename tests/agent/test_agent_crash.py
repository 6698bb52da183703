"""Crash enumeration: killed at any durable call, or with a full disk, all comes back."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import agent_crash_driver
import pytest
from agent_trees import snapshot, write

from playbooks.agent import durable
from playbooks.hosts.connection import HostLost
from playbooks.hosts.host import Change, Host

OPERATOR = """
import os, sys
from pathlib import Path
from playbooks.hosts.host import Change, Host
from playbooks.hosts.local import LocalChannel

state, tree, crash = sys.argv[1:]
environ = {**os.environ, "CAMPAIGN_CRASH": crash.replace("PID", str(os.getpid()))}
channel = LocalChannel(Path(state), environ=environ)
with Host.open(channel, lock=True, who="me", run="run-1") as host:
    known, _ = host.read(tree, "a.py")
    host.apply(
        [Change(tree, "a.py", known.sha256, b"changed"), Change(tree, "new/b", None, b"new")],
        run="run-1",
        specs={"services": []},
    )
    host.put_back()
    print(host.journal().durable_calls)
"""


@pytest.fixture
def memory() -> Iterator[Path]:
    """A folder where fsync costs nothing, if this machine has one."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if os.access(shm, os.W_OK) else None) as folder:
        yield Path(folder)


@pytest.mark.parametrize("scenario", agent_crash_driver.SCENARIOS)
def test_every_crash_is_recovered_from(scenario: str, memory: Path) -> None:
    program = [sys.executable, agent_crash_driver.__file__, str(memory), scenario]
    ended = subprocess.run(program, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert int(ended.stdout) > 25


def operate(state_dir: Path, tree: Path, crash: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", OPERATOR, str(state_dir), str(tree), crash]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def all_calls(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How many durable calls the operator's program takes its agent."""
    folder = tmp_path_factory.mktemp("calls")
    write(folder / "tree" / "a.py", b"base", 0o755)
    return int(operate(folder / "host", folder / "tree", "").stdout)


@pytest.mark.parametrize("crash", ["agent:{}", "operator:{}:PID", "both:{}:PID"])
@pytest.mark.parametrize("share", [0.45, 0.8])
def test_over_the_pipe(
    crash: str,
    share: float,
    all_calls: int,
    tmp_path: Path,
    state_dir: Path,
    open_host: Callable[..., Host],
) -> None:
    tree = tmp_path / "tree"
    write(tree / "a.py", b"base", 0o755)
    before = snapshot(tree)
    ended = operate(state_dir, tree, crash.format(int(all_calls * share)))
    assert ended.returncode == (1 if crash.startswith("agent") else -9)
    assert ended.stdout == ""
    host = open_host(takes_over=True)
    assert host.put_back().conflicts == ()
    assert snapshot(tree) == before
    again = host.put_back()
    assert (again.restored, again.intact) == ((), ())


def test_a_call_to_a_killed_agent_says_so(host: Host, tmp_path: Path) -> None:
    os.kill(host.greeting.pid, 9)
    with pytest.raises(HostLost, match="lost the agent"):
        host.apply([Change(str(tmp_path), "x", None, b"x")], run="run-1")
    with pytest.raises(HostLost, match="lost the agent"):
        host.journal()


def test_a_message_that_was_cut_short_is_the_last(host: Host, tmp_path: Path) -> None:
    """Ctrl-C in the midst of a large one must not make garbage of the next."""
    channel = host.connection._channel
    written = channel.write

    def interrupted(data: bytes) -> None:
        written(data[:5])
        raise KeyboardInterrupt

    channel.write = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        host.clock()
    channel.write = written  # type: ignore[method-assign]
    with pytest.raises(HostLost, match="cut short"):
        host.apply([Change(str(tmp_path), "x", None, b"x")], run="run-1")


def test_a_crash_that_is_misspelt_is_refused() -> None:
    with pytest.raises(ValueError, match="expected agent, operator or both"):
        durable.arm("agnet:3")
