"""How quickly the command line starts, as ratios to importing what it cannot do without.

Each pair is measured in one run, interleaved, and compared by the median. Floors:
`campaign --help` against `import click`, `campaign status` against `import click, sqlite3, yaml`.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 25
PYTHON = sys.executable
CAMPAIGN = str(Path(PYTHON).with_name("campaign"))


def seconds(command: list[str]) -> float:
    """Wall-clock seconds of one execution; it must succeed."""
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def ratio(name: str, ours: list[str], floor: list[str], limit: float) -> bool:
    """Prints the ratio of the medians, and whether it is below `limit`."""
    pairs = [(seconds(ours), seconds(floor)) for _ in range(ROUNDS)]
    mine, least = (statistics.median(column) for column in zip(*pairs, strict=True))
    good = mine < limit * least
    print(
        f"{name}: {mine * 1000:.0f} ms against {least * 1000:.0f} ms, "
        f"ratio {mine / least:.2f} (limit {limit:g}) {'ok' if good else 'TOO SLOW'}"
    )
    return good


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([CAMPAIGN, "--workspace", folder, "init"], check=True, capture_output=True)
        status = [CAMPAIGN, "--workspace", folder, "status"]
        good = [
            ratio("--help", [CAMPAIGN, "--help"], [PYTHON, "-c", "import click"], 2),
            ratio("status", status, [PYTHON, "-c", "import click, sqlite3, yaml"], 3),
        ]
    sys.exit(not all(good))


if __name__ == "__main__":
    main()
