"""What a large ledger costs: writing it as a run streams, reading it, its bytes on disk.

    python benchmarks/ledger.py [--runs 10000] [--trials 100] [--keep FOLDER]

Trials are stored through the recorder in batches of 500, as the engine does, each batch synced to
the disk, and beside it by the plain sqlite3 module into a table of the same form, as durably. Then
a ledger of runs x trials is made, and `status`, `runs list` and `report` are timed on it as a user
calls them: whole processes, the best of three, none of which may take 2 s. Beside the time stands
how much of it they computed, which depends less on what else the machine does.
"""

import argparse
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import astuple

from campaign.ledger import records
from campaign.ledger.owner import current_owner
from campaign.ledger.recorder import Recorder
from campaign.ledger.tables import Record
from hypotheses.hypothesis import Hypothesis

BATCH = 500
STREAMED = 100_000
RUNS_A_COMMIT = 50
LIMIT_S = 2.0
QUICK = ("status", "runs list", "report")
KINDS = ("baseline", "toggle", "probe", "fix")
CONFIG = """\
campaign: large
symptom: a session in ten fails
hosts: {here: {local: true}}
services: {app: {host: here, process: {command: "true"}, health: [{tcp: "127.0.0.1:1"}]}}
"""


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch) / "large"
        folder.mkdir(parents=True, exist_ok=True)
        _streaming(Path(scratch))
        if not (folder / "campaign.db").exists():
            _timed("made", lambda: _make(folder, options.runs, options.trials))
        _sizes(folder / "campaign.db")
        slow = [words for words in QUICK if _read(folder, words) > LIMIT_S]
        _read(folder, "report --format html")
    if slow:
        sys.exit(f"slower than {LIMIT_S:.0f} s: {', '.join(slow)}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--trials", type=int, default=100, help="of each run")
    parser.add_argument("--keep", type=Path, help="make the ledger there, or use the one there")
    return parser.parse_args()


def _streaming(folder: Path) -> None:
    """Stores the same trials by the recorder and by plain sqlite3, batch by batch."""
    with Recorder.open(folder / "recorded.db", create=True) as recorder:
        observation = _Run(recorder, 0).store(())
        rows = list(_trials(observation, STREAMED))
        ours = _rate(rows, recorder.add_all)
    with closing(_plain(folder / "plain.db", folder / "recorded.db")) as connection:
        marks = ", ".join("?" * 8)

        def insert(batch: Sequence[records.Trial]) -> None:
            with connection:
                values = [astuple(one) for one in batch]
                connection.executemany(f"INSERT INTO trial VALUES ({marks})", values)

        theirs = _rate(rows, insert)
    print(f"trials stored a second, {BATCH} a commit: recorder {ours:,.0f}", end="")
    print(f", plain sqlite3 {theirs:,.0f} ({ours / theirs:.0%})")


def _plain(path: Path, like: Path) -> sqlite3.Connection:
    """A database with the ledger's table of trials, and what guards it, alone."""
    with closing(sqlite3.connect(like)) as source:
        (sql,) = source.execute("SELECT sql FROM sqlite_master WHERE name = 'trial'").fetchone()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute(sql)
    return connection


def _rate(rows: Sequence[records.Trial], store: Callable[[Sequence[records.Trial]], None]) -> float:
    begun = time.perf_counter()
    for at in range(0, len(rows), BATCH):
        store(rows[at : at + BATCH])
    return len(rows) / (time.perf_counter() - begun)


def _make(folder: Path, runs: int, trials: int) -> None:
    (folder / "campaign.yaml").write_text(CONFIG, encoding="utf-8")
    with Recorder.open(folder / "campaign.db", create=True) as recorder:
        recorder.set_campaign("large", "a session in ten fails", "USD")
        for number in range(8):
            recorder.add_hypothesis(Hypothesis(f"suspect-{number}", "it is the cause"))
        for first in range(0, runs, RUNS_A_COMMIT):
            with recorder.transaction():
                for number in range(first, min(runs, first + RUNS_A_COMMIT)):
                    run = _Run(recorder, number)
                    run.store(_trials(run.observation, trials))


