"""The join of two logs, against a naive model, and the reading of the rows."""

import errno
import json
import re
from collections import Counter
from contextlib import contextmanager
from io import BytesIO
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hypotheses.comparison import Comparison, State
from playbooks.join import rows as reading
from playbooks.join.blocks import BLOCK, blocks
from playbooks.join.detector import detector_identity
from playbooks.join.excerpts import SHOWN, Excerpt
from playbooks.join.expression import groups
from playbooks.join.joining import KEPT, Joined, Side, join
from playbooks.parsers.lines import LINE_LIMIT
from playbooks.playbook import Compare, LogSide, RowSpec

MATCH = r"idxk room=(?P<key>\d+) sum=(?P<value>[0-9a-f]+)"
ROOMS = RowSpec(MATCH)
WORDS = RowSpec(r"^(?P<key>\w+)=(?P<value>\w*)")


def log(content: bytes | str, spec: RowSpec = ROOMS) -> Side:
    raw = content.encode() if isinstance(content, str) else content

    @contextmanager
    def source():
        yield BytesIO(raw)

    return Side(source, spec)


def lines(pairs, prefix: str = "") -> str:
    return "".join(f"{prefix}{key}={value}\n" for key, value in pairs)


def rows(side: Side) -> list[tuple[str, str, int]]:
    return list(chain.from_iterable(one.rows() for one in reading.rows(side.source, side.spec)))


def shown(joined: Joined) -> dict[str, tuple[str, str]]:
    sides = ((one.key, one.left, one.right) for one in joined.odd)
    return {
        key: (left.line if left else "", right.line if right else "") for key, left, right in sides
    }


def test_rooms_of_two_services() -> None:
    left = log("idxk room=1 sum=aa\nGET /health\nidxk room=2 sum=bb\nidxk room=3 sum=cc\n")
    right = log("idxk room=2 sum=b0\nidxk room=1 sum=aa\nidxk room=4 sum=dd\n")
    joined = join(left, right, trials=["1", "9"])
    found = joined.comparison
    assert (found.matched, found.mismatched) == ({"1"}, {"2"})
    assert (found.left_only, found.right_only, found.duplicate) == ({"3"}, {"4"}, frozenset())
    assert (found.counts.joined, found.counts.total, found.counts.coverage) == (2, 4, 0.5)
    assert [one.state for one in joined.odd] == [
        State.MISMATCHED,
        State.LEFT_ONLY,
        State.RIGHT_ONLY,
    ]
    assert joined.odd[0].left == Excerpt(
        3,
        "idxk room=2 sum=bb",
        ("idxk room=1 sum=aa", "GET /health"),
        ("idxk room=3 sum=cc",),
    )
    assert joined.odd[0].right == Excerpt(
        1, "idxk room=2 sum=b0", (), ("idxk room=1 sum=aa", "idxk room=4 sum=dd")
    )
    assert joined.odd[1].right is None


def test_known_bad_needs_no_value() -> None:
    spec = RowSpec(r"corrupted room=(?P<key>\d+)", value=())
    bad = log("idxk corrupted room=5\n", spec)
    found = join(log("idxk room=5 sum=a"), log("idxk room=5 sum=b"), bad).comparison
    assert (found.known_bad, found.mismatched) == ({"5"}, {"5"})


def test_several_parts_to_a_key_and_to_a_value() -> None:
    parts = RowSpec(
        r"room=(?P<room>\d+) part=(?P<part>\S+) k=(?P<k>\w+) v=(?P<v>\w+)",
        ("room", "part"),
        ("k", "v"),
    )
    left = log("room=1 part=a/b k=1 v=2\nroom=1 part=c k=1 v=2\nroom=12 part=c k=1 v=2", parts)
    right = log("room=12 part=c k=1 v=2\nroom=1 part=a/b k=1 v=3\nroom=1 part=c k=1 v=2", parts)
    joined = join(left, right, trials=["1"])
    assert joined.comparison.mismatched == {r"1/a\/b"}
    assert joined.comparison.counts.matched == 2
    assert joined.odd[0].differs == ("v",)
    assert sorted(joined.keys_of["1"]) == [r"1/a\/b", "1/c"]
    alone = join(left, right, trials=["1"], only_trials=True).comparison
    assert (alone.counts.total, alone.matched) == (2, {"1/c"})


