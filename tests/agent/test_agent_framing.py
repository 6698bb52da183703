"""Frames survive any split of the pipe, and garbage is refused."""

import io
import struct
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.agent import framing

HEADERS = st.dictionaries(
    st.text(), st.none() | st.integers() | st.text() | st.lists(st.text(), max_size=2), max_size=4
)


def encoded(header: framing.Header, body: bytes) -> bytes:
    parts: list[bytes] = []
    framing.write_frame(parts.append, header, body)
    return b"".join(parts)


def in_pieces(data: bytes, size: int) -> Callable[[int], bytes]:
    stream = io.BytesIO(data)
    return lambda wanted: stream.read(min(wanted, size))


QUICK = settings(max_examples=40, deadline=None)


@QUICK
@given(st.lists(st.tuples(HEADERS, st.binary(max_size=300)), max_size=5), st.integers(1, 64))
def test_frames_come_out_as_they_went_in(
    frames: list[tuple[framing.Header, bytes]], size: int
) -> None:
    read = in_pieces(b"".join(encoded(*frame) for frame in frames), size)
    got = [framing.read_frame(read) for _ in frames]
    assert got == frames
    assert framing.read_frame(read) is None


@QUICK
@given(HEADERS, st.binary(max_size=50), st.data())
def test_a_cut_frame_is_an_error(header: framing.Header, body: bytes, data: st.DataObject) -> None:
    whole = encoded(header, body)
    cut = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(framing.FrameError, match="before the end of a frame"):
        framing.read_frame(in_pieces(whole[:cut], 7))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (struct.pack("!II", 3, 0) + b"{x}", "not JSON"),
        (struct.pack("!II", 2, 0) + b"[]", "not a JSON object"),
        (struct.pack("!II", 2, 0) + b"\xff\xfe", "not JSON"),
        (struct.pack("!II", 2**31, 0), "too long"),
        (struct.pack("!II", 2, 2**31), "too long"),
    ],
)
def test_garbage_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(framing.FrameError, match=message):
        framing.read_frame(io.BytesIO(data).read)


def test_a_body_is_written_in_bounded_pieces() -> None:
    pieces: list[bytes] = []
    framing.write_frame(pieces.append, {}, b"x" * (2 * framing.CHUNK + 1))
    assert [len(piece) for piece in pieces[1:]] == [framing.CHUNK, framing.CHUNK, 1]


def test_names_that_are_not_utf8_survive() -> None:
    header = {"path": b"caf\xe9".decode("utf-8", "surrogateescape")}
    assert framing.read_frame(io.BytesIO(encoded(header, b"")).read) == (header, b"")
