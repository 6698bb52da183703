"""How long two logs take to be joined by key, beside DuckDB and `grep | sort | join`.

A line a room on each side, in another order on the right; a few checksums differ and a few rooms
are missing. Each way finds room and checksum by the same regular expression out of the same files,
joins them and counts what matches, differs and is missing; all must count the same. The ways are
interleaved and compared by the median; memory is the peak of the largest process.

    python benchmarks/compare.py                    # a million lines a side
    python benchmarks/compare.py --lines 10000000   # ten million, 900 MB a side
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MATCH = r"idxk room=(?P<key>\d+) sum=(?P<value>[0-9a-f]+)"
ALONE = """
import sys
from contextlib import contextmanager
from playbooks.join.joining import Side, join
from playbooks.playbook import RowSpec

def side(path):
    return Side(lambda: open(path, "rb"), RowSpec(sys.argv[3]))

print(join(side(sys.argv[1]), side(sys.argv[2])).comparison.counts)
"""
WRITE = """
import sys, polars as pl
lines = int(sys.argv[1])
rooms = pl.select(room=pl.int_range(100_000, 100_000 + lines))
rooms = rooms.with_columns(sum=pl.col("room").hash(seed=1))
wrong = (pl.col("room") % 100_003 == 7).cast(pl.UInt64)
other = rooms.with_columns(sum=pl.col("sum") + wrong).filter(pl.col("room") % 1_000_003 != 5)
for path, frame in zip(sys.argv[2:], (rooms, other.sample(fraction=1, shuffle=True, seed=2))):
    text = pl.format(
        "2026-01-05T12:13:07.{}Z worker-{} INFO idxk room={} sum={} bytes=4096",
        pl.col("room") % 900 + 100,
        pl.col("room") % 8,
        "room",
        pl.col("sum").cast(pl.String).str.zfill(20),
    )
    frame.select(text).write_csv(path, include_header=False, quote_style="never")
"""
DUCKDB = """
import sys, duckdb
side = '''
SELECT regexp_extract(line, 'idxk room=(\\\\d+) sum=([0-9a-f]+)', ['key', 'value']) AS row
FROM read_csv(?, columns={'line': 'VARCHAR'}, delim='', quote='', escape='', header=false)
'''
config = {"memory_limit": "2GB", "temp_directory": sys.argv[3]}
found = duckdb.connect(config=config).execute(
    f'''
    WITH l AS (SELECT row.key AS key, row.value AS value FROM ({side}) WHERE row.key <> ''),
         r AS (SELECT row.key AS key, row.value AS value FROM ({side}) WHERE row.key <> '')
    SELECT count(*) FILTER (l.value = r.value), count(*) FILTER (l.value <> r.value),
           count(*) FILTER (r.key IS NULL), count(*) FILTER (l.key IS NULL)
    FROM l FULL JOIN r ON l.key = r.key
    ''', sys.argv[1:3]
).fetchone()
print(*found)
"""
SHELL = r"""
export LC_ALL=C
rows() { grep -oE 'idxk room=[0-9]+ sum=[0-9a-f]+' "$1" | tr '=' ' ' | cut -d' ' -f3,5 |
         sort -S 500M --parallel=2 -T "$3" -k1,1 > "$2"; }
rows "$1" "$3/left" "$3"; rows "$2" "$3/right" "$3"
join -a1 -a2 -e- -o 0,1.2,2.2 "$3/left" "$3/right" |
awk '$2=="-"{r++; next} $3=="-"{l++; next} $2""==$3""{m++; next} {d++}
     END{print m+0, d+0, l+0, r+0}'
