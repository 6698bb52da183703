"""Unified diffs: read strictly, applied exactly, bytes in and bytes out.

Hunks may be found at an offset, as `git apply` searches, but without fuzz: every context line must
be there byte for byte. Where git would guess this refuses: a hunk without context that is not the
whole file, hunks that land out of order, lines that no hunk counts, a missing last newline.
"""

import difflib
from collections.abc import Iterable, Iterator

from playbooks.diff_reader import DiffError, FilePatch, Hunk, parse, shown, split_lines

__all__ = ["DiffError", "FilePatch", "Hunk", "apply", "parse", "unified"]

_SHOWN_LENGTH = 60


def apply(patch: FilePatch, content: bytes | None) -> bytes | None:
    """The file's bytes after the patch; None where it deletes the file.

    `content` None means that there is no file. Each hunk goes to the fitting place nearest to the
    one in its header, the later of two as near. As in git apply, a hunk that starts at the first
    line must match the file's beginning, and one without trailing context its end. Raises
    DiffError where a hunk does not fit, where a new file is there already or the one to change is
    not, and where a deleted file holds more than the diff takes away.
    """
    _check_presence(patch, content)
    lines = split_lines(content or b"")
    image: list[bytes | None] = [*lines]
    end = grown = 0
    for number, hunk in enumerate(patch.hunks, 1):
        at = _place(image, hunk)
        if at is None or at < end:
            why = _misfit(lines, hunk, grown) if at is None else "it belongs above the hunk before"
            what = f"hunk {number} does not fit: {why}: make the diff again from the file as it is"
            raise _error(patch, hunk.line, what)
        lines[at : at + len(hunk.old)] = hunk.new
        image[at : at + len(hunk.old)] = [None] * len(hunk.new)
        end = at + len(hunk.new)
        grown += len(hunk.new) - len(hunk.old)
    if patch.new is None and lines:
        what = "it holds more than the diff deletes: make the diff again from the file as it is"
        raise _error(patch, patch.line, what)
    return None if patch.new is None else b"".join(lines)


def unified(before: bytes | None, after: bytes | None, path: str) -> str:
    """The change of one file for a screen: a unified diff, "" where nothing changes.

    None means that there is no file. Control characters and bytes that are not UTF-8 are shown as
    escapes; of a file with NUL bytes only the sizes are told.
    """
    if before == after:
        return ""
    sides = (before, after)
    if any(b"\0" in (side or b"") for side in sides):
        sizes = " -> ".join("absent" if side is None else str(len(side)) for side in sides)
        return f"{shown(path)}: binary, {sizes} bytes\n"
    old, new = (
        "/dev/null" if side is None else f"{letter}/{shown(path)}"
        for letter, side in zip("ab", sides, strict=True)
    )
    hunks = list(difflib.unified_diff(_readable(before or b""), _readable(after or b"")))[2:]
    return "".join([f"--- {old}\n", f"+++ {new}\n", *hunks])


def _check_presence(patch: FilePatch, content: bytes | None) -> None:
    if patch.old is None and content is not None:
        raise _error(patch, patch.line, "the diff makes it a new file, but it is there already")
    from_nothing = len(patch.hunks) == 1 and patch.hunks[0].old_start == 0
    if patch.old is not None and content is None and not from_nothing:
        raise _error(patch, patch.line, "there is no such file: check the diff's names and strip")


def _place(image: list[bytes | None], hunk: Hunk) -> int | None:
    """The index at which a hunk fits; `image` has None for the lines of hunks before it."""
    wanted = [*hunk.old]
    places = _places(hunk, len(image) - len(wanted))
    return next((at for at in places if image[at : at + len(wanted)] == wanted), None)


def _places(hunk: Hunk, last: int) -> Iterable[int]:
    """Where git apply looks, in its order (apply.c, find_pos); `last` is the last place."""
    if hunk.old_start <= 1:
        return [0] if hunk.trailing or last == 0 else []
    return _outward(hunk.new_start - 1, last) if hunk.trailing else [last]


def _outward(start: int, last: int) -> Iterator[int]:
    """The numbers from 0 to `last`, nearest to `start` first, the greater of two as near."""
    start = max(0, min(start, last))
    yield from range(start, min(start, last) + 1)
    for distance in range(1, last + 1):
        yield from (at for at in (start + distance, start - distance) if 0 <= at <= last)


def _misfit(lines: list[bytes], hunk: Hunk, grown: int) -> str:
    """What differs where the hunk was expected, in the line numbers of the file as it was."""
    start = max(0, next(iter(_places(hunk, len(lines) - len(hunk.old))), 0))
    found = [*lines[start:], None]
    wanted = [*hunk.old, None] if not hunk.trailing else [*hunk.old]
    for offset, (want, have) in enumerate(zip(wanted, found, strict=False)):
        if want != have:
            where = start + offset + 1 - grown
            return f"line {where} should be {_line_shown(want)}, and is {_line_shown(have)}"
    return "it overlaps the hunk before"


def _line_shown(line: bytes | None) -> str:
    if line is None:
        return "the end of the file"
    text = repr(line.decode("utf-8", "surrogateescape"))
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH]}..."


def _error(patch: FilePatch, line: int, what: str) -> DiffError:
    return DiffError(f"{patch.source}:{line}: {shown(patch.path)}: {what}")


def _readable(content: bytes) -> list[str]:
    *lines, unfinished = content.split(b"\n")
    readable = [f"{_line_readable(line)}\n" for line in lines]
    if unfinished:
        readable.append(f"{_line_readable(unfinished)}\n\\ No newline at end of file\n")
    return readable


def _line_readable(line: bytes) -> str:
    text = line.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() or c == "\t" else ascii(c)[1:-1] for c in text)
