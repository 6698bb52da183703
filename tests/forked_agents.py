"""Agents, keepers and leashes without an exec: a tenth of the time that a fresh Python takes.

They are forked from the process that starts them, which has their code loaded already, and are
given all that an exec would give them: a session, descriptors, an environment, signals, arguments.
A process with several threads starts real ones: another thread may hold a lock of the C library,
which no fork lets go. So do tests/agent, tests/hosts and every command in a process of its own.
"""

import contextlib
import gc
import importlib
import os
import re
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from playbooks.agent import clock

_FORM = ["-I", "-S", "-c"]
_PROGRAM = re.compile(r"import sys; .*; from (playbooks\.agent\.\w+) import main; main\(\)")


class Popen(subprocess.Popen[Any]):
    """Forks for a program of the agent, and starts any other as ever."""

    def __init__(self, args: Any, **options: Any) -> None:
        module = _module(args)
        if module is not None and threading.active_count() == 1:
            options["preexec_fn"] = partial(
                _become, module, args[5:], options.get("env"), options.get("pass_fds", ())
            )
        super().__init__(args, **options)


def _module(args: Any) -> str | None:
    """The module of the agent whose `main` the command runs, if it runs one."""
    if not isinstance(args, list) or args[:4] != [sys.executable, *_FORM]:
        return None
    found = _PROGRAM.fullmatch(args[4])
    return found[1] if found else None


def _become(
    module: str, arguments: Sequence[str], env: Mapping[str, str] | None, kept: Collection[int]
) -> None:
    """In the child, with its standard streams, folder and session set: all else; never returns."""
    code = 1
    try:
        _close_all_but(kept)
        _forget_signals()
        gc.freeze()  # nothing of the parent's is finalized here
        gc.enable()
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        sys.argv = ["-c", *arguments]
        sys.stdin, sys.stdout, sys.stderr = (
            os.fdopen(fd, mode, closefd=False) for fd, mode in enumerate("rww")
        )
        importlib.reload(clock)
        importlib.import_module(module).main()
        code = 0
    except SystemExit as end:
        code = _code(end)
    except Exception:  # noqa: BLE001 - as Python ends a program
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _close_all_but(kept: Collection[int]) -> None:
    """The parent waits for the end of one of them: it takes that for the exec."""
    for fd in [int(one.name) for one in Path("/proc/self/fd").iterdir()]:
        if fd > 2 and fd not in kept:
            with contextlib.suppress(OSError):  # the one that the folder was read with is gone
                os.close(fd)


def _forget_signals() -> None:
    """As an exec does, and then Python's own."""
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _code(end: SystemExit) -> int:
    if end.code is None or isinstance(end.code, int):
        return end.code or 0
    print(end.code, file=sys.stderr)
    return 1
