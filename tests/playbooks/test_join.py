"""The join of two logs, against a naive model, and the reading of the rows."""

import io
import re
import tracemalloc
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks.join import SHOWN, Row, detector_identity, join, log_lines, scan
from playbooks.parsers import ParseError
from playbooks.parsers.lines import LINE_LIMIT
from playbooks.playbook import LogSide

MATCH = r"idxk room=(?P<key>\d+) sum=(?P<value>[0-9a-f]+)"


def rows(*pairs: tuple[str, str]) -> list[Row]:
    return [Row(key, value, f"{key}={value}") for key, value in pairs]


def log(text: str) -> io.BytesIO:
    return io.BytesIO(text.encode())


def test_rooms_of_two_services() -> None:
    left = log("idxk room=1 sum=aa\nGET /health\nidxk room=2 sum=bb\nidxk room=3 sum=cc\n")
    right = log("idxk room=2 sum=b0\nidxk room=1 sum=aa\nidxk room=4 sum=dd\n")
    joined = join(scan(left, MATCH), scan(right, MATCH), lost=2, detector="d")
    found = joined.comparison
    assert (found.matched, found.mismatched) == ({"1"}, {"2"})
    assert (found.left_only, found.right_only, found.duplicate) == ({"3"}, {"4"}, frozenset())
    assert (found.lost, found.detector, found.coverage) == (2, "d", 0.5)
    assert joined.lines == {
        "2": ("idxk room=2 sum=bb", "idxk room=2 sum=b0"),
        "3": ("idxk room=3 sum=cc", ""),
        "4": ("", "idxk room=4 sum=dd"),
    }


def test_known_bad_needs_no_value() -> None:
    bad = scan(log("idxk corrupted room=5\n"), r"corrupted room=(?P<key>\d+)", needs_value=False)
    assert join([], [], bad).comparison.known_bad == {"5"}


def test_a_repeated_key_is_a_duplicate_even_with_the_same_value() -> None:
    joined = join(rows(("1", "a"), ("1", "a")), rows(("1", "a")))
    assert joined.comparison.duplicate == {"1"}
    assert joined.comparison.keys == 1


def test_a_key_of_one_side_repeated_shows_its_last_line() -> None:
    assert join(rows(("1", "a"), ("1", "b")), []).lines == {"1": ("1=b", "")}
    assert join(rows(("1", "a"), ("1", "b")), rows(("2", "c"), ("2", "c"), ("1", "x"))).lines[
        "1"
    ] == ("1=b", "1=x")


def test_long_values_are_compared_in_full() -> None:
    long = "f" * 100_000
    assert join(rows(("1", long)), rows(("1", long))).comparison.matched == {"1"}
    assert join(rows(("1", long)), rows(("1", long[:-1] + "e"))).comparison.mismatched == {"1"}


def test_a_missing_value_is_an_empty_one() -> None:
    (row,) = scan(log("room=1\n"), r"room=(?P<key>\d+)( sum=(?P<value>\w+))?")
    assert row == Row("1", "", "room=1")


def test_a_line_without_its_key_is_no_row() -> None:
    assert list(scan(log("x\n"), r"x(?P<key>\d+)?(?P<value>y)?")) == []


def test_rows_of_odd_bytes() -> None:
    data = b"\x1b[2midxk room=1\x1b[0m sum=aa caf\xe9\r\nidxk room=2 sum=bb"
    found = list(scan(io.BytesIO(data), MATCH))
    assert [row.line for row in found] == ["idxk room=1 sum=aa caf\ufffd", "idxk room=2 sum=bb"]


def test_kept_lines_are_bounded() -> None:
    (row,) = scan(log("idxk room=1 sum=aa " + "x" * 10_000), MATCH)
    assert len(row.line) == SHOWN


@pytest.mark.parametrize(
    ("match", "message"),
    [
        ("(?P<key>", "compare: match: "),
        (r"(?P<key>\d)", "has no group value: write (?P<value>...)"),
        (r"(?P<value>\d)", "has no group key"),
    ],
)
def test_refused_expressions_are_refused_at_once(match, message) -> None:
    with pytest.raises(ParseError, match=re.escape(message)):
        scan([], match)


def test_an_endless_log_line_needs_no_memory() -> None:
    chunks = (b"x" * 65536 for _ in range(1600))
    tracemalloc.start()
    try:
        found = [len(line) for line in log_lines(chunks)]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found == [LINE_LIMIT]
    assert peak < 8 * LINE_LIMIT


@pytest.mark.parametrize("size", [1, 1000, LINE_LIMIT - 1, LINE_LIMIT, 10 * LINE_LIMIT])
def test_log_lines_of_all_lengths_in_chunks_of_any(size: int) -> None:
    full = b"y" * (LINE_LIMIT - 1)
    data = b"a\n" + full + b"\n" + b"x" * (LINE_LIMIT + 5) + b"\n\nlast"
    chunks = (data[at : at + size] for at in range(0, len(data), size))
    assert list(log_lines(chunks)) == [b"a", full, b"x" * LINE_LIMIT, b"", b"last"]


def test_matching_rows_need_memory_for_keys_only() -> None:
    def side():
        return (Row(f"{number}", "v" * 50, "x" * 500) for number in range(20_000))

    tracemalloc.start()
    try:
        joined = join(side(), side())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(joined.comparison.matched) == 20_000
    assert peak < 20_000 * 300


SIDES = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xy")), max_size=10)


@settings(deadline=None)
@given(SIDES, SIDES, SIDES)
def test_as_the_naive_model_has_it(left, right, bad) -> None:
    joined = join(rows(*left), rows(*right), rows(*bad))
    once = [Counter(key for key, _ in side) for side in (left, right)]
    duplicate = {key for side in once for key, count in side.items() if count > 1}
    lefts, rights = ({k: v for k, v in side if k not in duplicate} for side in (left, right))
    both = lefts.keys() & rights.keys()
    found = joined.comparison
    assert found.duplicate == duplicate
    assert found.matched == {key for key in both if lefts[key] == rights[key]}
    assert found.mismatched == {key for key in both if lefts[key] != rights[key]}
    assert found.left_only == lefts.keys() - rights.keys()
    assert found.right_only == rights.keys() - lefts.keys()
    assert found.known_bad == {key for key, _ in bad}
    assert joined.lines.keys() == (once[0].keys() | once[1].keys()) - found.matched
    for key in found.mismatched:
        assert joined.lines[key] == (f"{key}={lefts[key]}", f"{key}={rights[key]}")


LEFT, RIGHT = LogSide("prefill", MATCH), LogSide("decode", MATCH)
EDITS = [("a.py", "1" * 64), ("b.py", None)]


def test_the_detectors_identity() -> None:
    identity = detector_identity(LEFT, RIGHT, EDITS)
    assert re.fullmatch("[0-9a-f]{16}", identity)
    assert detector_identity(LEFT, RIGHT, reversed(EDITS)) == identity


def test_another_detector_has_another_identity() -> None:
    others = [
        (RIGHT, LEFT, EDITS),
        (replace(LEFT, match=MATCH + "$"), RIGHT, EDITS),
        (LEFT, RIGHT, EDITS[:1]),
        (LEFT, RIGHT, [("a.py", "2" * 64), ("b.py", None)]),
        (LEFT, RIGHT, [("c.py", "1" * 64), ("b.py", None)]),
        (LEFT, RIGHT, EDITS),
    ]
    assert len({detector_identity(*other) for other in others}) == len(others)
