"""A toy workspace on stage: commands in forked processes, watched, and looked at afterwards."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import forked
import toy
from forked import Command
from toy_stop import stop_services


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
        words = ["--workspace", str(self.root), *arguments]
        streams = self._folder / f"command-{self._count}"
        return forked.start(words, streams, {**os.environ, **self.toy.env, **env})

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

    def check_untouched(self, when: str = "") -> None:
        """Everything is as it was before anything ran, in the service, too."""
        assert self.toy.tree() == self._tree, when
        assert "bug True" in self.toy.ask("/health"), when
        assert self.toy.ask("/env") == "plain", when
        assert self.toy.journal() == [], when

    def check_recovered(self, when: str = "") -> None:
        """Recovery has nothing left to do, on the hosts and in the ledger."""
        again = self.run("recover")
        assert (again.code, again.out) == (0, "Nothing to recover.\n"), (when, again.out)
        left = self.rows("SELECT id FROM run WHERE ended_at IS NULL OR state <> 'clean'")
        assert left == [], when

    def newest(self) -> dict[str, Any]:
        """The newest run, as the ledger has it."""
        return self.rows("SELECT * FROM run ORDER BY rowid DESC LIMIT 1")[0]


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
            stop_services(stage.toy)
