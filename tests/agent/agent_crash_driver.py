"""Kills the agent's own code at every durable call and looks at what recovery makes of it.

Run as a program (agent_crash_driver.py FOLDER SCENARIO): one thread only, so that it can fork. The
scenario is run in forked processes that end at call 1, 2, 3 ...; after each the journal is put
back, in another process, and the tree must be what it was. Prints how many crashes were seen.
Where the scenario says so, the disk is full from that call on instead.
"""

import contextlib
import errno
import functools
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from agent_trees import sha256, snapshot, write

from playbooks.agent import apply, durable, journal, keep, lease, lock, putback, stack
from playbooks.agent.session import Session, VerbError
from playbooks.agent.wake import Wake

SPECS = {"services": [{"name": "prefill"}], "groups": []}
CACHE = "pkg/__pycache__/mod.cpython-311.pyc"


class Edit(NamedTuple):
    path: str
    old: bytes | None
    new: bytes | None
    mode: int | None = None


Round = tuple[Sequence[Edit], Sequence[str]]

MOD, RUN, ENV = b"x = 1\n", b"#!/bin/sh\nexec true\n", b""

ONCE, BACK = "edit, add and delete, once", "from boot to boot, and back"

KEPT = [Edit("serve.env", ENV, b"A=1\n"), Edit("new/kept.conf", None, b"k" * 5000)]
"""What a run keeps that ONCE and BACK have nothing to do with."""

ROUNDS: dict[str, Sequence[Round]] = {
    ONCE: [
        (
            [
                Edit("pkg/mod.py", MOD, b"x = 2\n"),
                Edit("run.sh", RUN, None),
                Edit("new/deep/er.conf", None, b"n" * 5000),
                Edit("serve.env", ENV, b"A=1\n", mode=0o644),
            ],
            [],
        )
    ],
    BACK: [
        ([Edit("pkg/mod.py", MOD, b"x = 2\n"), Edit("new/a", None, b"1")], []),
        ([Edit("pkg/mod.py", b"x = 2\n", b"x = 3\n"), Edit("new/b", None, b"2")], ["new/a"]),
        ([Edit("run.sh", RUN, b"true\n")], ["pkg/mod.py", "new/b"]),
        ([Edit("run.sh", b"true\n", RUN)], []),
    ],
    "deleted, then written again": [
        ([Edit("pkg/mod.py", MOD, None)], []),
        ([Edit("pkg/mod.py", None, b"other\n")], []),
    ],
}


class Stage:
    """A tree, the state directory that looks after it, and the tree as it was."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.state = folder / "tree", folder / "state"
        write(self.tree / "pkg/mod.py", MOD, 0o664)
        write(self.tree / "run.sh", RUN, 0o4755)
        write(self.tree / "serve.env", ENV, 0o600)
        os.setxattr(self.tree / "run.sh", "user.origin", b"base")
        if os.geteuid() == 0:
            os.chown(self.tree / "serve.env", 1234, 1235)
        self.original = snapshot(self.tree)

    def agent(self) -> Session:
        session = Session(str(self.state), len)
        lock.take(session, "driver", "run-1")
        return session

    def play(self, rounds: Sequence[Round]) -> None:
        """What an agent does in a whole run."""
        session = self.agent()
        for edits, restore in rounds:
            self.apply(session, edits, restore)
            write(self.tree / CACHE, b"stale")
        putback.put_back(session, {"paths": None}, b"")
        journal.settle(session, {}, b"")

    def apply(
        self, session: Session, edits: Sequence[Edit], restore: Sequence[str], run: str = "run-1"
    ) -> None:
        changes = [
            {
                "root": str(self.tree),
                "path": edit.path,
                "expect": None if edit.old is None else sha256(edit.old),
                "size": None if edit.new is None else len(edit.new),
                "mode": edit.mode,
            }
            for edit in edits
        ]
        request = {
            "changes": changes,
            "restore": [(str(self.tree), path) for path in restore],
            "run": run,
            "who": "driver",
            "specs": SPECS,
        }
        apply.apply(session, request, b"".join(edit.new or b"" for edit in edits))

    def recover(self) -> None:
        """Puts back, then once more, which must find nothing to do."""
        session = self.agent()
        answer, _ = putback.put_back(session, {"paths": None}, b"")
        assert not answer["conflicts"], answer
        again, _ = putback.put_back(session, {"paths": None}, b"")
        assert not any(again.values()), again
        self.check_traces(answer["restored"])
        journal.settle(session, {}, b"")

    def check_traces(self, restored: Sequence[str]) -> None:
        """What was put back is known, with all it takes to restart services, and left no cache."""
        kept = journal.load(str(self.state))
        assert kept.specs == SPECS or not restored
        assert {trace.where for trace in kept.traces} >= set(restored)
        assert str(self.tree / "pkg/mod.py") not in restored or not (self.tree / CACHE).exists()

    def check(self, when: str) -> None:
        found = snapshot(self.tree)
        seen = {path: what for path, what in found.items() if "__pycache__" not in path}
        assert seen == self.original, (when, seen, self.original)
        left = sorted(path.name for path in self.state.rglob("*") if path.is_file())
        assert left in ([], ["lock"]), (when, left)


class LapsingStage(Stage):
    """The operator is gone; once the lease is over, the agent puts back, and the next one knows."""

    def play(self, rounds: Sequence[Round]) -> None:
        session = self.agent()
        for edits, restore in rounds:
            self.apply(session, edits, restore)
            write(self.tree / CACHE, b"stale")
        lease.put_back(session, Wake())
        assert len(journal.load(str(self.state)).lapses) == 1
        journal.settle(session, {}, b"")


class KeepingStage(Stage):
    """The run keeps what it changed; then it is put back after all."""

    def play(self, rounds: Sequence[Round]) -> None:
        session = self.agent()
        for edits, restore in rounds:
            self.apply(session, edits, restore)
        keep_run(session, "run-1")
        keep.release(session, {"run": "run-1"}, b"")
        putback.put_back(session, {"paths": None}, b"")
        journal.settle(session, {}, b"")

    def recover(self) -> None:
        """A run that is kept has all that it changed; then it is put back."""
        session = self.agent()
        for one in journal.load(str(self.state)).stack:
            for edit in ROUNDS[ONCE][0][0]:
                path = self.tree / edit.path
                assert (path.read_bytes() if path.exists() else None) == edit.new, edit.path
            keep.release(session, {"run": one.run}, b"")
        lock.release(session)
        super().recover()


class KeptStage(Stage):
    """Another run keeps KEPT: it stays, whatever becomes of this one."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        session = self.agent()
        self.apply(session, KEPT, [], "run-0")
        keep_run(session, "run-0")
        lock.release(session)
        self.original = snapshot(self.tree)
        self.kept = journal.load(str(self.state)).stack

    def check(self, when: str) -> None:
        found = snapshot(self.tree)
        seen = {path: what for path, what in found.items() if "__pycache__" not in path}
        assert seen == self.original, (when, seen, self.original)
        left = journal.load(str(self.state))
        assert (left.stack, left.outstanding) == (self.kept, False), when
        for entry in self.kept[0].entries:
            left.base_bytes(entry)


