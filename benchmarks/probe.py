"""What the checksum probe adds to its caller, beside a plain CRC-32 and a read of the memory.

    python benchmarks/probe.py [--rounds 30]

For each size and each kind of buffer, in one run and in turns, in microseconds:

    call    what `checkpoint` takes, with nothing else waiting (median)
    row     what it takes of ten in a row (mean), until they are refused for want of room
    crc32   zlib.crc32 of the same bytes, as a caller would do without the probe (median)
    read    a search through the bytes that finds nothing: no digest can be quicker (median)

Ratios are to crc32. torch and CUDA rows appear where they can.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SIZES = {"4 KiB": 4 << 10, "1 MiB": 1 << 20, "64 MiB": 64 << 20}
IN_A_ROW = 10


@dataclass(frozen=True)
class Case:
    """A buffer of `size` bytes; `ready` waits until earlier work on it is done."""

    kind: str
    size: str
    buffer: Any
    plain: bytes
    ready: Callable[[], object] = bool


def cases() -> Iterator[Case]:
    for size, count in SIZES.items():
        plain = b"\2" * count
        yield Case("bytes", size, plain, plain)
        yield Case("bytearray", size, bytearray(plain), plain)
        yield from _numpy(size, plain)
        yield from _torch(size, plain)


def _numpy(size: str, plain: bytes) -> Iterator[Case]:
    import numpy as np

    yield Case("numpy", size, np.zeros(len(plain), np.uint8), plain)


def _torch(size: str, plain: bytes) -> Iterator[Case]:
    try:
        import torch
    except ImportError:
        return
    yield Case("torch, CPU", size, torch.zeros(len(plain), dtype=torch.uint8), plain)
    if torch.cuda.is_available():
        there = torch.zeros(len(plain), dtype=torch.uint8, device="cuda")
        yield Case("torch, CUDA", size, there, plain, torch.cuda.synchronize)


def taken(work: Callable[[], object]) -> float:
    """Microseconds."""
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) * 1e6


def _spin() -> None:
    """A caller that was at work, not one that has just slept."""
    end = time.perf_counter() + 0.0003
    while time.perf_counter() < end:
        pass


def measure(case: Case, rounds: int) -> tuple[float, float, float, float]:
    from playbooks.probes.checksum_probe import checkpoint, flush

    def call() -> None:
        checkpoint("bench", case.buffer, key=1, side="src")

    def row() -> None:
        for _ in range(IN_A_ROW):
            call()

    def drained(work: Callable[[], object]) -> float:
        case.ready()
        assert flush(60)
        _spin()
        return taken(work)

    works: list[Callable[[], float]] = [
        lambda: drained(call),
        lambda: drained(row) / IN_A_ROW,
        lambda: drained(lambda: zlib.crc32(case.plain)),
        lambda: drained(lambda: case.plain.find(b"\1")),
    ]
    for work in works:
        work()
    found = [[work() for work in works] for _ in range(rounds)]
    columns = list(zip(*found, strict=True))
    call_us, row_us, crc_us, read_us = columns
    return (
        statistics.median(call_us),
        statistics.fmean(row_us),
        statistics.median(crc_us),
        statistics.median(read_us),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=30)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CHECKSUM_PROBE"] = str(Path(folder) / "lines")
        os.environ["CHECKSUM_PROBE_BYTES"] = str(1 << 30)
        print(f"Python {sys.version.split()[0]}, {rounds} rounds, microseconds; (x) is to crc32")
        print(
            f"{'buffer':12} {'size':>7} {'call':>16} {'ten in a row':>17} {'crc32':>9} {'read':>9}"
        )
        for case in cases():
            call, row, crc, read = measure(case, rounds)
            print(
                f"{case.kind:12} {case.size:>7} {call:9.1f} ({call / crc:4.2f}) "
                f"{row:10.1f} ({row / crc:4.2f}) {crc:9.1f} {read:9.1f}"
            )


if __name__ == "__main__":
    main()