class _Run:
    """One run as the engine stores it: a boot, a restart, two steps, an observation, a verdict."""

    def __init__(self, recorder: Recorder, number: int) -> None:
        self._recorder = recorder
        self._kind = KINDS[number % len(KINDS)]
        self._slugs = [] if self._kind == "baseline" else [f"suspect-{number % 8}"]
        self._at = 1_700_000_000.0 + 100 * number
        self._id = f"{self._kind}-{number:06d}"
        self.observation = f"o{number}"

    def store(self, trials: Iterator[records.Trial] | Sequence[records.Trial]) -> str:
        self._recorder.add_all(self._rows())
        self._recorder.add_all(trials)
        if self._slugs:
            self._recorder.link_run(self._id, self._slugs)
        return self.observation

    def _rows(self) -> Iterator[Record]:
        at, run, owner = self._at, self._id, current_owner()
        yield records.Run(
            run, f"batch {run}", self._kind, self._kind, "Does it fail less?", "yes", "no",
            "name: x\n", "00", "{}", f"campaign run {self._kind}", "completed", "clean", at,
            owner.pid, owner.start, owner.boot, at + 90,
        )  # fmt: skip
        yield from self._boot()
        yield from self._steps()
        for slug in self._slugs:
            yield records.Verdict(
                f"v{run}", run, slug, "inconclusive", "", "treatment 9/100; baseline 10/100",
                "{}", "more restarts", at + 90,
            )  # fmt: skip

    def _boot(self) -> Iterator[Record]:
        at, run, boot = self._at, self._id, f"b{self._id}"
        toggles = "" if self._kind == "baseline" else "env.app.FLAG"
        yield records.Boot(
            boot, f"batch {run}", run, 0, "", toggles, at, at + 90, 90.0, 0.9, "effective"
        )
        yield records.Cycle(
            f"c{run}", boot, run, "app", at, at, at + 20, 20.0, 2.0, 3.0, 15.0, "", "healthy", "{}",
            2.0,
        )  # fmt: skip

    def _steps(self) -> Iterator[Record]:
        at, run, boot, step = self._at, self._id, f"b{self._id}", f"s{self._id}"
        yield records.Step(f"r{run}", run, boot, 1, "restart", "restart", at, at + 20, "completed")
        yield records.Step(step, run, boot, 2, "drive", "reproduce", at + 20, at + 90, "completed")
        yield records.Observation(
            self.observation, run, boot, f"c{run}", step, "sessions", "",
            json.dumps({"concurrency": "40", "sessions": "100"}), at + 20, at + 90, 0,
        )  # fmt: skip


def _trials(observation: str, count: int) -> Iterator[records.Trial]:
    outcomes = itertools.cycle(["leak", *["done"] * 9])
    for position, outcome in zip(range(count), outcomes, strict=False):
        result = "fail" if outcome == "leak" else "pass"
        yield records.Trial(
            observation, position, outcome, result, f"session-{position}", str(position), 1.25,
            1_700_000_000.0 + position,
        )  # fmt: skip


def _sizes(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection:
        (trials,) = connection.execute("SELECT count(*) FROM trial").fetchone()
        (runs,) = connection.execute("SELECT count(*) FROM run").fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size = path.stat().st_size
    print(f"{trials:,} trials in {runs:,} runs: {size:,} bytes, {size / trials:.0f} a trial")


def _read(folder: Path, words: str) -> float:
    command = [sys.executable, "-m", "campaign.cli", "-w", str(folder), *words.split()]
    return _timed(
        f"campaign {words}",
        lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL),
        best_of=3,
    )


def _timed(what: str, call: Callable[[], object], best_of: int = 1) -> float:
    taken, computed = [], []
    for _ in range(best_of):
        begun, before = time.perf_counter(), _computed()
        call()
        taken.append(time.perf_counter() - begun)
        computed.append(_computed() - before)
    print(f"{what}: {min(taken):.2f} s, {min(computed):.2f} s of it computing", flush=True)
    return min(taken)


def _computed() -> float:
    """CPU seconds of this process and of those it has waited for."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


if __name__ == "__main__":
    main()
