"""The journal of a unit: read by cursor, filtered here, with what was lost counted.

A line of it is a message of the unit, or of systemd about it. Lost are messages that journald
suppressed for coming too fast, what rotated away with the cursor that we were to begin at, and what
a damaged file held: journalctl passes over that, and says so to those who debug it alone.
See journalctl(1), systemd.journal-fields(7).
"""

import glob
import json
import os
import re
import subprocess
import threading
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Union

from playbooks.agent import systemctl
from playbooks.agent.managed import Cursor, Follow, LogPiece, wrong_cursor
from playbooks.agent.session import VerbError

_DROPPED = "a596d6fe7bfa4994828e72309e95d61e"
_FIELDS = "MESSAGE,MESSAGE_ID,N_DROPPED"
_SUPPRESSED = re.compile(rb"Suppressed (\d+) messages from (\S+)")
_CURSOR = re.compile(r"(?:s=[0-9a-f]+;i=[0-9a-f]+;\S+)?\Z")
_PASSED_OVER = re.compile(rb"skipping over it|Can't iterate through")
_LEFT_OUT = re.compile(rb"^Journal file (/.*?\.journal~?) .*ignoring file", re.MULTILINE)
_MOST_SAID = 1 << 20
_CHUNK = 1 << 20
_BASE = ["journalctl", "--no-pager", "--quiet", "--all"]
_LAST_LINES = 20


class Entry(NamedTuple):
    """A message: its cursor and its text as lines, or how many messages were suppressed."""

    cursor: str
    text: bytes
    suppressed: int


class Journal:
    """The messages of one unit; with `invocation`, only its own in that one start.

    What a unit with a `namespace` of its own says is there alone; systemd's words of it are not.
    """

    def __init__(
        self, name: str, unit: str, *, user: bool, namespace: str = "", invocation: str = ""
    ) -> None:
        self._name, self._unit, self._namespace = name, unit, namespace
        self._base = _base(namespace)
        self._source = f"user@{os.getuid()}.service" if user else unit
        field, about = ("_SYSTEMD_USER_UNIT", "USER_UNIT") if user else ("_SYSTEMD_UNIT", "UNIT")
        self._own = {field: unit}
        self._matches = [f"{field}={unit}", "+", f"{about}={unit}", "+", f"MESSAGE_ID={_DROPPED}"]
        if invocation:
            self._own["_SYSTEMD_INVOCATION_ID"] = invocation
            self._matches = [f"{name}={value}" for name, value in self._own.items()]

    def read(self, cursor: Cursor, end: Optional[Cursor]) -> LogPiece:
        """The messages from `cursor` up to `end`, about a mebibyte of them at a time."""
        if not isinstance(cursor, str) or isinstance(end, int) or not _CURSOR.match(cursor):
            raise wrong_cursor(self._name, cursor)
        gap = end is None and not self._is_kept(cursor)
        until = newest(self._namespace) if end is None else end
        data, suppressed, at, done = bytearray(), 0, cursor, True
        with _Reading(self.command(cursor)) as reading:
            for entry in map(self.entry, reading.lines()):
                if entry.cursor == cursor:
                    continue
                if is_after(entry.cursor, until):
                    break
                data += entry.text
                suppressed += entry.suppressed
                at = entry.cursor
                if len(data) >= _CHUNK:
                    done = at == until
                    break
        lost = (0, suppressed, gap, reading.damaged_since(cursor))
        return LogPiece(bytes(data), until if done else at, until, done, *lost)

    def follow(self, cursor: Cursor) -> Follow:
        if not isinstance(cursor, str):
            raise wrong_cursor(self._name, cursor)
        return _Following(self, cursor)

    def last_lines(self, cursor: Optional[Cursor]) -> List[str]:
        """The unit's newest messages since `cursor` (None: whenever); systemd's where it has none.

        In a crash loop there would be hardly any but systemd's.
        """
        since = cursor if isinstance(cursor, str) else ""
        systemctl.run([*self._base, "--sync"])
        own = [f"{name}={value}" for name, value in self._own.items()]
        return self._newest(self._base, own, since) or self._newest(_BASE, self._matches, since)

    def _newest(self, base: List[str], matches: List[str], since: str) -> List[str]:
        output = ["--output=json", f"--output-fields={_FIELDS}", f"--lines={_LAST_LINES}"]
        done = systemctl.run([*base, *output, *matches])
        entries = (self.entry(line) for line in done.stdout.splitlines())
        text = b"".join(one.text for one in entries if is_after(one.cursor, since))
        return text.decode("utf-8", "replace").splitlines()

    def command(self, cursor: str) -> List[str]:
        """The command that prints the messages at `cursor` and after it as lines of JSON.

        Not --after-cursor: where the message at the cursor is not one that matches, journalctl
        (252) passes over one more.
        """
        output = ["--output=json", f"--output-fields={_FIELDS}"]
        return [*self._base, *output, *_from(cursor), *self._matches]

    def following(self, cursor: str) -> List[str]:
        """The command that prints everybody's messages as they come; `own` picks from them."""
        fields = ",".join(["MESSAGE", *self._own])
        output = ["--output=json", f"--output-fields={fields}", "--follow", "--no-tail"]
        return [*self._base, *output, *_from(cursor)]

    def own(self, line: bytes, cursor: str) -> bytes:
        """The text of a line that `following` printed; none where it is not of this unit."""
        if not all(value.encode() in line for value in self._own.values()):
            return b""
        fields = json.loads(line)
        foreign = any(fields.get(name) != value for name, value in self._own.items())
        return b"" if foreign or fields["__CURSOR"] == cursor else self.entry(line).text

    def entry(self, line: bytes) -> Entry:
        """A line of JSON as an entry."""
        fields: Dict[str, Any] = json.loads(line)
        text = b"".join(_text(one) + b"\n" for one in _values(fields.get("MESSAGE")))
        if fields.get("MESSAGE_ID") != _DROPPED:
            return Entry(fields["__CURSOR"], text, 0)
        match = _SUPPRESSED.search(text)
        ours = match is not None and match.group(2).decode("utf-8", "replace") == self._source
        count = int(match.group(1)) if match is not None and ours else 0
        return Entry(fields["__CURSOR"], b"", count)

    def _is_kept(self, cursor: str) -> bool:
        """Whether the message at `cursor` has not rotated away."""
        if not cursor:
            return True
        options = ["--output=json", "--output-fields=_PID", "--lines=1", *_from(cursor)]
        line = systemctl.run([*self._base, *options]).stdout.partition(b"\n")[0]
        return bool(line) and json.loads(line)["__CURSOR"] == cursor