def test_keys_that_repeat_in_order() -> None:
    left = log("a=1\nb=1\na=2\nc=1\nc=1\nd=1\nd=2\n", WORDS)
    right = log("a=1\na=3\nb=1\nc=1\nd=1\nd=2\n", WORDS)
    joined = join(left, right, in_order=True, trials="abcd")
    found = joined.comparison
    assert (found.matched, found.mismatched, found.duplicate) == ({"b", "d"}, {"a"}, {"c"})
    assert shown(joined) == {"a": ("a=2", "a=3"), "c": ("c=1", "c=1")}
    assert join(left, right, trials="abcd").comparison.duplicate == {"a", "c", "d"}


def test_lines_that_are_json() -> None:
    spec = RowSpec(None, ("at.room",), ("sum",))
    big = 2**127 + 1
    left = [{"at": {"room": 1}, "sum": big}, {"at": {"room": "2"}, "sum": 1.10}, {"sum": 3}]
    right = [{"at": {"room": "1"}, "sum": big + 1}, {"at": {"room": 2}, "sum": "1.1"}, {"x": 1}]
    texts = ("\n".join(["started", "{not json", *map(json.dumps, one)]) for one in (left, right))
    one, other = (log(text, spec) for text in texts)
    found = join(one, other, trials="12").comparison
    assert (found.mismatched, found.matched, found.counts.total) == ({"1"}, {"2"}, 2)


def test_journalds_own_json() -> None:
    spec = RowSpec(MATCH, field="MESSAGE")
    text = "idxk room=2 sum=bb \xe9"
    entries = [
        {"MESSAGE": "idxk room=1 sum=aa", "_PID": "7"},
        {"MESSAGE": list(text.encode("latin-1"))},
        {"MESSAGE": None},
        {"_PID": "1"},
    ]
    side = log("\n".join(map(json.dumps, entries)), spec)
    assert rows(side) == [("1", "aa", 1), ("2", "bb", 2)]
    other = log("idxk room=1 sum=ab\nidxk room=2 sum=bb")
    assert shown(join(side, other)) == {"1": ("idxk room=1 sum=aa", "idxk room=1 sum=ab")}


def test_groups_and_fields_may_be_called_anything() -> None:
    spec = RowSpec(r"(?P<line>\d) (?P<text>\d) (?P<found>\d)", ("line", "text"), ("found",))
    assert rows(log("1 2 3", spec)) == [("1/2", "3", 1)]
    fields = RowSpec(None, ("line",), ("text", "value"))
    assert rows(log('{"line": 1, "text": 2, "value": "/"}', fields)) == [("1", r"2/\/", 1)]


def test_lines_that_are_skipped() -> None:
    spec = RowSpec(MATCH, skip="^GET|healthz")
    assert rows(
        log("GET idxk room=1 sum=a\nidxk room=2 sum=b healthz\nidxk room=3 sum=c", spec)
    ) == [("3", "c", 3)]


def test_long_values_are_compared_in_full() -> None:
    long = "f" * 100_000
    one = log(f"idxk room=1 sum={long}")
    assert join(one, one).comparison.counts.matched == 1
    other = log(f"idxk room=1 sum={long[:-1]}e")
    (odd,) = join(one, other).odd
    assert odd.left is not None
    assert (odd.state, len(odd.left.line)) == (State.MISMATCHED, SHOWN)


