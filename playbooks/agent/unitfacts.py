"""What systemd says of a unit, and why it does not run, in words. See systemctl(1), show."""

import glob
import os
import time
from typing import Any, ClassVar, Dict, List, Optional, Tuple

from playbooks.agent import clock, procfs
from playbooks.agent.session import VerbError

FACTS = (
    "LoadState",
    "LoadError",
    "FragmentPath",
    "DropInPaths",
    "NeedDaemonReload",
    "EnvironmentFiles",
    "ExecStart",
    "WorkingDirectory",
    "StandardOutput",
    "LogNamespace",
)
_OWN_FAILURES = {
    200: "200/CHDIR, its WorkingDirectory= cannot be entered",
    203: "203/EXEC, its program cannot be run",
    209: "209/STDOUT, its output cannot be set up",
    216: "216/GROUP, its Group= cannot be set",
    217: "217/USER, its User= does not exist",
    226: "226/NAMESPACE, its mount namespace cannot be set up",
    233: "233/RUNTIME_DIRECTORY, its RuntimeDirectory= cannot be made",
    238: "238/STATE_DIRECTORY, its StateDirectory= cannot be made",
    240: "240/LOGS_DIRECTORY, its LogsDirectory= cannot be made",
}
_RESULTS = {
    "timeout": "it took longer than systemd lets it",
    "watchdog": "its watchdog heard nothing from it",
    "oom-kill": "the kernel killed it for want of memory",
    "protocol": "it did not do what its Type= promises",
    "resources": "systemd lacked the resources: a missing EnvironmentFile= does that too",
}
_EXITED = "1"


class Seen:
    """A unit as systemd showed it."""

    PROPERTIES: ClassVar[Tuple[str, ...]] = (
        "LoadState",
        "LoadError",
        "ActiveState",
        "SubState",
        "Result",
        "MainPID",
        "ExecMainPID",
        "ExecMainCode",
        "ExecMainStatus",
        "ExecMainExitTimestampMonotonic",
        "ActiveEnterTimestampMonotonic",
        "InactiveExitTimestampMonotonic",
        "ControlGroup",
        "InvocationID",
        "NRestarts",
        "Job",
        "TriggeredBy",
    )

    def __init__(self, unit: str, shown: Dict[str, str]) -> None:
        self.unit, self._shown = unit, shown
        self.group = shown["ControlGroup"]
        self.invocation = shown["InvocationID"]
        self.result = shown["Result"]
        self.triggered = bool(shown["TriggeredBy"])
        self.restarts = int(shown["NRestarts"] or 0)
        self.word = f"{shown['ActiveState']} ({shown['SubState']})"

    @property
    def up(self) -> bool:
        """Neither down nor failed: it runs, or is on its way up or down."""
        return self._shown["ActiveState"] not in ("inactive", "failed")

    @property
    def running(self) -> bool:
        return self._shown["ActiveState"] in ("active", "reloading")

    @property
    def failed(self) -> bool:
        return self._shown["ActiveState"] == "failed"

    @property
    def restarting(self) -> bool:
        """It ended by itself, and systemd is about to start it once more."""
        return self._shown["SubState"].startswith("auto-restart")

    @property
    def starting_up(self) -> bool:
        """systemd still works on the job that it was given, or is before its end."""
        return self._shown["Job"] not in ("", "0") or self._shown["ActiveState"] == "activating"

    @property
    def main(self) -> Optional[procfs.Identity]:
        """The main process, while it is there."""
        return procfs.identify(int(self._shown["MainPID"] or 0) or -1)

    @property
    def never_ran(self) -> bool:
        """systemd itself could not run the main program."""
        code, status = self._shown["ExecMainCode"], int(self._shown["ExecMainStatus"] or 0)
        return code == _EXITED and status in _OWN_FAILURES

    @property
    def ended(self) -> Dict[str, Optional[int]]:
        """How the main process ended last: `exit_code` or `exit_signal`."""
        code, status = self._shown["ExecMainCode"], int(self._shown["ExecMainStatus"] or 0)
        if code in ("", "0"):
            return {"exit_code": None, "exit_signal": None}
        if code == _EXITED:
            return {"exit_code": status, "exit_signal": None}
        return {"exit_code": None, "exit_signal": status}

    @property
    def ended_at(self) -> Optional[float]:
        return _epoch(self._shown["ExecMainExitTimestampMonotonic"])

    @property
    def started_at(self) -> Optional[float]:
        return _epoch(self._shown["ActiveEnterTimestampMonotonic"])

    @property
    def began_boot(self) -> Optional[float]:
        """When systemd began to start it last, in seconds of the boot clock."""
        return _since_boot(self._shown["InactiveExitTimestampMonotonic"])

    def require_found(self) -> None:
        """Errors: "unit-not-found"."""
        if self._shown["LoadState"] == "not-found":
            what = "systemd knows no such unit: correct systemd: in campaign.yaml, or install it"
            raise VerbError("unit-not-found", f"{self.unit}: {what}")

    def require_usable(self) -> None:
        """Errors: "unit-not-found", "masked", "bad-unit"."""
        self.require_found()
        if self._shown["LoadState"] == "masked":
            what = f"it is masked, so that nobody starts it: systemctl unmask {self.unit}"
            raise VerbError("masked", f"{self.unit}: {what}")
        if self._shown["LoadState"] in ("bad-setting", "error"):
            what = self._shown["LoadError"] or self._shown["LoadState"]
            fix = f"systemd-analyze verify {self.unit}"
            raise VerbError("bad-unit", f"{self.unit}: systemd refuses its files ({what}): {fix}")