class _Reading:
    """journalctl under way with `command`; over at the end of the block, whatever it has left."""

    def __init__(self, command: List[str]) -> None:
        self._command = command
        self._said = b""

    def __enter__(self) -> "_Reading":
        import tempfile  # takes its time, and most agents read no journal

        self._faults = tempfile.TemporaryFile()
        try:
            self._child = subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=self._faults,
                env={**systemctl.environment(), "SYSTEMD_LOG_LEVEL": "debug"},
            )
        except OSError:
            self._faults.close()
            raise
        return self

    def lines(self) -> Iterator[bytes]:
        """What it prints. Errors: "journal"."""
        assert self._child.stdout is not None
        yield from self._child.stdout
        if self._child.wait() != 0:
            again = systemctl.run([*self._command, "--lines=1"])
            said = again.stderr.decode("utf-8", "replace").strip()
            raise VerbError("journal", f"{' '.join(self._command)}: {said}")

    def __exit__(self, *_: object) -> None:
        with self._child, self._faults:
            self._child.kill()
            self._child.wait()
            self._faults.seek(0)
            self._said = self._faults.read(_MOST_SAID)

    def damaged_since(self, cursor: str) -> bool:
        """Whether it could not read some of what it was asked for.

        A file that it left out counts if it was written to since the message at `cursor`.
        """
        since = int(_fields(cursor).get("t", "0"), 16) / 1e6
        left_out = (os.fsdecode(path) for path in _LEFT_OUT.findall(self._said))
        return bool(_PASSED_OVER.search(self._said)) or any(
            _written(path) >= since for path in left_out
        )


