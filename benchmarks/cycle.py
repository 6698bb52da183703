"""How long a restart cycle takes on real hosts, beside the shell that does no more than that.

On each host: patch three files, set a variable in a drop-in, have systemd read it, restart a
service that takes a second to warm up, wait for its health, reproduce nothing; then put all back,
restart, wait. Ours with its journal, proof, checks and ledger beside a floor, pyinfra and Ansible,
interleaved, compared by the median. Round 0 warms up, and does not count.

    python benchmarks/cycle.py              # two real machines of systemd (root; see tests/hosts)
    python benchmarks/cycle.py --hosts 16   # sixteen sshd of this machine, services by a script
"""

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from bisect import bisect
from pathlib import Path

from cycle_calls import PYTHON
from cycle_hosts import Fleet, fleet
from cycle_peers import ROOT, Campaign, Peer, peers

LIMIT = 1.15
NAMES = ["floor", "campaign", "pyinfra", "ansible"]


def main() -> None:
    asked = _asked()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))  # its services end, too
    with (
        tempfile.TemporaryDirectory(prefix="cycle-") as name,
        fleet(folder := Path(name), asked.hosts) as made,
    ):
        print(f"{len(made.targets)} hosts, median of {asked.rounds} rounds", flush=True)
        ways = peers(folder, made, asked.only.split(","))
        _report(_measure(ways, made, asked.rounds))
        for way in ways:
            if isinstance(way, Campaign):
                _count(way, made, folder)


def _asked() -> argparse.Namespace:
    asks = argparse.ArgumentParser(description="How long a restart cycle takes on real hosts.")
    asks.add_argument("--hosts", type=int, default=2, help="2: real machines; more: sshd only")
    asks.add_argument("--rounds", type=int, default=7)
    asks.add_argument("--only", default=",".join(NAMES), help="of these, separated by commas")
    return asks.parse_args()


def _measure(ways: list[Peer], made: Fleet, rounds: int) -> dict[str, list[float]]:
    """The seconds of each round of each way; a round before them warms everything up."""
    seconds: dict[str, list[float]] = {way.name: [] for way in ways}
    for number in range(rounds + 1):
        for way in ways:
            started = time.perf_counter()
            way.cycle()
            took = time.perf_counter() - started
            for target in made.targets:
                target.check_cycled()
            if number:
                seconds[way.name].append(took)
            busy = os.getloadavg()[0]
            print(f"round {number} {way.name:10} {took:6.2f} s, load {busy:.0f}", flush=True)
    return seconds


def _report(seconds: dict[str, list[float]]) -> None:
    floor = statistics.median(seconds["floor"]) if "floor" in seconds else None
    for name, found in seconds.items():
        median = statistics.median(found)
        ratio = "" if floor is None else f"  {median / floor:5.2f} x floor"
        if name == "campaign" and floor is not None:
            ratio += f" (goal {LIMIT:g})"
        print(f"{name:10} {median:6.2f} s  ({min(found):.2f}-{max(found):.2f}){ratio}")


def _count(campaign: Campaign, made: Fleet, folder: Path) -> None:
    """One more run of ours, whose calls and remote processes are counted."""
    for target in made.targets:
        (target.folder / "python").write_text(PYTHON.format(there=target.there))
        (target.folder / "python").chmod(0o755)
    campaign.describe(python="{there}/python")
    counted = folder / "calls.json"
    _, _, _, *arguments = campaign.command("run", "cycle", "-y")
    program = [str(ROOT / "benchmarks/cycle_calls.py"), str(counted)]
    campaign.succeed([campaign.command()[0], *program, *arguments])
    _print_phases(json.loads(counted.read_text()), _processes(made))


def _processes(made: Fleet) -> list[float]:
    """When the agents started a process."""
    noted = [(target.folder / "processes").read_text() for target in made.targets]
    return sorted(float(line) for text in noted for line in text.split())


def _print_phases(phases: list[dict[str, object]], processes: list[float]) -> None:
    began = [float(str(phase["began"])) for phase in phases]
    started = [0] * len(phases)
    for at in processes:
        started[max(bisect(began, at) - 1, 0)] += 1
    print("\nphase of ours                    seconds  calls  processes on hosts")
    total = 0
    for phase, count in zip(phases, started, strict=True):
        calls = phase["calls"]
        assert isinstance(calls, dict)
        total += sum(calls.values())
        said = ", ".join(f"{verb} {n}" for verb, n in calls.items())
        seconds = float(str(phase["seconds"]))
        print(f"{phase['name']!s:32.32} {seconds:7.2f}  {sum(calls.values()):5}  {count:5}  {said}")
    print(f"{'in all':32} {'':7}  {total:5}  {sum(started):5}  and a login shell a host")


if __name__ == "__main__":
    main()
