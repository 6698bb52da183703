"""Reads unified diffs strictly: unidiff reads the hunks, every other line is judged here."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime

from msgspec import Struct, field
from unidiff.errors import UnidiffParseError
from unidiff.patch import Hunk as FoundHunk
from unidiff.patch import PatchSet

_HUNK_HEADER = re.compile(rb"@@ -\d{1,9}(,\d{1,9})? \+\d{1,9}(,\d{1,9})? @@")
_HUNK_LINES = (b" ", b"+", b"-", b"\\", b"@", b"\n", b"\r\n")
_GIT_HEADER = re.compile(
    rb"(old mode|new mode|new file mode|deleted file mode|index|(?:dis)?similarity index) (.+)"
)
_BETWEEN_FILES = re.compile(rb"$|diff -|Index: |=+$")
_NEXT_COMMIT = re.compile(rb"(From|commit) [0-9a-f]{7,64}\b")
_SIGNATURE = re.compile(rb"-- \r?\n\d+(\.\w+)+")
_REFUSED = {
    b"diff --cc ": "a combined diff of a merge: make a diff against one parent",
    b"diff --combined ": "a combined diff of a merge: make a diff against one parent",
    b"@@@ ": "a combined diff of a merge: make a diff against one parent",
    b"GIT binary patch": "a binary patch: upload the file instead",
    b"Binary files ": "a binary file without its contents: upload the file instead",
    b"Only in ": "a file of one side is left out: make the diff with -N, or remove this line",
    b"rename from ": "a rename: split it into a deletion and a new file (git diff --no-renames)",
    b"copy from ": "a copy: make it a new file (git diff --no-renames)",
}
_SPECIAL_MODES = {"120000": "a symbolic link", "160000": "a submodule"}
_QUOTED_NAME = re.compile(rb'"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(rb"\\([0-3][0-7]{2}|.)")
_ESCAPES = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_EPOCH = re.compile(rb"(19\d\d-\d\d-\d\d \d\d:\d\d:\d\d)(?:\.0+)? ([-+]\d{4})")


_NO_NAMES = "this hunk belongs to no file: give its --- and +++ lines"


class DiffError(Exception):
    """A diff that cannot be read or does not fit: one line with where, what and what to do."""


class Hunk(Struct, frozen=True):
    """`old` lines become `new` lines; each ends with its newline, but for a last line without.

    `line` is where the hunk begins in the diff; the starts are those of its header; all count
    from 1 (a start of 0: before the first line). `leading` and `trailing` are the numbers of
    context lines at its ends.
    """

    line: int
    old_start: int
    new_start: int
    old: tuple[bytes, ...]
    new: tuple[bytes, ...]
    leading: int
    trailing: int


class FilePatch(Struct, frozen=True):
    """What a diff does to one file. Paths are relative and hold neither `.` nor `..`.

    `old` None makes a new file, `new` None deletes one; otherwise they are equal. `mode` has the
    permission bits where the diff sets them. `source` names the diff; `line` is where the file
    begins in it, from 1.
    """

    old: str | None
    new: str | None
    mode: int | None
    hunks: tuple[Hunk, ...]
    source: str
    line: int

    @property
    def path(self) -> str:
        """The path that is made, changed or deleted."""
        return self.new or self.old or ""


def parse(data: bytes, *, strip: int = 1, name: str = "diff") -> tuple[FilePatch, ...]:
    """The files that a diff changes, in its order.

    `strip` is the number of leading folders to take off each name; `name` is the diff's own, for
    messages. Names that are not UTF-8 come with surrogate escapes. Text before the first file, as
    of a mail or a commit, is passed over. Raises DiffError for what is not a unified diff, for
    renames, copies, links, submodules, binary and combined diffs, for a name that is absolute or
    holds `..`, and for a diff that names a file twice or no file at all.
    """
    patches: dict[str, FilePatch] = {}
    for section in _Reader(data, name).sections():
        try:
            patch = _file_patch(section, strip, name)
        except ValueError as error:
            raise DiffError(f"{name}:{section.line}: {error}") from None
        if patch.path in patches:
            what = f"{shown(patch.path)} was changed above already: make it one change"
            raise DiffError(f"{name}:{section.line}: {what}")
        patches[patch.path] = patch
    if not patches:
        raise DiffError(f"{name}: no --- and +++ lines: give a unified diff (git diff, diff -u)")
    return tuple(patches.values())


def split_lines(content: bytes) -> list[bytes]:
    """The lines with their newlines; only a newline byte ends a line."""
    return re.findall(rb"[^\n]*\n|[^\n]+", content)


def shown(name: str) -> str:
    """A name for a message of one line: control characters are escaped."""
    return repr(name)[1:-1]


class _Section(Struct):
    """One file of a diff as it is written, from `line` (from 1) on."""

    line: int
    git_names: bytes | None = None
    headers: dict[str, str] = field(default_factory=dict)
    old: bytes | None = None
    new: bytes | None = None
    hunks: list[Hunk] = field(default_factory=list)


class _Reader:
    """Walks the lines of a diff and gathers its sections; `at` is an index of lines, from 0."""

    def __init__(self, data: bytes, name: str) -> None:
        self._name = name
        self._lines = split_lines(data if data.endswith(b"\n") else data + b"\n")
        self._sections: list[_Section] = []
        self._free_text = True
        self._hunk_expected = -1

    def sections(self) -> list[_Section]:
        """All sections in order. Raises DiffError."""
        hunks = self._hunks()
        at = 0
        while at < len(self._lines):
            at = self._step(at, hunks)
        if self._hunk_expected == at and not self._sections[-1].hunks:
            raise self._error(at, "the diff ends where a hunk should be: make the diff again")
        return self._sections

    def _step(self, at: int, hunks: Mapping[int, tuple[Hunk, int]]) -> int:
        """Takes what begins at `at`, and says where the next begins."""
        line = self._lines[at].rstrip(b"\r\n")
        if at in hunks:
            return self._take_hunk(at, *hunks[at])
        if self._hunk_expected == at and not self._sections[-1].hunks:
            raise self._error(at, "a hunk should be here (@@ -1,3 +1,4 @@): make the diff again")
        if line.startswith(b"diff --git "):
            self._begin(_Section(at + 1, git_names=line[len(b"diff --git ") :]))
        elif self._is_name_pair(at):
            return self._take_names(at)
        else:
            self._take_text(at, line)
        return at + 1

    def _begin(self, section: _Section) -> None:
        self._sections.append(section)
        self._free_text = False

    def _take_hunk(self, at: int, hunk: Hunk, end: int) -> int:
        if at != self._hunk_expected:
            raise self._error(at, _NO_NAMES)
        self._sections[-1].hunks.append(hunk)
        self._hunk_expected = end
        return end

    def _take_names(self, at: int) -> int:
        if not self._in_git_header():
            self._begin(_Section(at + 1))
        section = self._sections[-1]
        section.old, section.new = (line[4:].rstrip(b"\r\n") for line in self._lines[at : at + 2])
        self._hunk_expected = at + 2
        return at + 2

    def _take_text(self, at: int, line: bytes) -> None:
        for start, what in _REFUSED.items():
            if line.startswith(start):
                raise self._error(at, what)
        if _HUNK_HEADER.match(line):
            raise self._error(at, _NO_NAMES)
        header = _GIT_HEADER.fullmatch(line)
        if header and self._in_git_header():
            self._sections[-1].headers[header[1].decode()] = header[2].decode("latin-1")
        elif _NEXT_COMMIT.match(line) or _SIGNATURE.match(b"".join(self._lines[at : at + 2])):
            self._free_text = True
        elif not (self._free_text or _BETWEEN_FILES.match(line)):
            what = "no hunk counts this line: correct the hunk's counts or remove it"
            raise self._error(at, what)

    def _in_git_header(self) -> bool:
        if not self._sections or self._free_text:
            return False
        section = self._sections[-1]
        return section.git_names is not None and section.old is None

    def _is_name_pair(self, at: int) -> bool:
        return [line[:4] for line in self._lines[at : at + 2]] == [b"--- ", b"+++ "]

    def _hunks(self) -> dict[int, tuple[Hunk, int]]:
        """Each hunk and the index after it, by the index of its header.

        Only lines that can belong to a hunk, or to the names before one, are shown to unidiff.
        """
        seen = 0

        def lines() -> Iterator[str]:
            nonlocal seen
            hidden = True
            for seen, line in enumerate(self._lines):
                hidden = hidden and not self._begins_file(seen)
                if not hidden and line.startswith(b"@@ ") and not _HUNK_HEADER.match(line):
                    raise self._error(seen, "not a hunk header: write @@ -1,3 +1,4 @@")
                possible = not hidden and line.startswith(_HUNK_LINES)
                yield line.decode("latin-1") if possible else "#\n"

        try:
            files = PatchSet(lines())
        except UnidiffParseError as error:
            reason = str(error).partition(":")[0].lower()
            raise self._error(seen, f"{reason}: make the diff again") from None
        hunks = [self._hunk(hunk) for file in files for hunk in file if hunk]
        return {hunk.line - 1: (hunk, end) for hunk, end in hunks}

    def _begins_file(self, at: int) -> bool:
        return self._lines[at].startswith(b"diff --git ") or self._is_name_pair(at)

    def _hunk(self, found: FoundHunk) -> tuple[Hunk, int]:
        header = (found[0].diff_line_no or 0) - 2
        body: list[tuple[str, bytes]] = []
        for line in found:
            if line.line_type == "\\" and body:
                body[-1] = body[-1][0], body[-1][1].removesuffix(b"\n")
            elif line.line_type:
                body.append((line.line_type, line.value.encode("latin-1")))
        end = max(line.diff_line_no or 0 for line in found)
        if b"".join(self._lines[end : end + 1]).startswith(b"\\"):
            end += 1
        tags = "".join(tag for tag, _ in body)
        hunk = Hunk(
            line=header + 1,
            old_start=found.source_start,
            new_start=found.target_start,
            old=tuple(text for tag, text in body if tag != "+"),
            new=tuple(text for tag, text in body if tag != "-"),
            leading=len(tags) - len(tags.lstrip(" ")),
            trailing=len(tags) - len(tags.rstrip(" ")),
        )
        if what := _flaw(hunk, tags):
            raise self._error(header, what)
        return hunk, end

    def _error(self, at: int, what: str) -> DiffError:
        return DiffError(f"{self._name}:{at + 1}: {what}")


def _flaw(hunk: Hunk, tags: str) -> str | None:
    """What is wrong with a hunk whose lines have these tags, if anything."""
    if not tags.strip(" "):
        return "the hunk changes nothing: remove it"
    unfinished = {line for side in (hunk.old, hunk.new) for line in side[:-1] if line[-1:] != b"\n"}
    if unfinished or "\\" in tags:
        return "a line without newline is not the last of its file: make the diff again"
    if " " not in tags and hunk.old_start > 1:
        return "the hunk has no context lines: make the diff with some (diff -U3)"
    return None


def _file_patch(section: _Section, strip: int, source: str) -> FilePatch:
    """The section's patch. Raises ValueError with what is wrong."""
    mode = _mode(section.headers)
    old, new = _paths(section, strip)
    hunks = tuple(section.hunks)
    if old is None and any(hunk.old for hunk in hunks):
        raise ValueError(f"new file {shown(new or '')} has old lines: make the diff again")
    if new is None and any(hunk.new for hunk in hunks):
        raise ValueError(f"deleted file {shown(old or '')} keeps lines: make the diff again")
    if old == new and mode is None and not hunks:
        raise ValueError(f"{shown(new or '')} is not changed: remove it from the diff")
    return FilePatch(old, new, mode, hunks, source, section.line)


