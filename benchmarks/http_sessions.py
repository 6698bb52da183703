"""How quickly http_sessions drive sessions, beside a plain aiohttp loop and locust.

    python benchmarks/http_sessions.py [--sessions 1000] [--repeats 3] [--stream] [--locust]

All drive the same sessions of three requests, all at once, against the same toy endpoint
(tests/endpoint.py) in a process of its own, in turn; the best of each counts. Sessions a second are
from the first request to the last answer, CPU is what the process took beyond what it takes for one
session. The delay that is added is the median of single requests, one at a time, less that of the
plain loop. http_sessions must reach 0.8 of that loop's rate. `--locust` installs locust into an
environment of its own.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from playbooks.sessions.job import Job, program
from playbooks.sessions.spec import Sessions

HERE = Path(__file__).parent
ROOT = HERE.parent
ROUNDS = 3
ALONE = 300
TARGET = 0.8
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": PARAMETERS}}]


@dataclass(frozen=True)
class Load:
    """What is driven: sessions of `rounds` requests, `concurrency` of them at once."""

    port: int
    sessions: int
    concurrency: int
    rounds: int
    stream: bool

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"


@dataclass(frozen=True)
class Result:
    """Seconds from the first request to the last answer, each request's, and the CPU's."""

    seconds: float
    requests: list[float]
    cpu_s: float


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory() as scratch, _endpoint() as port:
        folder = Path(scratch)
        ways = {"http_sessions": _ours, "plain aiohttp": _plain}
        if options.locust:
            _install_locust(folder)
            ways["locust"] = _locust
        many = Load(port, options.sessions, options.sessions, ROUNDS, options.stream)
        rates = dict.fromkeys(ways, 0.0)
        one = Load(port, 1, 1, 1, options.stream)
        start_ups = {name: drive(one, folder).cpu_s for name, drive in ways.items()}
        for _ in range(options.repeats):
            for name, drive in ways.items():
                result = drive(many, folder)
                rates[name] = max(rates[name], many.sessions / result.seconds)
                print(_line(name, many, result, start_ups[name]), flush=True)
        alone = Load(port, ALONE, 1, 1, options.stream)
        medians = {name: statistics.median(ways[name](alone, folder).requests) for name in rates}
    _sum_up(rates, medians)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sessions", type=int, default=1000, help="all at once")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--stream", action="store_true", help="streamed answers")
    parser.add_argument("--locust", action="store_true", help="install locust and compare with it")
    return parser.parse_args()


def _line(name: str, load: Load, result: Result, start_up_s: float) -> str:
    requests = load.sessions * load.rounds
    return (
        f"{name:14} {load.sessions / result.seconds:6.0f} sessions/s"
        f" {requests / result.seconds:6.0f} requests/s"
        f" {(result.cpu_s - start_up_s) / requests * 1000:6.2f} ms of CPU a request"
    )


def _sum_up(rates: dict[str, float], medians: dict[str, float]) -> None:
    for name, rate in rates.items():
        added = (medians[name] - medians["plain aiohttp"]) * 1000
        share = rate / rates["plain aiohttp"]
        print(f"best of {name}: {rate:.0f} sessions/s, {share:.2f} of plain; adds {added:.2f} ms")
    share = rates["http_sessions"] / rates["plain aiohttp"]
    if share < TARGET:
        sys.exit(f"http_sessions reach {share:.2f} of the plain loop: less than {TARGET}")


@contextmanager
def _endpoint() -> Iterator[int]:
    process = subprocess.Popen(
        [sys.executable, str(ROOT / "tests" / "endpoint.py")], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    with process:
        try:
            yield int(json.loads(process.stdout.readline())["port"])
        finally:
            process.terminate()


def _ours(load: Load, folder: Path) -> Result:
    spec = Sessions(
        url=load.url,
        model="endless",
        sessions=str(load.sessions),
        rounds=str(load.rounds),
        concurrency=str(load.concurrency),
        stream=load.stream,
        messages=({"role": "user", "content": "How is the weather?"},),
        tools=json.dumps(TOOLS),
    )
    job, transcripts = folder / "job.json", folder / "transcripts.jsonl"
    job.write_text(Job(spec, ()).to_json(), encoding="utf-8")
    cpu_s = _run(list(program(job, transcripts)))
    lines = transcripts.read_text(encoding="utf-8").splitlines()
    rounds = [one for line in lines for one in json.loads(line)["rounds"]]
    assert len(rounds) == load.sessions * load.rounds, "requests were lost"
    ends = [one["started_at"] + one["seconds"] for one in rounds]
    began = min(one["started_at"] for one in rounds)
    return Result(max(ends) - began, [one["seconds"] for one in rounds], cpu_s)


def _plain(load: Load, folder: Path) -> Result:
    return _measured([sys.executable, str(HERE / "http_sessions_plain.py")], load, folder)


def _locust(load: Load, folder: Path) -> Result:
    python = folder / "locust" / "bin" / "python"
    return _measured([str(python), str(HERE / "http_sessions_locust.py")], load, folder)


def _measured(command: list[str], load: Load, folder: Path) -> Result:
    """A driver that writes what it measured into the file that it is given."""
    out = folder / "measured.json"
    facts = {**vars(load), "url": load.url, "tools": TOOLS}
    cpu_s = _run([*command, json.dumps(facts), str(out)])
    measured = json.loads(out.read_text(encoding="utf-8"))
    assert len(measured["requests"]) == load.sessions * load.rounds, "requests were lost"
    return Result(measured["seconds"], measured["requests"], cpu_s)


def _run(command: list[str]) -> float:
    """Runs a command to its end; the seconds of CPU that it took."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command[:2]} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def _install_locust(folder: Path) -> None:
    venv.create(folder / "locust", with_pip=True)
    pip = [str(folder / "locust" / "bin" / "pip"), "install", "--quiet", "locust"]
    subprocess.run(pip, check=True)


if __name__ == "__main__":
    main()
