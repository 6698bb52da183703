"""Commands in forked processes: a user's code from the command line on, at a tenth of the time.

They run in children of a server that has everything imported; so do their agents and all that
those start of ours (forked_agents.py). What only a fresh process can show is seen elsewhere:
tests/cli/test_cli_startup.py, and every test that starts a process itself.
"""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import forkserver
from pathlib import Path
from typing import Any
from unittest import mock

PATIENCE_S = 60.0

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "campaign.cli.main",
        "campaign.cli.autopilot",
        "campaign.cli.advise",
        "campaign.cli.doctor",
        "campaign.cli.execution",
        "campaign.cli.recovered",
        "campaign.cli.report",
        "campaign.cli.run",
        "campaign.cli.runs",
        "campaign.cli.services",
        "campaign.cli.hypothesis",
        "campaign.cli.status",
        "campaign.engine.rules",
        "campaign.ledger.migrations",
        "http.client",
        "scipy.special",
        "sqlite_utils",
        "playbooks.language.likely",
        "playbooks.hosts.local",
        "playbooks.hosts.ssh",
        "playbooks.agent.leash",
        "playbooks.agent.main",
        "playbooks.parsers.jsonl",
        "forked_agents",
        "forked_ready",
    ]
)
_TESTS = Path(__file__).parent
_PATH = os.pathsep.join([str(_TESTS), str(_TESTS.parent)])


@dataclass
class Command:
    """A command under way, or ended; `code` is negative where a signal ended it."""

    process: Any
    _out: Path
    _err: Path

    @property
    def pid(self) -> int:
        pid: int = self.process.pid
        return pid

    @property
    def out(self) -> str:
        return self._out.read_text(encoding="utf-8") if self._out.exists() else ""

    @property
    def err(self) -> str:
        return self._err.read_text(encoding="utf-8") if self._err.exists() else ""

    @property
    def code(self) -> int:
        code: int | None = self.process.exitcode
        assert code is not None, "it has not ended"
        return code

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def wait(self, patience_s: float = PATIENCE_S) -> "Command":
        self.process.join(patience_s)
        if self.process.exitcode is None:
            self.process.kill()
            raise AssertionError(f"it does not end: {self.err}")
        return self

    def until(self, text: str) -> None:
        """Waits until it has said `text` on stderr."""
        await_that(lambda: text in self.err or self.process.exitcode is not None, text)
        assert text in self.err, f"ended {self.code} without {text!r}: {self.err}"


def await_that(holds: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.005)


def start(
    arguments: Sequence[str], streams: Path, env: Mapping[str, str], stdin: str = ""
) -> Command:
    """`campaign` with these arguments, under way; its streams are files named from `streams`."""
    out, err = streams.with_suffix(".out"), streams.with_suffix(".err")
    given = streams.with_suffix(".in")
    given.write_text(stdin, encoding="utf-8")
    files = (str(given), str(out), str(err))
    with mock.patch.dict(os.environ, PYTHONPATH=_PATH):  # it says nothing of what it cannot import
        forkserver.ensure_running()
    process = _SERVER.Process(
        target=_campaign, args=(list(arguments), files, str(Path.cwd()), dict(env))
    )
    process.start()
    return Command(process, out, err)


def _campaign(
    arguments: list[str], files: tuple[str, str, str], folder: str, env: dict[str, str]
) -> None:
    """What the forked process does: the command line's own entry point, its streams in files."""
    import forked_agents

    from campaign.cli.main import main

    assert "forked_ready" in sys.modules
    subprocess.Popen = forked_agents.Popen  # type: ignore[misc]
    os.chdir(folder)
    created = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for fd, (path, flags) in enumerate(zip(files, (os.O_RDONLY, created, created), strict=True)):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, fd)
        os.close(opened)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.argv = ["campaign", *arguments]
    main()
