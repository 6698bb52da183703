"""What one `campaign run` asks of its agents, phase by phase, and what these start on their hosts.

    python benchmarks/cycle_calls.py JSON ARGUMENTS...

runs the command `campaign ARGUMENTS...` with its calls counted, and writes them to the file JSON.
"""

import json
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

PYTHON = """\
#!/usr/bin/python3 -IS
import os, sys, time

log = os.open("{there}/processes", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

def note(event, _arguments):
    if event in ("subprocess.Popen", "os.fork", "os.posix_spawn"):
        os.write(log, b"%f\\n" % time.time())

sys.addaudithook(note)
exec(sys.argv[sys.argv.index("-c") + 1])
"""
"""Starts an agent that notes when it starts a process, in the file `processes` beside it."""


@dataclass
class Phase:
    """A part of a run: when it began, and the calls made in it, by verb."""

    name: str
    began: float
    calls: Counter[str] = field(default_factory=Counter)


class Count:
    """Counts calls by the phase they are made in."""

    def __init__(self) -> None:
        self.phases = [Phase("load, dial and plan", time.time())]
        self._writing = threading.Lock()

    def begin(self, name: str) -> None:
        self.phases.append(Phase(name, time.time()))

    def call(self, verb: str) -> None:
        with self._writing:
            self.phases[-1].calls[verb] += 1

    def save(self, path: Path) -> None:
        ends = [*(phase.began for phase in self.phases[1:]), time.time()]
        data = [
            {"name": one.name, "began": one.began, "seconds": end - one.began, "calls": one.calls}
            for one, end in zip(self.phases, ends, strict=True)
        ]
        path.write_text(json.dumps(data))


def watch(count: Count) -> None:
    """Has the command's own parts tell `count` what they do.

    Most of them are loaded while the hosts are being dialled, as in any run.
    """
    from campaign.engine.dialling import Ahead
    from playbooks.hosts.connection import Connection

    call, dial = Connection.call, Ahead.__enter__

    def counted(self: Connection, verb: str, body: bytes = b"", **arguments: Any) -> Any:
        count.call(verb)
        return call(self, verb, body, **arguments)

    def dialled(self: Ahead) -> Ahead:
        begun = dial(self)
        _watch_phases(count)
        return begun

    Connection.call = counted  # type: ignore[method-assign]
    Ahead.__enter__ = dialled  # type: ignore[method-assign]


def _watch_phases(count: Count) -> None:
    from campaign.cli.progress import Progress
    from campaign.engine.events import BootStarted, Event, StepEnded, StepStarted

    seen = Progress.__call__

    def noted(self: Progress, event: Event) -> None:
        match event:
            case StepStarted(name=name):
                count.begin(name)
            case StepEnded(name=name):
                count.begin(f"after {name}")
            case BootStarted(run=None):
                count.begin("put back")
        seen(self, event)

    Progress.__call__ = noted  # type: ignore[method-assign]


def main() -> None:
    path = Path(sys.argv.pop(1))
    count = Count()
    watch(count)
    from campaign.cli.main import main as campaign

    try:
        campaign()
    finally:
        count.save(path)


if __name__ == "__main__":
    main()
