"""What runs keep changed on a host: put back in any order, and nobody else's to touch."""

import os
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from agent_trees import sha256, snapshot, write
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.agent import apply, journal, keep, lock, putback, stack
from playbooks.agent.session import Session, VerbError
from playbooks.hosts.connection import HostError
from playbooks.hosts.host import Change, Host
from playbooks.hosts.stack import KeptFacts

PATHS = ["a.py", "b/one.env", "b/two.env", "b/new/three", "c/four", "c/five", "c/six/seven"]
HELD = {"a.py": b"x = 1\n", "b/one.env": b"", "c/four": b"4", "c/six/seven": b"7"}
OpenHost = Callable[..., Host]


def digest(path: Path) -> str | None:
    return sha256(path.read_bytes()) if path.exists() else None


class Agent:
    """The agent's verbs on a tree of their own, without a process around them."""

    def __init__(self, folder: Path) -> None:
        self.tree = folder / "tree"
        for path, data in HELD.items():
            write(self.tree / path, data)
        self.session = Session(str(folder / "state"), len)
        lock.take(self.session, "tester", "")

    def change(self, run: str, contents: dict[str, bytes | None]) -> None:
        changes = [
            {
                "root": str(self.tree),
                "path": path,
                "expect": digest(self.tree / path),
                "size": None if data is None else len(data),
                "mode": None,
            }
            for path, data in contents.items()
        ]
        body = b"".join(data or b"" for data in contents.values())
        asked = {"run": run, "who": "tester", "specs": None, "changes": changes, "restore": []}
        apply.apply(self.session, asked, body)

    def keep(self, run: str, stage: str = stack.KEPT) -> None:
        keep.keep(self.session, {"run": run, "stage": stage, "facts": {"id": run}}, b"")

    def put_back(self) -> Sequence[str]:
        answer, _ = putback.put_back(self.session, {"paths": None}, b"")
        assert answer["conflicts"] == []
        journal.settle(self.session, {}, b"")
        restored: Sequence[str] = answer["restored"]
        return restored

    def recover(self, run: str) -> Sequence[str]:
        keep.release(self.session, {"run": run}, b"")
        return self.put_back()


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_kept_runs_are_put_back_in_any_order(data: st.DataObject) -> None:
    owners = data.draw(st.lists(st.integers(0, 3), min_size=len(PATHS), max_size=len(PATHS)))
    contents = st.one_of(st.none(), st.binary(max_size=8))
    runs: dict[str, dict[str, bytes | None]] = {}
    for path, owner in zip(PATHS, owners, strict=True):
        runs.setdefault(f"run-{owner}", {})[path] = data.draw(contents)
    order = data.draw(st.permutations(sorted(runs)))
    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=shm) as at:
        agent = Agent(Path(at))
        before = snapshot(agent.tree)
        for run, changes in runs.items():
            agent.change(run, changes)
            if journal.load(agent.session.state_dir).entries:
                agent.keep(run)
        for run in order:
            agent.recover(run)
        assert snapshot(agent.tree) == before
        left = [one.name for one in Path(agent.session.state_dir).rglob("*") if one.is_file()]
        assert left == ["lock"]
        lock.release(agent.session)


def kept_by(host: Host, tree: Path, run: str, path: str, content: bytes | None) -> None:
    known, _ = host.read(str(tree), path)
    host.apply([Change(str(tree), path, known.sha256, content)], run=run)
    host.keep(run, stack.KEPT, KeptFacts(f"{run}-id"))


def test_what_is_kept_is_nobody_elses(host: Host, open_host: OpenHost, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write(tree / "a", b"base")
    kept_by(host, tree, "one", "a", None)
    host.close()
    other = open_host(run="two")
    assert not other.greeting.outstanding
    assert other.greeting.outstanding.kept == 1
    for path in ("a", "a/below"):
        with pytest.raises(HostError, match=r"kept changed by one-id: .*recover one-id"):
            other.apply([Change(str(tree), path, None, b"mine")], run="two")
    other.apply([Change(str(tree), "b", None, b"mine")], run="two")
    assert [entry.path for entry in other.journal().entries] == [str(tree / "b")]
    assert other.put_back().restored == (str(tree / "b"),)
    assert not (tree / "a").exists()


def test_someone_elses_change_of_a_kept_file_is_seen_and_left(host: Host, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write(tree / "a", b"base")
    kept_by(host, tree, "one", "a", b"kept")
    assert [path.as_kept for one in host.stack() for path in one.paths] == [True]
    (tree / "a").write_bytes(b"someone's")
    assert [path.as_kept for one in host.stack() for path in one.paths] == [False]
    host.release("one")
    (conflict,) = host.put_back().conflicts
    assert "was changed by someone else" in conflict.instructions
    assert (tree / "a").read_bytes() == b"someone's"


def test_a_release_waits_for_what_another_run_left(host: Host, tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    write(tree / "a", b"base")
    kept_by(host, tree, "one", "a", b"kept")
    host.apply([Change(str(tree), "b", None, b"mine")], run="two")
    with pytest.raises(HostError, match="changes of two"):
        host.release("one")
    assert [one.run for one in host.stack()] == ["one"]


def test_bases_are_kept_for_every_stage(tmp_path: Path) -> None:
    agent = Agent(tmp_path)
    before = snapshot(agent.tree)
    agent.change("one", {"a.py": b"x = 2\n"})
    with pytest.raises(VerbError, match="no change of other"):
        agent.keep("other")
    for stage in random.Random(7).sample([stack.AGREEING, stack.KEPT, stack.LEAVING], 3):
        agent.keep("one", stage)
        assert [one.stage for one in journal.load(agent.session.state_dir).stack] == [stage]
        assert agent.put_back() == []
    assert agent.recover("one") == [str(agent.tree / "a.py")]
    assert agent.recover("one") == []
    assert snapshot(agent.tree) == before
    lock.release(agent.session)