def test_a_missing_value_is_an_empty_one_and_a_missing_key_no_row() -> None:
    spec = RowSpec(r"x(?P<key>\d+)?( sum=(?P<value>\w+))?")
    assert rows(log("x1\nx\nx2 sum=a", spec)) == [("1", "", 1), ("2", "a", 3)]


def test_rows_of_odd_bytes() -> None:
    raw = b"\x1b[2midxk room=1\x1b[0m sum=aa caf\xe9\r\nidxk room=2\x00 sum=b\nidxk room=2 sum=bb"
    assert rows(log(raw)) == [("1", "aa", 1), ("2", "bb", 3)]
    spec = RowSpec(r"(?P<key>\d) (?P<value>.*)")
    different = join(log(b"1 \xe9\n2 \xff\x00", spec), log(b"1 \xe8\r\n2 \xff\x00\r\n", spec))
    assert (different.comparison.mismatched, different.comparison.counts.matched) == ({"1"}, 1)


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("(?P<key>", "unclosed group"),
        ("a(?=b)", "look-around"),
        (r"(a)\1", "backreferences are not supported"),
        ("(a{1000}){1000}{1000}", "size limit"),
    ],
)
def test_refused_expressions(source: str, why: str) -> None:
    with pytest.raises(ValueError, match=re.escape(why)):
        groups(source)


def test_the_groups_of_an_expression() -> None:
    assert groups(r"(?P<key>\d+)(x)(?P<value>é)?") == {"key", "value"}
    assert groups("plain") == frozenset()


def test_an_expression_that_would_take_for_ever_elsewhere() -> None:
    spec = RowSpec(r"^(?P<key>(a+)+)(?P<value>b)$")
    assert rows(log("a" * 100_000 + "\n" + "a" * 50 + "b", spec)) == [("a" * 50, "b", 2)]


@pytest.mark.parametrize("size", [1000, LINE_LIMIT - 1, LINE_LIMIT, LINE_LIMIT + 3, 2 * BLOCK])
def test_lines_of_all_lengths(size: int) -> None:
    long = b"9" * size
    raw = b"1=a\n" + long + b"=b\n\n2=c\n" + long
    found = rows(log(raw, WORDS))
    assert found[0] == ("1", "a", 1)
    assert found[-1] == ("2", "c", 4)
    assert len(found) == (3 if size < LINE_LIMIT else 2)
    kept = [len(line) for block in blocks(BytesIO(raw)) for line in block.raw.splitlines()]
    assert len(kept) == 5
    assert max(kept) <= 2 * BLOCK


SIDES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d", "e", "ü/\\"]), st.sampled_from("xy")),
    max_size=10,
)
ANY = RowSpec(r"^(?P<key>.+?)=(?P<value>\w*)")


def naive(left, right, in_order: bool) -> dict[str, str]:
    """The state of each key, by the book."""
    sides = [{key: [v for k, v in side if k == key] for key, _ in side} for side in (left, right)]
    found = {}
    for key in {*sides[0], *sides[1]}:
        ours, theirs = (side.get(key, []) for side in sides)
        if not in_order and max(len(ours), len(theirs)) > 1:
            found[key] = "duplicate"
        elif not ours or not theirs:
            found[key] = "left-only" if ours else "right-only"
        elif len(ours) != len(theirs):
            found[key] = "duplicate"
        else:
            found[key] = "matched" if ours == theirs else "mismatched"
    return found


def states(comparison: Comparison) -> dict[str, str]:
    return {
        key: state
        for state, keys in (
            ("matched", comparison.matched),
            ("mismatched", comparison.mismatched),
            ("left-only", comparison.left_only),
            ("right-only", comparison.right_only),
            ("duplicate", comparison.duplicate),
        )
        for key in keys
    }


