"""A toy workspace on stage: commands in forked processes, watched, and looked at afterwards.

Commands run in children of a server that has everything imported: the same code as a user's, at a
tenth of the time.
"""

import multiprocessing
import os
import signal
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import toy

PATIENCE_S = 60.0

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "campaign.cli.autopilot",
        "campaign.cli.advise",
        "campaign.cli.execution",
        "campaign.cli.recovered",
        "campaign.cli.run",
        "campaign.cli.runs",
        "campaign.cli.services",
        "campaign.cli.hypothesis",
        "campaign.cli.status",
        "scipy.stats",
        "sqlite_utils",
        "playbooks.language.load",
        "playbooks.hosts.local",
        "playbooks.parsers.jsonl",
    ]
)


def _campaign(arguments: list[str], out: str, err: str, env: Mapping[str, str]) -> None:
    """What the forked process does: the command line's own entry point, its streams in files."""
    from campaign.cli.main import main

    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    for path, fd in ((out, 1), (err, 2)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), fd)
    os.environ.update(env)
    sys.argv = ["campaign", *arguments]
    main()


@dataclass
class Command:
    """A command under way, or ended; `code` is negative where a signal ended it."""

    process: Any
    _out: Path
    _err: Path

    @property
    def pid(self) -> int:
        pid: int = self.process.pid
        return pid

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8") if self._out.exists() else ""

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8") if self._err.exists() else ""

    @property
    def code(self) -> int:
        code: int | None = self.process.exitcode
        assert code is not None, "it has not ended"
        return code

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait(self) -> "Command":
        self.process.join(PATIENCE_S)
        if self.process.exitcode is None:
            self.process.kill()
            raise AssertionError(f"it does not end: {self.err}")
        return self

    def until(self, text: str) -> None:
        """Waits until it has said `text` on stderr."""
        await_that(lambda: text in self.err or self.process.exitcode is not None, text)
        assert text in self.err, f"ended {self.code} without {text!r}: {self.err}"


def await_that(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.005)


class Stage:
    """A workspace of its own, with what it was like before anything ran."""

    def __init__(self, folder: Path) -> None:
        self.toy = toy.make(folder / "workspace")
        self.root = self.toy.root
        self._folder = folder
        self._count = 0
        self._tree = self.toy.tree()
        self.run("hypothesis", "import", str(self.root / "hypotheses.yaml"))

    def up(self) -> None:
        """Starts the service, and takes note of what everything is like."""
        started = self.run("services", "start")
        assert started.code == 0, started.err
        self._tree = self.toy.tree()

    def up_again(self) -> None:
        """The same after files were changed by hand: the service runs what they hold now."""
        self.run("services", "stop")
        self.up()

    def start(self, *arguments: str, **env: str) -> Command:
        """A command, under way."""
        self._count += 1
        out, err = (self._folder / f"{self._count}.{name}" for name in ("out", "err"))
        words = ["--workspace", str(self.root), *arguments]
        process = _SERVER.Process(
            target=_campaign, args=(words, str(out), str(err), {**self.toy.env, **env})
        )
        process.start()
        return Command(process, out, err)

    def run(self, *arguments: str, **env: str) -> Command:
        """A command, to its end."""
        return self.start(*arguments, **env).wait()

    def edit(self, path: str, old: str, new: str) -> None:
        """Changes a file of the workspace."""
        file = self.root / path
        text = file.read_text(encoding="utf-8")
        assert old in text, f"{path} has no {old!r}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    def rows(self, query: str, *values: object) -> list[dict[str, Any]]:
        """What the ledger answers."""
        path = f"file:{self.root / 'campaign.db'}?mode=ro"
        with closing(sqlite3.connect(path, uri=True)) as ledger:
            ledger.row_factory = sqlite3.Row
            return [dict(row) for row in ledger.execute(query, values)]

    def journal(self) -> list[str]:
        """Whatever the host still keeps for putting back."""
        host = self.root / ".campaign" / "host"
        found = (path for path in host.rglob("*") if path.is_file())
        return sorted(
            str(path.relative_to(host))
            for path in found
            if path.name != "lock" and path.relative_to(host).parts[0] != "services"
        )

    def check_untouched(self, when: str = "") -> None:
        """Everything is as it was before anything ran, in the service, too."""
        assert self.toy.tree() == self._tree, when
        assert "bug True" in self.toy.ask("/health"), when
        assert self.toy.ask("/env") == "plain", when
        assert self.journal() == [], when

    def check_recovered(self, when: str = "") -> None:
        """Recovery has nothing left to do, on the hosts and in the ledger."""
        again = self.run("recover")
        assert (again.code, again.out) == (0, "Nothing to recover.\n"), (when, again.out)
        left = self.rows("SELECT id FROM run WHERE ended_at IS NULL OR state <> 'clean'")
        assert left == [], when

    def newest(self) -> dict[str, Any]:
        """The newest run, as the ledger has it."""
        return self.rows("SELECT * FROM run ORDER BY rowid DESC LIMIT 1")[0]

    def close(self) -> None:
        """Leaves nothing running behind."""
        self.run("recover")
        stopped = self.run("services", "stop")
        assert stopped.code == 0, stopped.err


@contextmanager
def staged(prefix: str) -> Iterator[Stage]:
    """A stage in memory where the machine has some: an fsync costs nothing there."""
    from tempfile import TemporaryDirectory

    shm = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with TemporaryDirectory(prefix=prefix, dir=shm) as folder:
        stage = Stage(Path(folder))
        try:
            yield stage
        finally:
            stage.close()
