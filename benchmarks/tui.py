"""The terminal UI over 100,000 runs and 1,000,000 trials, and beside 20,000 lines a second.

    python -m benchmarks.tui [--keep FOLDER] [--part NAME]

Each part drives `campaign tui` in a terminal of its own, from outside: when it has drawn rows, how
long keys take until what they ask for is drawn, and what memory does through an hour of streaming.
Beside it, in the same minute, an empty Textual app: its start and its key delay are the floor under
any app's, so that figures from a busy machine can be compared. `--keep` keeps the big ledger there,
or uses the one that is there. `--part table` is a DataTable that holds all rows, as a peer.
"""

import argparse
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tui_terminal import Terminal

RUNS, TRIALS = 100_000, 10
KEYS, PACE_S = 60, 0.1
"""Keys a part, and how far apart they are pressed."""
SIZE = (120, 35)
DOWN, UP, END, HOME, PAGE_DOWN = b"\x1b[B", b"\x1b[A", b"\x1b[F", b"\x1b[H", b"\x1b[6~"

EMPTY = """
from textual.app import App
from textual.widgets import Label
class Empty(App):
    pressed = 0
    def compose(self):
        yield Label("pressed 0")
    def on_key(self):
        self.pressed += 1
        self.query_one(Label).update(f"pressed {self.pressed}")
Empty().run()
"""
FULL = f"""
from textual.app import App
from textual.widgets import DataTable
class Full(App):
    def compose(self):
        yield DataTable(cursor_type="row")
    def on_mount(self):
        table = self.query_one(DataTable)
        table.add_columns(*"abcdefgh")
        table.add_rows([(f"run-{{row}}.", *[str(row)] * 7) for row in range({RUNS})])
Full().run()
"""


@dataclass(frozen=True)
class Floor:
    """What an empty app takes, in milliseconds: until it has drawn, and for half of the keys."""

    start: float
    key: float


@dataclass(frozen=True)
class Key:
    """A key, and what is drawn once it was answered (a regular expression)."""

    code: bytes
    answer: str