def _mode(headers: Mapping[str, str]) -> int | None:
    modes = {key: value for key, value in headers.items() if key.endswith("mode")}
    modes["index"] = headers.get("index", "").partition(" ")[2] or "100644"
    for mode in modes.values():
        if not re.fullmatch(r"100[0-7]{3}", mode):
            what = _SPECIAL_MODES.get(mode, f"a file of mode {shown(mode)}")
            raise ValueError(f"{what}: only regular files can be patched: remove it")
    new = modes.get("new file mode", modes.get("new mode"))
    return int(new, 8) & 0o777 if new else None


def _paths(section: _Section, strip: int) -> tuple[str | None, str | None]:
    """The old and the new path; None for the side that has no file."""
    git_path = _git_path(section.git_names or b"", strip)
    made, gone = ("new file mode" in section.headers, "deleted file mode" in section.headers)
    if section.old is not None and section.new is not None:
        old, new = _path_of_line(section.old, strip), _path_of_line(section.new, strip)
    else:
        old, new = None if made else git_path, None if gone else git_path
    names = {path for path in (old, new, git_path) if path is not None}
    if len(names) != 1:
        told = " and ".join(map(shown, sorted(names))) or "none"
        raise ValueError(f"one file name is needed, found {told}: split a rename, or change strip")
    if (made and old is not None) or (gone and new is not None):
        raise ValueError("its header and its ---, +++ lines contradict each other: make it again")
    return old, new