def _written(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0


class _Following(Follow):
    """First all that is there, then what comes."""

    def __init__(self, journal: Journal, cursor: str) -> None:
        self._journal, self._cursor = journal, cursor
        self._child: Optional["subprocess.Popen[bytes]"] = None
        self._rest = b""

    def read(self) -> bytes:
        if self._child is None:
            return self._catch_up()
        assert self._child.stdout is not None
        try:
            data = os.read(self._child.stdout.fileno(), _CHUNK)
        except BlockingIOError:
            return b""
        *lines, self._rest = (self._rest + data).split(b"\n")
        return b"".join(self._journal.own(line, self._cursor) for line in lines)

    def _catch_up(self) -> bytes:
        piece = self._journal.read(self._cursor, None)
        assert isinstance(piece.cursor, str)
        self._cursor = piece.cursor
        if piece.done:
            self._child = subprocess.Popen(
                self._journal.following(self._cursor),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=systemctl.environment(),
            )
            assert self._child.stdout is not None
            os.set_blocking(self._child.stdout.fileno(), False)
        return piece.data

    def close(self) -> None:
        if self._child is not None:
            with self._child as child:
                child.kill()
            self._child = None


def is_hidden() -> bool:
    """Whether only a user's own messages can be read: journalctl then gives those, and no error."""
    places = ("/var/log/journal", "/run/log/journal")
    files = [path for place in places for path in glob.glob(place + "/*/system.journal")]
    return bool(files) and not any(os.access(path, os.R_OK) for path in files)


def newest(namespace: str = "") -> str:
    """The cursor of the journal's newest message, once all that was sent is in it.

    "": the journal is empty. Errors: "denied".
    """
    base = _base(namespace)
    systemctl.run([*base, "--sync"])
    done = systemctl.run([*base, "--lines=0", "--show-cursor"])
    if b"insufficient permissions" in done.stderr or is_hidden():
        raise VerbError(
            "denied",
            "the journal is not ours to read: add the user to the group systemd-journal, "
            "or, for units of the system, say sudo: true for this host",
        )
    _, found, cursor = done.stdout.decode().rpartition("-- cursor: ")
    return cursor.strip() if found else ""


class Newest:
    """`newest`, looked for from now on while something else is done."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._found: List[Union[str, VerbError]] = []
        self._looking = threading.Thread(target=self._look, daemon=True)
        self._looking.start()

    def end(self) -> str:
        """Waits for it; "" where the journal is not ours: what needs no log does without it.

        Errors: those of `newest`, but for "denied".
        """
        self._looking.join()
        (found,) = self._found
        if not isinstance(found, VerbError):
            return found
        if found.kind != "denied":
            raise found
        return ""

    def _look(self) -> None:
        try:
            self._found.append(newest(self._namespace))
        except VerbError as error:
            self._found.append(error)


def _base(namespace: str) -> List[str]:
    """journalctl, for the journal of a namespace, LogNamespace= in systemd.exec(5)."""
    return [*_BASE, f"--namespace={namespace}"] if namespace else _BASE


def _from(cursor: str) -> List[str]:
    return [f"--cursor={cursor}"] if cursor else []


def is_after(cursor: str, other: str) -> bool:
    """Whether a message came after another one; all come after "".

    As journald orders them: by their numbers in one journal, by the time since one boot, and only
    then by a clock that may have been set between them.
    """
    one, two = _fields(cursor), _fields(other)
    for same, by in (("s", "i"), ("b", "m")):
        if one.get(same) == two.get(same) and same in one:
            return int(one[by], 16) > int(two[by], 16)
    return int(one.get("t", "0"), 16) > int(two.get("t", "0"), 16)


def _fields(cursor: str) -> Dict[str, str]:
    """A cursor's parts: journal `s`, number `i`, boot `b`, time since boot `m`, clock `t`."""
    return dict(part.partition("=")[::2] for part in cursor.split(";"))


def _values(message: Any) -> List[Any]:
    """The values of a field: text, a list of texts where it is there twice, or bytes."""
    if message is None:
        return []
    several = isinstance(message, list) and not all(isinstance(one, int) for one in message)
    return message if several else [message]


def _text(value: Any) -> bytes:
    return bytes(value) if isinstance(value, list) else str(value).encode("utf-8", "replace")