@settings(max_examples=50)
@given(SIDES, SIDES, st.booleans())
def test_as_the_naive_model_has_it(left, right, in_order) -> None:
    keys = {key for key, _ in (*left, *right)}
    sides = (log(lines(side), ANY) for side in (left, right))
    joined = join(*sides, in_order=in_order, trials=keys)
    expected = naive(left, right, in_order)
    assert states(joined.comparison) == expected
    assert joined.comparison.counts.total == len(expected)
    assert {one.key: one.state.value for one in joined.odd} == {
        key: state for key, state in expected.items() if state != "matched"
    }


@settings(max_examples=30)
@given(SIDES, SIDES, st.booleans(), st.randoms(use_true_random=False))
def test_lines_of_other_keys_and_clocks_change_nothing(left, right, in_order, random) -> None:
    """Only the order of a key's own lines counts, and no time that stands in them."""
    order = list(range(len(left)))
    random.shuffle(order)
    mixed = [left[at] for at in order]
    again = {key: iter([pair for pair in left if pair[0] == key]) for key, _ in left}
    shuffled = [next(again[key]) for key, _ in mixed]
    clocked = RowSpec(r"^\S+ (?P<key>.+?)=(?P<value>\w*)")
    one = join(
        log(lines(left, "12:00 "), clocked), log(lines(right, "11:07 "), clocked), in_order=in_order
    )
    two = join(
        log(lines(shuffled, "01:00 "), clocked), log(lines(right, "7 "), clocked), in_order=in_order
    )
    assert one.comparison == two.comparison


def test_what_is_on_disk_is_joined_as_what_is_not_and_few_keys_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    left = lines((f"k{n}", n % 7) for n in range(3000))
    right = lines((f"k{n}", n % 7 + (n % 5 == 0)) for n in reversed(range(100, 3100)))
    sides = log(left, WORDS), log(right, WORDS)
    near = join(*sides)
    monkeypatch.setattr("playbooks.join.blocks.BLOCK", 5000)
    assert join(*sides, held=10_000) == near
    counts = near.comparison.counts
    assert (counts.matched, counts.mismatched, counts.left_only, counts.right_only) == (
        2320,
        580,
        100,
        100,
    )
    assert Counter(one.state for one in near.odd) == {
        State.MISMATCHED: KEPT,
        State.LEFT_ONLY: 100,
        State.RIGHT_ONLY: 100,
    }
    assert len(near.comparison.mismatched) == KEPT
    asked = join(*sides, trials=["k2995", "k2996"])
    assert asked.comparison.matched == {"k2996"}
    assert asked.odd[0].key == "k2995"


def test_a_full_disk_is_told_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_path: Path, _content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left") as told:
        join(log("a=1", WORDS), log("a=1", WORDS), held=0)
    assert told.value.errno == errno.ENOSPC


LEFT, RIGHT = LogSide("prefill", RowSpec(MATCH)), LogSide("decode", RowSpec(MATCH))
EDITS = [("a.py", "1" * 64), ("b.py", None)]


def test_the_detectors_identity() -> None:
    identity = detector_identity(Compare(LEFT, RIGHT), EDITS)
    assert re.fullmatch("[0-9a-f]{16}", identity)
    known = Compare(LEFT, RIGHT, known_bad=LEFT, only_trials=True)
    assert detector_identity(known, reversed(EDITS)) == identity


def test_another_detector_has_another_identity() -> None:
    others = [
        (Compare(RIGHT, LogSide("prefill", RowSpec(MATCH + "$"))), EDITS),
        (Compare(RIGHT, LEFT), EDITS),
        (Compare(LEFT, RIGHT, in_order=True), EDITS),
        (Compare(LEFT, LogSide("decode", RowSpec(MATCH, skip="x"))), EDITS),
        (Compare(LEFT, LogSide("decode", RowSpec(MATCH, value=("a", "b")))), EDITS),
        (Compare(LEFT, RIGHT), EDITS[:1]),
        (Compare(LEFT, RIGHT), [("a.py", "2" * 64), ("b.py", None)]),
        (Compare(LEFT, RIGHT), EDITS),
    ]
    assert len({detector_identity(*other) for other in others}) == len(others)
