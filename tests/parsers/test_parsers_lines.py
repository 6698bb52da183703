"""Bytes to lines: whatever the chunks, whatever the bytes, in flat memory."""

import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.parsers.lines import LINE_LIMIT, Line, Lines, without_escapes


def read(*chunks: bytes, cut: bool = False) -> tuple[list[Line], tuple[str, ...]]:
    lines = Lines()
    found = [line for chunk in chunks for line in lines.feed(chunk)]
    return found + list(lines.rest(cut=cut)), lines.warnings()


def texts(*chunks: bytes) -> list[str]:
    return [line.text for line in read(*chunks)[0]]


def test_lines_are_numbered_and_blank_ones_left_out() -> None:
    lines, warnings = read(b"one\n\n  three\n \nfive")
    assert [(line.number, line.text) for line in lines] == [(1, "one"), (3, "  three"), (5, "five")]
    assert warnings == ()


def test_crlf_counts_as_one_line_end_even_between_chunks() -> None:
    lines, warnings = read(b"one\r", b"\ntwo\r\n", b"three\n")
    assert [(line.number, line.text) for line in lines] == [(1, "one"), (2, "two"), (3, "three")]
    assert warnings == ("2 lines with carriage returns (CRLF, progress bar): each ended a line",)


def test_progress_bar() -> None:
    lines, warnings = read(b"1/3\r2/3\r3/3\ndone\n")
    assert [line.text for line in lines] == ["1/3", "2/3", "3/3", "done"]
    assert [line.number for line in lines] == [1, 1, 1, 2]
    assert warnings[0].startswith("1 line with carriage returns")


def test_colour_codes_and_hyperlinks_go() -> None:
    lines, warnings = read(b"\x1b[1;31mleak\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07\x1b(B\n")
    assert lines[0].text == "leak link"
    assert warnings == ("1 line with colour codes: they were removed",)


def test_bytes_that_are_not_utf8_are_replaced_and_said() -> None:
    lines, warnings = read(b"caf\xe9 leak\nfine \xc3\xa9\n")
    assert [line.text for line in lines] == ["caf\ufffd leak", "fine é"]
    assert warnings == ("1 line not UTF-8: the bytes in question were replaced",)


def test_a_character_may_lie_across_chunks() -> None:
    assert texts(b"caf\xc3", b"\xa9\n") == ["café"]


def test_byte_order_mark_goes() -> None:
    assert texts(b"\xef\xbb\xbf{}\n\xef\xbb\xbfx") == ["{}", "\ufeffx"]


def test_last_line_is_marked_when_the_output_was_cut() -> None:
    lines, _ = read(b"one\ntw", cut=True)
    assert [line.cut for line in lines] == [False, True]


def test_an_endless_line_needs_no_memory() -> None:
    lines, chunk = Lines(), b"x" * 65536
    tracemalloc.start()
    try:
        for _ in range(200 * 16):
            assert not list(lines.feed(chunk))
        found = list(lines.feed(b"end\nnext\n"))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * LINE_LIMIT
    assert [(len(line.text), line.capped) for line in found] == [(LINE_LIMIT, True), (4, False)]
    assert lines.warnings() == (f"1 line longer than {LINE_LIMIT} bytes: read up to there",)


def test_a_line_of_exactly_the_limit_is_whole() -> None:
    (line,), warnings = read(b"x" * LINE_LIMIT + b"\n")
    assert not line.capped
    assert warnings == ()


def test_a_character_split_by_the_limit_is_no_fault_of_the_output() -> None:
    (line,), warnings = read(b"x" * (LINE_LIMIT - 1) + "é\n".encode())
    assert line.capped
    assert len(warnings) == 1


PIECES = st.sampled_from(
    [b"\n", b"\r", b"\r\n", b"leak", b"\x1b[31m", b"\x1b[", b"m", b"\xc3\xa9", b"\xff", b" ", b"{"]
)


@settings(deadline=None)
@given(st.lists(PIECES).map(b"".join), st.lists(st.integers(0, 60), max_size=6))
def test_chunk_boundaries_do_not_matter(data: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(data)]
    chunks = [data[a:b] for a, b in pairwise(edges)]
    assert read(*chunks) == read(data)
    assert read(*(bytes([byte]) for byte in data)) == read(data)


@pytest.mark.parametrize("text", ["plain", "a\x1b", "\x1b]0;unfinished title"])
def test_what_is_no_whole_escape_code_stays(text: str) -> None:
    assert without_escapes(text) == text