def _path_of_line(written: bytes, strip: int) -> str | None:
    """The path in a --- or +++ line; None for /dev/null or the timestamp of no file."""
    name, _, timestamp = written.partition(b"\t")
    return None if name == b"/dev/null" or _is_epoch(timestamp) else _path(_unquoted(name), strip)


def _is_epoch(timestamp: bytes) -> bool:
    """Whether this is the time 0, by which diff -N marks a side that has no file."""
    if match := _EPOCH.match(timestamp):
        with suppress(ValueError):
            time = b" ".join(match.groups()).decode()
            return datetime.strptime(time, "%Y-%m-%d %H:%M:%S %z").timestamp() == 0
    return False


def _git_path(names: bytes, strip: int) -> str | None:
    """The path that both names of a `diff --git` line give; one of its spaces parts them."""
    for space in re.finditer(b" ", names):
        old, new = _unquoted(names[: space.start()]), _unquoted(names[space.end() :])
        if _stripped(old, strip) == _stripped(new, strip) != b"":
            return _path(new, strip)
    return None


def _unquoted(name: bytes) -> bytes:
    """The bytes of a name that may be quoted as in C, with octal escapes."""
    quoted = _QUOTED_NAME.fullmatch(name)
    return _ESCAPE.sub(_unescaped, quoted[1]) if quoted else name


def _unescaped(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    return bytes([int(code, 8) if len(code) == 3 else _ESCAPES.get(code[0], code[0])])


def _path(name: bytes, strip: int) -> str:
    """The checked relative path. Raises ValueError."""
    told = shown(name.decode("utf-8", "surrogateescape"))
    parts = [part for part in _stripped(name, strip).split(b"/") if part not in (b"", b".")]
    if name.startswith(b"/") or b".." in name.split(b"/"):
        raise ValueError(f"{told} leaves its root: name files relative to it, without '..'")
    if b"\0" in name:
        raise ValueError(f"{told} holds a NUL byte: no file can have this name")
    if not parts or name.endswith(b"/"):
        raise ValueError(f"{told} names no file with strip {strip}: change strip or the name")
    return b"/".join(parts).decode("utf-8", "surrogateescape")


def _stripped(name: bytes, strip: int) -> bytes:
    """The name without its first `strip` folders; empty where it has not as many."""
    match = re.fullmatch(rb"(?:[^/]*/+){%d}(.*)" % strip, name, re.DOTALL)
    return match[1] if match else b""
