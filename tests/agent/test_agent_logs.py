"""The log of a service: segments, gaps, whole lines."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.agent import logs


def _everything(folder: str, cursor: int, limit: int) -> tuple[bytes, int]:
    until, data, lost = logs.end(folder), b"", 0
    while cursor < until:
        piece = logs.read_lines(folder, cursor, until, limit)
        assert piece.cursor > cursor
        data, lost, cursor = data + piece.data, lost + piece.lost, piece.cursor
    return data, lost


@settings(deadline=None, max_examples=60)
@given(
    chunks=st.lists(st.binary(min_size=1, max_size=40), max_size=12),
    max_bytes=st.integers(1, 60),
    limit=st.integers(1, 50),
    reopen_at=st.integers(0, 12),
)
def test_what_is_kept_is_read_back_and_the_rest_is_counted(
    tmp_path_factory: pytest.TempPathFactory,
    chunks: list[bytes],
    max_bytes: int,
    limit: int,
    reopen_at: int,
) -> None:
    folder = str(tmp_path_factory.mktemp("log") / "log")
    writer = logs.Writer(folder, max_bytes, keep=3)
    for number, chunk in enumerate(chunks):
        if number == reopen_at:
            writer.close()
            writer = logs.Writer(folder, max_bytes, keep=3)
        writer.write(chunk)
    writer.close()
    written = b"".join(chunks)
    data, lost = _everything(folder, 0, limit)
    assert writer.offset == logs.end(folder) == len(written)
    assert data == written[lost:]
    assert len(logs.segments(folder)) <= 3


def test_a_chunk_ends_with_a_whole_line(tmp_path: Path) -> None:
    folder = str(tmp_path)
    logs.Writer(folder, 100, 2).write(b"one\ntwo\nthree")
    first = logs.read_lines(folder, 0, 13, limit=10)
    rest = logs.read_lines(folder, first.cursor, 13, limit=10)
    assert (first.data, first.complete) == (b"one\ntwo\n", False)
    assert (rest.data, rest.complete) == (b"three", True)


def test_a_refused_write_becomes_a_gap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = logs.Writer(str(tmp_path), 100, 2)
    writer.write(b"before\n")
    with monkeypatch.context() as patch:
        patch.setattr(logs.os, "write", _no_space)
        writer.write(b"lost\n")
    writer.write(b"after\n")
    writer.close()
    assert _everything(str(tmp_path), 0, 100) == (b"before\nafter\n", 5)


def _no_space(_fd: int, _data: bytes) -> int:
    raise OSError(28, os.strerror(28))


def test_lines_that_match_and_the_last_ones(tmp_path: Path) -> None:
    logs.Writer(str(tmp_path), 1000, 2).write(b"a 1\nb 2\na 3\n")
    assert logs.matching(b"a 1\nb 2\na 3\n", re.compile(rb"^a")) == b"a 1\na 3\n"
    assert logs.last_lines(str(tmp_path), 0, count=2) == ["b 2", "a 3"]
    assert logs.last_lines(str(tmp_path), 8) == ["a 3"]