class LapsingKeptStage(KeptStage):
    """The operator of the run is gone: its agent puts back that run alone."""

    def play(self, rounds: Sequence[Round]) -> None:
        session = self.agent()
        for edits, restore in rounds:
            self.apply(session, edits, restore)
        lease.put_back(session, Wake())
        journal.settle(session, {}, b"")


def keep_run(session: Session, run: str) -> None:
    keep.keep(session, {"run": run, "stage": stack.KEPT, "facts": {"id": run}}, b"")


def crashes_at(call: int, work: Callable[[], None]) -> bool:
    """Whether `work` was killed at its durable call number `call`; False: it came to its end."""
    child = os.fork()
    if child == 0:
        durable.arm(f"agent:{call}")
        status = 1
        try:
            work()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    killed = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    assert killed or status == 0, f"call {call}: {work} failed"
    return killed


def enumerate_crashes(stage: Stage, rounds: Sequence[Round]) -> int:
    call = 1
    while crashes_at(call, lambda: stage.play(rounds)):
        if call % 29 == 0:
            crash_in_recovery(stage)
        assert not crashes_at(0, stage.recover)
        stage.check(f"killed at call {call}")
        call += 1
    stage.check("never killed")
    return call - 1


def crash_in_recovery(stage: Stage) -> None:
    """Recovery is killed, too: at its first call, the next time at its second, and so on."""
    call = 1
    while crashes_at(call, stage.recover):
        call += 1


class FullDisk:
    """From its N-th call that takes space on, each of them fails, until there is room again."""

    NAMES = ("create", "write", "fsync", "mkdir", "setxattr")

    def __init__(self, call: int) -> None:
        self._left = call
        self.is_full = False
        self._real = {name: getattr(durable, name) for name in self.NAMES}

    def __enter__(self) -> "FullDisk":
        for name, real in self._real.items():
            setattr(durable, name, functools.partial(self._take, real))
        return self

    def __exit__(self, *_: object) -> None:
        for name, real in self._real.items():
            setattr(durable, name, real)

    def _take(self, real: Callable[..., object], *arguments: object, **named: object) -> object:
        self._left -= 1
        if self._left <= 0:
            self.is_full = True
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **named)


def is_full_at(call: int, work: Callable[[], None]) -> bool:
    """Whether `work` met a full disk, from its call number `call` on."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with FullDisk(call) as disk, contextlib.suppress(VerbError, OSError):
                work()
            status = 2 if disk.is_full else 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.WIFEXITED(status)
    assert os.WEXITSTATUS(status) in (0, 2), f"call {call}: it failed"
    return os.WEXITSTATUS(status) == 2


def enumerate_full_disks(stage: Stage, rounds: Sequence[Round]) -> int:
    """The disk of journal and files is full from call 1, 2, 3 ... on, also while putting back."""
    call = 1
    while is_full_at(call, lambda: stage.play(rounds)):
        assert not crashes_at(0, stage.recover)
        stage.check(f"full at call {call}")
        call += 1
    stage.check("never full")
    return call - 1


SCENARIOS: dict[str, Callable[[Path], int]] = {
    "lapse": lambda own: enumerate_crashes(LapsingStage(own), ROUNDS[ONCE]),
    "full": lambda own: enumerate_full_disks(Stage(own), ROUNDS[BACK]),
    "kept, and put back": lambda own: enumerate_crashes(KeepingStage(own), ROUNDS[ONCE]),
    "beside a kept one": lambda own: enumerate_crashes(KeptStage(own), ROUNDS[BACK][:2]),
    "beside a kept one, full": lambda own: enumerate_full_disks(KeptStage(own), ROUNDS[BACK][:2]),
    "beside a kept one, lapse": lambda own: enumerate_crashes(
        LapsingKeptStage(own), ROUNDS[BACK][:1]
    ),
    "lapse, full": lambda own: enumerate_full_disks(LapsingStage(own), ROUNDS[ONCE]),
    **{
        name: lambda own, rounds=rounds: enumerate_crashes(Stage(own), rounds)
        for name, rounds in ROUNDS.items()
    },
}


def main() -> None:
    folder, scenario = sys.argv[1:]
    print(SCENARIOS[scenario](Path(folder)))


if __name__ == "__main__":
    main()
