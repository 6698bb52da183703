"""The terminal UI over 100,000 runs and 1,000,000 trials, and beside 20,000 lines a second.

Run from the repository: `python -m benchmarks.tui`. Each part runs in a process of its own, with
the app driven headless: the time until its first full screen, counted from the start of the
process; how long keys take until all they caused was drawn; and what memory does while a file
grows. The peer is a plain DataTable that holds all rows, as most programs have it.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

RUNS, TRIALS = 100_000, 10
KEYS = 300
RATE, STREAM_S = 20_000, 20.0
SIZE = (120, 35)

PRINTER = """
import sys, time
rate, begun, done = int(sys.argv[1]), time.monotonic(), 0
while True:
    due = int((time.monotonic() - begun) * rate)
    for number in range(done, due):
        print(f"session {number}: round 3 of 3, the answer was read in 0.0213 s, no markup leaked")
    done = max(done, due)
    sys.stdout.flush()
    time.sleep(0.005)
"""


def main() -> None:
    """Makes the ledger, measures each part, prints what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--part", choices=sorted(PARTS), help="one part, in this process")
    parser.add_argument("--folder", type=Path, help="a workspace made before")
    parser.add_argument("--begun", type=float, help="when the process was started")
    given = parser.parse_args()
    if given.part:
        print(json.dumps(asyncio.run(PARTS[given.part](given.folder, given.begun))))
        return
    with tempfile.TemporaryDirectory() as folder:
        _make(Path(folder), given.runs)
        print(f"{given.runs:,} runs, {given.runs * TRIALS:,} trials; {KEYS} keys a part")
        for part in PARTS:
            print(f"{part:>9}: {_told(_measure(part, Path(folder)))}", flush=True)


def _make(folder: Path, runs: int) -> None:
    from benchmarks.big_ledger import make
    from campaign.operations.init import init

    init(folder)
    ledger = folder / "campaign.db"
    ledger.unlink()
    make(ledger, runs, TRIALS)


def _measure(part: str, folder: Path) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.tui", "--part", part, "--folder", str(folder)]
    begun = ["--begun", str(time.monotonic())]
    done = subprocess.run([*command, *begun], check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _told(found: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:,.1f}" for name, value in found.items())


async def _campaign(folder: Path, begun: float) -> dict[str, float]:
    return await _screen(folder, begun, "campaign", ("cause-7", "Runs: cause"), ("down", "up"))


async def _history(folder: Path, begun: float) -> dict[str, float]:
    return await _screen(
        folder,
        begun,
        "history",
        ("▲", "verdict", "restart cycles"),
        ("down", "pagedown", "end", "up", "home"),
    )


async def _screen(
    folder: Path, begun: float, mode: str, shows: tuple[str, ...], keys: tuple[str, ...]
) -> dict[str, float]:
    from campaign.tui.app import CampaignApp

    app = CampaignApp(folder)
    async with app.run_test(size=SIZE) as pilot:
        if mode == "history":
            await pilot.press("3")
        await _until(lambda: all(one in _text(app) for one in shows))
        first = time.monotonic() - begun
        return {"first screen ms": 1000 * first, **await _keys(pilot.press, keys)}


async def _table(_folder: Path, begun: float) -> dict[str, float]:
    """The peer: all rows in a DataTable, made of nothing but numbers."""
    from textual.app import App, ComposeResult
    from textual.widgets import DataTable

    class Plain(App[None]):
        def compose(self) -> ComposeResult:
            yield DataTable(cursor_type="row")

        def on_mount(self) -> None:
            table = self.query_one(DataTable)
            table.add_columns(*"abcdefgh")
            table.add_rows([(f"run-{row}", *[str(row)] * 7) for row in range(RUNS)])

    app = Plain()
    async with app.run_test(size=SIZE) as pilot:
        await _until(lambda: "run-20" in _text(app))
        first = time.monotonic() - begun
        return {"first screen ms": 1000 * first, **await _keys(pilot.press, ("down", "up"))}


async def _stream(folder: Path, _begun: float) -> dict[str, float]:
    """Keys while the output that is shown grows, and what memory does meanwhile."""
    from campaign.operations.live import Output
    from campaign.tui.app import CampaignApp
    from campaign.tui.dialogs.output import OutputDialog

    path, app = folder / "output.log", CampaignApp(folder)
    with path.open("wb") as file:
        printer = subprocess.Popen([sys.executable, "-c", PRINTER, str(RATE)], stdout=file)
    try:
        async with app.run_test(size=SIZE) as pilot:
            await _until(lambda: "cause-7" in _text(app))
            app.push_screen(OutputDialog("run", (Output("output.log", path),)))
            await _until(lambda: "session" in _text(app))
            found = await _keys(pilot.press, ("up", "end", "pageup", "space"))
            before, begun = _memory(), path.stat().st_size
            await asyncio.sleep(STREAM_S)
            lines = (path.stat().st_size - begun) / 80
            return {**found, "lines a second": lines / STREAM_S, "memory MB": _memory(),
                    "grown MB": _memory() - before}  # fmt: skip
    finally:
        printer.kill()
        printer.wait()
        path.unlink()


async def _keys(press: Callable[[str], Awaitable[None]], keys: tuple[str, ...]) -> dict[str, float]:
    """How long keys take, in milliseconds, until all that they caused was drawn."""
    delays = []
    for number in range(KEYS):
        begun = time.perf_counter()
        await press(keys[number % len(keys)])
        delays.append(1000 * (time.perf_counter() - begun))
    delays.sort()
    return {"key p50 ms": delays[KEYS // 2], "key p99 ms": delays[KEYS * 99 // 100]}


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.005)


def _text(app: object) -> str:
    strips = app.screen._compositor.render_strips()  # type: ignore[attr-defined]
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def _memory() -> float:
    """Resident megabytes."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


PARTS = {"campaign": _campaign, "history": _history, "table": _table, "stream": _stream}

if __name__ == "__main__":
    main()