def main() -> None:
    """Makes the ledger, measures the parts, prints what came of them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--part", choices=sorted(PARTS), action="append", help="only this one")
    parser.add_argument("--keep", type=Path, help="keep the ledger there, or use the one there")
    given = parser.parse_args()
    # Asked to end, it ends what it has started, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory() as scratch:
        folder = given.keep or Path(scratch) / "big"
        begun = time.perf_counter()
        if not (folder / "campaign.db").exists():
            _make(folder)
            print(f"made in {time.perf_counter() - begun:.1f} s")
        print(f"{RUNS:,} runs, {RUNS * TRIALS:,} trials; {KEYS} keys a part, all in milliseconds")
        floor = _floor()
        for part in given.part or [name for name in PARTS if name != "table"]:
            PARTS[part](folder, floor)


def _make(folder: Path) -> None:
    from benchmarks.big_ledger import make
    from campaign.operations.init import init

    folder.mkdir(parents=True, exist_ok=True)
    init(folder)
    (folder / "campaign.db").unlink()
    make(folder / "campaign.db", RUNS, TRIALS)


def _tui(folder: Path) -> Terminal:
    return Terminal([sys.executable, "-m", "campaign.cli", "-w", str(folder), "tui"], SIZE)


def _floor() -> Floor:
    """An empty app: nothing in Textual is quicker."""
    with Terminal([sys.executable, "-c", EMPTY], SIZE) as terminal:
        loaded, drawn = _first(terminal, "pressed 0")
        delays = _pressed(terminal, (Key(b"x", rf"{n}\b") for n in range(1, KEYS + 1)))
    floor = Floor(drawn, delays[KEYS // 2])
    _tell("an empty app", f"process {loaded:,.0f}, then drawn {drawn:,.0f}, {_told(delays, floor)}")
    return floor


def _campaign(folder: Path, floor: Floor) -> None:
    with _tui(folder) as terminal:
        started = _started(terminal, "cause-7", floor)
        summed = terminal.until(r"\d/\d{5}") - terminal.begun
        keys = [Key(DOWN, f"cause-{n}") for n in range(1, 8)]
        keys += [Key(UP, f"cause-{n}") for n in range(6, -1, -1)]
        delays = _pressed(terminal, (keys[n % len(keys)] for n in range(KEYS)))
        _tell("campaign", f"{started}, all sums at {1000 * summed:,.0f}, {_told(delays, floor)}")


def _history(folder: Path, floor: Floor) -> None:
    """Every key is answered when the run that it leads to is there, read from the ledger."""
    with _tui(folder) as terminal:
        _first(terminal, "cause-7")
        asked = terminal.press(b"3")
        opened = terminal.until(f"{RUNS - 2:05x}") - asked
        keys = [Key(DOWN, f"{RUNS - 1 - n:05x}") for n in range(1, 5)]
        keys += [Key(PAGE_DOWN, f"{RUNS - 30:05x}"), Key(END, "00003"), Key(UP, "00001")]
        keys += [Key(HOME, f"{RUNS - 1:05x}")]
        delays = _pressed(terminal, (keys[n % len(keys)] for n in range(KEYS)))
        _tell("history", f"opened {1000 * opened:,.0f}, {_told(delays, floor)}")


def _stream(folder: Path, floor: Floor) -> None:
    """The live screen beside 20,000 lines a second, then an hour of them in a minute."""
    with tempfile.TemporaryDirectory() as scratch:
        copy = shutil.copytree(folder, Path(scratch) / "streaming")
        command = [sys.executable, "-m", "benchmarks.tui_stream", str(copy)]
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            with _tui(copy) as terminal:
                _follow(terminal, run, floor)
        finally:
            run.kill()
            run.wait()


def _follow(terminal: Terminal, run: "subprocess.Popen[str]", floor: Floor) -> None:
    assert run.stdin is not None
    assert run.stdout is not None
    terminal.until("running without-1-streams")
    terminal.press(b"2")
    terminal.until("no markup leaked")
    terminal.listen(10.0)
    before, at = terminal.cpu(), time.perf_counter()
    holds = (Key(b" ", "following" if n % 2 else "held") for n in range(KEYS))
    delays = _pressed(terminal, holds)
    share = (terminal.cpu() - before) / (time.perf_counter() - at)
    _tell("streaming", f"{_told(delays, floor)}; {share:.0%} of a processor")
    begun = terminal.memory()
    run.stdin.write("\n")
    run.stdin.flush()
    seen = list(_memory(terminal, run))
    third = len(seen) // 3
    _tell(
        "an hour",
        f"memory {begun:.0f} MB before it, most in its first third {max(seen[:third]):.0f}, "
        f"in its last {max(seen[-third:]):.0f}, after it {seen[-1]:.0f}",
    )


def _memory(terminal: Terminal, run: "subprocess.Popen[str]") -> Iterator[float]:
    """Resident megabytes, now and again until the run is done, and two seconds later."""
    import select

    while not select.select([run.stdout], [], [], 0)[0]:
        terminal.listen(0.5)
        yield terminal.memory()
    terminal.listen(2.0)
    yield terminal.memory()


def _table(_folder: Path, floor: Floor) -> None:
    """The peer: all rows in a DataTable, made of nothing but numbers."""
    with Terminal([sys.executable, "-c", FULL], SIZE) as terminal:
        started = _started(terminal, r"run-20\.", floor)
        keys = [Key(DOWN, f"run-{n}\\.") for n in range(1, 8)]
        keys += [Key(UP, f"run-{n}\\.") for n in range(6, -1, -1)]
        delays = _pressed(terminal, (keys[n % len(keys)] for n in range(KEYS)))
        _tell("a DataTable", f"{started}, {_told(delays, floor)}")


def _first(terminal: Terminal, shows: str) -> tuple[float, float]:
    """How long the process took to be an app, and the app to draw what is looked for."""
    loaded = terminal.starts()
    drawn = terminal.until(shows) - terminal.begun
    return 1000 * loaded, 1000 * (drawn - loaded)


def _started(terminal: Terminal, shows: str, floor: Floor) -> str:
    loaded, drawn = _first(terminal, shows)
    rows = f"then first rows {drawn:,.0f} ({drawn / floor.start:.1f} times the empty app's)"
    return f"process {loaded:,.0f}, {rows}, {1000 * terminal.cpu():,.0f} of a processor until then"


def _pressed(terminal: Terminal, keys: Iterator[Key]) -> list[float]:
    """How long each key took, in milliseconds, shortest first."""
    delays = []
    for key in keys:
        begun = terminal.press(key.code)
        delays.append(1000 * (terminal.until(key.answer) - begun))
        terminal.listen(max(0.0, PACE_S - delays[-1] / 1000))
    return sorted(delays)


def _told(delays: list[float], floor: Floor) -> str:
    middle, late = delays[len(delays) // 2], delays[len(delays) * 95 // 100]
    times = f"({middle / floor.key:.1f} times the empty app's)"
    rest = f"95% within {late:.1f}, all within {delays[-1]:.1f}"
    return f"keys: half within {middle:.1f} {times}, {rest}"


def _tell(part: str, what: str) -> None:
    print(f"{part:>12}: {what}", flush=True)


PARTS: dict[str, Callable[[Path, Floor], None]] = {
    "campaign": _campaign,
    "history": _history,
    "stream": _stream,
    "table": _table,
}

if __name__ == "__main__":
    main()
