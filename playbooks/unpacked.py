"""Files as they were before gzip, xz, bzip2 or zstd: told apart by what is in them, not by name."""

import bz2
import gzip
import lzma
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

_ZSTD = b"\x28\xb5\x2f\xfd"
_FORMATS: tuple[tuple[bytes, Callable[[BinaryIO], object]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"\xfd7zXZ\x00", lzma.open),
    (b"BZh", bz2.open),
)


class CannotRead(Exception):  # noqa: N818 - it says what happened
    """A file cannot be read or unpacked; one clear line."""


@contextmanager
def unpacked(path: Path) -> Iterator[BinaryIO]:
    """The content of the file at `path`. Errors: CannotRead, also while it is read.

    zstd is unpacked by the program of that name, which must be there.
    """
    try:
        with path.open("rb") as file:
            if file.peek(4)[:4] == _ZSTD:
                with _zstd(path) as output:
                    yield output
            else:
                yield _opened(file)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise CannotRead(f"cannot read {path}: {why}") from error


def _opened(file: BinaryIO) -> BinaryIO:
    start = cast("bytes", getattr(file, "peek")(6))  # noqa: B009 - no part of BinaryIO
    for magic, opened in _FORMATS:
        if start.startswith(magic):
            return cast("BinaryIO", opened(file))
    return file


@contextmanager
def _zstd(path: Path) -> Iterator[BinaryIO]:
    program = shutil.which("zstd")
    if program is None:
        raise CannotRead(f"cannot read {path}: it is packed by zstd, and there is no zstd here")
    with tempfile.TemporaryFile() as faults:
        command = [program, "--decompress", "--stdout", "--", str(path)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=faults)
        with child:
            assert child.stdout is not None
            try:
                yield cast("BinaryIO", child.stdout)
                at_end = not child.stdout.read(1)
            except BaseException:
                child.kill()
                raise
            if not at_end:
                child.kill()
        if at_end and child.returncode:
            faults.seek(0)
            why = faults.read().decode(errors="replace").strip()
            raise CannotRead(f"cannot read {path}: {why}")