"""


@dataclass(frozen=True)
class Way:
    """One way to join two files: its command, and where its counts stand in what it prints."""

    name: str
    command: Callable[[Path, Path, Path], list[str]]
    counts: str


@dataclass(frozen=True)
class Took:
    seconds: float
    of_cpu: float
    mebibytes: float
    counts: tuple[str, ...]


WAYS = (
    Way(
        "campaign compare",
        lambda left, right, _: [
            *(sys.executable, "-m", "campaign.cli", "compare", str(left), str(right)),
            *("--match", MATCH, "--show", "0"),
        ],
        r"(\d+) match, (\d+) mismatch, (\d+) left only, (\d+) right only",
    ),
    Way(
        "the join alone",
        lambda left, right, _: [sys.executable, "-c", ALONE, str(left), str(right), MATCH],
        r"matched=(\d+), mismatched=(\d+), left_only=(\d+), right_only=(\d+)",
    ),
    Way(
        "DuckDB",
        lambda left, right, folder: [
            *(sys.executable, "-c", DUCKDB, str(left), str(right), str(folder)),
        ],
        r"(\d+) (\d+) (\d+) (\d+)",
    ),
    Way(
        "grep | sort | join",
        lambda left, right, folder: ["bash", "-c", SHELL, "-", str(left), str(right), str(folder)],
        r"(\d+) (\d+) (\d+) (\d+)",
    ),
)


def main() -> None:
    asks = argparse.ArgumentParser(description="How long two logs take to be joined by key.")
    asks.add_argument("--lines", type=int, default=1_000_000, help="on each side")
    asks.add_argument("--rounds", type=int, default=3)
    asks.add_argument("--only", default="", help="of the ways, names separated by commas")
    asks.add_argument("--json", action="store_true")
    asked = asks.parse_args()
    ways = [way for way in WAYS if not asked.only or way.name in asked.only.split(",")]
    with tempfile.TemporaryDirectory(prefix="compare-") as name:
        folder = Path(name)
        left, right = _logs(folder, asked.lines)
        took: dict[str, list[Took]] = {way.name: [] for way in ways}
        for _ in range(asked.rounds):
            for way in ways:
                took[way.name].append(_timed(way, left, right, folder))
        size = left.stat().st_size / 1e6
    _report(took, asked.lines, size, as_json=asked.json)


def _logs(folder: Path, lines: int) -> tuple[Path, Path]:
    """Two logs, written by a process of their own: what it takes is no part of what is measured."""
    left, right = folder / "left.log", folder / "right.log"
    subprocess.run(
        [sys.executable, "-c", WRITE, str(lines), str(left), str(right)], check=True, cwd=folder
    )
    os.sync()
    return left, right


def _timed(way: Way, left: Path, right: Path, folder: Path) -> Took:
    started = time.perf_counter()
    child = subprocess.Popen(
        way.command(left, right, folder),
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    )
    assert child.stdout is not None
    said = child.stdout.read()
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - started
    child.returncode = os.waitstatus_to_exitcode(status)
    found = re.search(way.counts, said)
    assert child.returncode == 0, f"{way.name} failed"
    assert found is not None, f"{way.name}: {said!r}"
    cpu = used.ru_utime + used.ru_stime
    return Took(seconds, cpu, used.ru_maxrss / 1024, found.groups())


def _report(took: dict[str, list[Took]], lines: int, size: float, *, as_json: bool) -> None:
    counts = {one.counts for rounds in took.values() for one in rounds}
    assert len(counts) == 1, f"they count differently: {took}"
    first = next(iter(took))
    rows = {
        name: {
            "seconds": round(statistics.median(one.seconds for one in rounds), 2),
            "of_cpu": round(statistics.median(one.of_cpu for one in rounds), 2),
            "mebibytes": round(max(one.mebibytes for one in rounds)),
            "ratio": round(
                statistics.median(
                    one.seconds / own.seconds for one, own in zip(rounds, took[first], strict=True)
                ),
                2,
            ),
        }
        for name, rounds in took.items()
    }
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{lines} lines and {size:.0f} MB a side, {os.cpu_count()} cores, load average ", end="")
    print(f"{os.getloadavg()[0]:.1f}; ratios to {first}, of the same round")
    for name, row in rows.items():
        print(
            f"{name:20} {row['seconds']:7.2f} s {row['ratio']:6.2f} "
            f"{row['of_cpu']:7.2f} s of CPU {row['mebibytes']:6} MiB"
        )


if __name__ == "__main__":
    main()
