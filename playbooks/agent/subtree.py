"""Owning a tree of processes: start its root, find all of it, end all of it.

A supervisor is a subreaper (prctl(2)): what loses its parent below it becomes its child, so that
a process that left its group or its session is still found.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from typing import IO, Any, Callable, Dict, List, Optional, Sequence, Tuple, Union

from playbooks.agent import clock, procfs

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_LIMIT_S = 10.0
_LOOK_EVERY_S = 0.02
_INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "USER", "LOGNAME", "SHELL")

Find = Callable[[], List[procfs.Process]]
Output = Union[int, IO[bytes]]


class SurvivorsError(Exception):
    """Processes that outlived SIGKILL: they hang in the kernel, or are another user's."""

    def __init__(self, processes: List[procfs.Process]) -> None:
        super().__init__(", ".join(describe(process) for process in processes))


def describe(process: procfs.Process) -> str:
    """A process for people: pid, state letter and command."""
    return f"{process.pid} ({process.state}) {procfs.command_line(process.pid)}"


def base_environment() -> Dict[str, str]:
    """The little that services and supervisors inherit, so that nothing else leaks in."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    kept.setdefault("PATH", os.defpath)
    return kept


def supervisor(module: str) -> List[str]:
    """The command that runs `main()` of a module of this package in a process of its own."""
    root = os.path.abspath(__file__)
    for _ in range(3):
        root = os.path.dirname(root)
    code = f"import sys; sys.path.append(sys.argv[1]); from {module} import main; main()"
    return [sys.executable, "-I", "-S", "-c", code, root]


def become_subreaper() -> None:
    """From now on orphans below this process become its children."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    import ctypes

    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), f"prctl({option})")


def start(
    argv: Sequence[str],
    cwd: str,
    env: Dict[str, str],
    stdout: Output,
    stderr: Output,
    *,
    dies_with_us: bool = False,
) -> "subprocess.Popen[bytes]":
    """Start the root of a tree in a session and process group of its own, with no input.

    Call it from a process with one thread. Raises StartError in words for people.
    """

    def tie() -> None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)

    options: Dict[str, Any] = {"preexec_fn": tie} if dies_with_us else {}
    try:
        return subprocess.Popen(
            argv,
            cwd=cwd,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            **options,
        )
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise StartError(_why_not(argv, cwd, error)) from None


class StartError(Exception):
    """A command could not be started; the message says why in one line."""


def _why_not(argv: Sequence[str], cwd: str, error: Exception) -> str:
    if not os.path.isdir(cwd):
        return f"cannot run {argv[0]}: its working directory {cwd} is not there"
    reason = error.strerror if isinstance(error, OSError) else str(error)
    if isinstance(error, FileNotFoundError) and "/" not in argv[0]:
        reason = "no such program in PATH"
    return f"cannot run {argv[0]}: {reason}"


def below(pid: int) -> List[procfs.Process]:
    """All that runs below the process `pid`, itself not included."""
    processes = procfs.table()
    found = procfs.descendants([pid], processes)
    return [processes[one] for one in sorted(found) if processes[one].running]


def end(find: Find, group: Optional[int], timeout_s: float) -> Tuple[float, bool]:
    """SIGTERM to what `find` returns, SIGKILL after `timeout_s` to what is left, until none is.

    `group` is signalled as a whole while a member of it is found: a fork in between is not missed.
    Returns when all was gone (epoch seconds) and whether SIGKILL was needed. Raises SurvivorsError.
    """
    _signal(find(), group, signal.SIGTERM)
    if not _wait_until_gone(find, timeout_s):
        return clock.now(), False
    deadline = time.monotonic() + _KILL_LIMIT_S
    while True:
        _signal(find(), group, signal.SIGKILL)
        left = _wait_until_gone(find, 0.2)
        if not left:
            return clock.now(), True
        if time.monotonic() > deadline:
            raise SurvivorsError(left)


def _wait_until_gone(find: Find, timeout_s: float) -> List[procfs.Process]:
    deadline = time.monotonic() + timeout_s
    while True:
        left = find()
        if not left or time.monotonic() >= deadline:
            return left
        time.sleep(_LOOK_EVERY_S)


def _signal(processes: List[procfs.Process], group: Optional[int], number: int) -> None:
    """Signal them, each one only if it is still the process that was found."""
    if group is not None and any(_in_group(process, group) for process in processes):
        _try(os.killpg, group, number)
    for process in processes:
        if process.group != group and procfs.is_running(process.identity):
            _try(os.kill, process.pid, number)


def _in_group(process: procfs.Process, group: int) -> bool:
    return process.group == group and procfs.is_running(process.identity)


def _try(send: Callable[[int, int], None], target: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(target, number)
