"""Decode's worker process: joins tokens to text and takes complete tool calls out of it.

Like the workers of real engines it gives itself a title, written over its arguments and its
environment, so /proc/PID/environ no longer tells which variables it was started with.
"""

import contextlib
import ctypes
import json
import re
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from prompt import ARGUMENTS, CALL_BEGIN, CALL_END, SECTION_BEGIN, SECTION_END
from service import Json, RequestError

TITLE = b"demo::detokenizer"
CALL = re.compile(
    " ".join(
        [
            *map(re.escape, (SECTION_BEGIN, CALL_BEGIN)),
            r"functions\.(?P<name>\S+)",
            re.escape(ARGUMENTS),
            r"(?P<arguments>\{.*\})",
            *map(re.escape, (CALL_END, SECTION_END)),
        ]
    )
)


class Detokenizer:
    """The worker as decode sees it. It ends when its input does."""

    def __init__(self) -> None:
        command = [sys.executable, str(Path(__file__).resolve())]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._lock = threading.Lock()
        with contextlib.suppress(RequestError):  # `check` tells of it
            self.parse([])  # answered once the worker is up, under its title

    def check(self) -> None:
        """Raises RequestError when the worker is gone."""
        if self._process.poll() is not None:
            raise RequestError(503, "the detokenizer ended: restart decode")

    def parse(self, tokens: Sequence[str]) -> Json:
        """The answer's content and tool calls: {"content": ..., "tool_calls": [...]}."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._lock, contextlib.suppress(OSError, ValueError):
            stdin.write(json.dumps(tokens) + "\n")
            stdin.flush()
            return dict(json.loads(stdout.readline()))
        raise RequestError(503, "the detokenizer ended: restart decode")


def parse(tokens: Sequence[str]) -> Json:
    """Splits an answer. Markup that is not a complete call is text like any other."""
    text = " ".join(tokens)
    found = CALL.search(text)
    arguments = _valid(found["arguments"]) if found else None
    if found is None or arguments is None:
        return {"content": text, "tool_calls": []}
    call = {"name": found["name"], "arguments": arguments}
    return {"content": text[: found.start()].strip(), "tool_calls": [call]}


def _valid(arguments: str) -> str | None:
    try:
        return json.dumps(json.loads(arguments))
    except ValueError:
        return None


def set_title(title: bytes) -> None:
    """Writes `title` over this process's arguments and blanks its environment.

    Fields 48 to 51 of /proc/self/stat are the addresses of both: see proc(5).
    """
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    argument_start, argument_end, env_start, env_end = map(int, fields[45:49])
    ctypes.memset(env_start, 0, env_end - env_start)
    room = argument_end - argument_start
    ctypes.memmove(argument_start, title[: room - 1].ljust(room, b"\0"), room)


def main() -> None:
    set_title(TITLE)
    for line in sys.stdin:
        print(json.dumps(parse(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