def failure(seen: Seen) -> Tuple[str, str]:
    """Why a unit is not up: the kind of the error, and a line for people."""
    ended = seen.ended
    kind, how = "crashed", "it ended"
    if ended["exit_signal"] is not None:
        how = f"signal {ended['exit_signal']}"
    elif ended["exit_code"] is not None:
        how = f"exit code {ended['exit_code']}"
    if seen.never_ran:
        kind, how = (
            "start-failed",
            f"systemd could not start it: {_OWN_FAILURES[ended['exit_code'] or 0]}",
        )
    if seen.result == "start-limit-hit" or (seen.failed and seen.restarts):
        tried = f"{how}; it failed too often in a row, and systemd gave up (start-limit-hit)"
        return "start-limit", tried
    if seen.result in _RESULTS:
        return "start-failed", f"{_RESULTS[seen.result]} ({seen.result})"
    if seen.restarting or seen.restarts:
        how += f"; a crash loop: systemd restarts it ({seen.restarts} times so far)"
    if ended["exit_code"] is None and ended["exit_signal"] is None and seen.result != "success":
        kind, how = (
            "start-failed",
            f"a command before its main one failed ({seen.result}), see ExecStartPre=",
        )
    return kind, how


def _epoch(monotonic_us: str) -> Optional[float]:
    since_boot = _since_boot(monotonic_us)
    return None if since_boot is None else clock.at(since_boot)


def _since_boot(monotonic_us: str) -> Optional[float]:
    if not monotonic_us or monotonic_us == "0":
        return None
    return clock.boot_clock() - time.monotonic() + int(monotonic_us) / 1e6


def facts_of(shown: Dict[str, str]) -> Dict[str, Any]:
    """What the unit's files say that bears on its environment, still as systemd shows it;

    `links`: which of them are reached through links, and where they lead.
    """
    named = [line.rpartition(" (")[0] for line in shown["EnvironmentFiles"].splitlines()]
    facts: Dict[str, Any] = {
        "fragment": shown["FragmentPath"],
        "dropins": shown["DropInPaths"].split(),
        "env_files": [path for one in named for path in _matching(one)],
        "exec": shown["ExecStart"].splitlines(),
        "cwd": shown["WorkingDirectory"],
        "output": shown["StandardOutput"],
        "namespace": shown["LogNamespace"],
    }
    words = " ".join(facts["exec"]).replace("argv[]=", "").split()
    called = [os.path.join(facts["cwd"].lstrip("!"), word) for word in words if "/" in word]
    paths = [facts["fragment"], *facts["dropins"], *facts["env_files"], *called]
    return {**facts, "links": {path: real for path, real in map(_led, paths) if path != real}}


def _matching(pattern: str) -> List[str]:
    """The files that an EnvironmentFile= names, in the order in which systemd reads them."""
    found = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else []
    return found or [pattern]


def _led(path: str) -> Tuple[str, str]:
    return path, os.path.realpath(path) if os.path.isfile(path) else path
