"""Where hunks go, what is said when they do not fit, and how a change is shown."""

import pytest

from playbooks import diff

TEN = b"".join(b"%d\n" % number for number in range(1, 11))
FIVE = b"@@ -4,3 +4,3 @@\n 4\n-5\n+five\n 6\n"


def patch(hunks: bytes, old: bytes = b"a/f", new: bytes = b"b/f") -> diff.FilePatch:
    data = b"--- %b\n+++ %b\n%b" % (old, new, hunks)
    return diff.parse(data, name="p.diff")[0]


def misfit(change: diff.FilePatch, content: bytes | None) -> str:
    with pytest.raises(diff.DiffError) as refused:
        diff.apply(change, content)
    message = str(refused.value)
    assert message.isprintable()
    return message.removesuffix(": make the diff again from the file as it is")


def test_a_hunk_is_found_at_an_offset() -> None:
    shifted = b"new\nlines\n" + TEN
    assert diff.apply(patch(FIVE), shifted) == shifted.replace(b"5", b"five")
    assert diff.apply(patch(FIVE), TEN[4:]) == TEN[4:].replace(b"5", b"five")


def test_the_nearest_place_wins_and_the_later_of_two_as_near() -> None:
    block = b"4\n5\n6\n"
    change = patch(FIVE)
    assert diff.apply(change, block + b"-\n" + block) == block + b"-\n4\nfive\n6\n"
    twice = b"-\n-\n" + block + b"-\n" + block
    assert diff.apply(change, twice) == b"-\n-\n4\nfive\n6\n-\n" + block
    around = block + b"-\n-\n-\n" + block
    assert diff.apply(change, around) == block + b"-\n-\n-\n4\nfive\n6\n", "3 lines off, both"


def test_the_place_is_counted_in_the_file_as_changed_so_far() -> None:
    two = b"@@ -1,2 +1,3 @@\n+0\n 1\n 2\n@@ -9,2 +10,3 @@\n 9\n+nine and a half\n 10\n"
    assert diff.apply(patch(two), TEN) == b"0\n" + TEN[:-3] + b"nine and a half\n10\n"


def test_bytes_survive() -> None:
    content = b"\xff\x00\r\x0c\x85\r\n1\r\n\xe2\x80\xa8"
    change = patch(
        b"@@ -1,3 +1,3 @@\n \xff\x00\r\x0c\x85\r\n-1\r\n+2\x0b\r\n \xe2\x80\xa8\n"
        b"\\ No newline at end of file\n"
    )
    assert diff.apply(change, content) == content.replace(b"1\r", b"2\x0b\r")


def test_new_deleted_and_emptied_files() -> None:
    made = patch(b"@@ -0,0 +1 @@\n+x\n", old=b"/dev/null")
    assert diff.apply(made, None) == b"x\n"
    gone = patch(b"@@ -1 +0,0 @@\n-x\n", new=b"/dev/null")
    assert diff.apply(gone, b"x\n") is None
    assert diff.apply(patch(b"@@ -1 +0,0 @@\n-x\n"), b"x\n") == b""
    filled = patch(b"@@ -0,0 +1 @@\n+x\n")
    assert diff.apply(filled, b"") == diff.apply(filled, None) == b"x\n"


@pytest.mark.parametrize("content", [b"", b"x\n"])
def test_a_new_file_that_is_there_is_refused(content: bytes) -> None:
    made = patch(b"@@ -0,0 +1 @@\n+x\n", old=b"/dev/null")
    assert misfit(made, content).startswith("p.diff:1: f: the diff makes it a new file")


def test_a_file_that_is_not_there_is_refused() -> None:
    assert misfit(patch(FIVE), None).startswith("p.diff:1: f: there is no such file")
    (gone,) = diff.parse(b"diff --git a/f b/f\ndeleted file mode 100644\n")
    assert misfit(gone, None).startswith("diff:1: f: there is no such file")


def test_a_deleted_file_with_other_contents_is_refused() -> None:
    gone = patch(b"@@ -1,2 +0,0 @@\n-x\n-y\n", new=b"/dev/null")
    where = "p.diff:3: f: hunk 1 does not fit: "
    assert misfit(gone, b"x\nz\n") == where + r"line 2 should be 'y\n', and is 'z\n'"
    assert (
        misfit(gone, b"x\ny\nz\n") == where + r"line 3 should be the end of the file, and is 'z\n'"
    )
    (empty,) = diff.parse(b"diff --git a/f b/f\ndeleted file mode 100644\n")
    assert misfit(empty, b"x\n") == "diff:1: f: it holds more than the diff deletes"
    assert diff.apply(empty, b"") is None


@pytest.mark.parametrize(
    ("content", "difference"),
    [
        (TEN.replace(b"5", b"V"), r"line 5 should be '5\n', and is 'V\n'"),
        (TEN.replace(b"5\n", b"5\r\n"), r"line 5 should be '5\n', and is '5\r\n'"),
        (TEN.replace(b"6", b"\x1b\xff"), r"line 6 should be '6\n', and is '\x1b\udcff\n'"),
        (b"1\n2\n3\n4\n5\n", r"line 3 should be '4\n', and is '3\n'"),
        (b"4\n5\n6", r"line 3 should be '6\n', and is '6'"),
        (b"4\n5\n", r"line 3 should be '6\n', and is the end of the file"),
        (b"", r"line 1 should be '4\n', and is the end of the file"),
    ],
)
def test_a_misfit_says_what_is_expected_and_what_is_there(content: bytes, difference: str) -> None:
    assert misfit(patch(FIVE), content) == f"p.diff:3: f: hunk 1 does not fit: {difference}"


def test_the_line_of_a_misfit_is_the_one_of_the_file_before() -> None:
    two = b"@@ -1,2 +1,4 @@\n+0\n+0\n 1\n 2\n@@ -9,2 +11,2 @@\n 9\n-ten\n+zehn\n"
    where = "p.diff:8: f: hunk 2 does not fit: "
    assert misfit(patch(two), TEN) == where + r"line 10 should be 'ten\n', and is '10\n'"


def test_long_lines_are_cut_in_messages() -> None:
    assert len(misfit(patch(FIVE), TEN.replace(b"5", b"x" * 10_000))) < 200


def test_a_hunk_at_the_first_line_fits_nowhere_else() -> None:
    first = patch(b"@@ -1,2 +1,2 @@\n-1\n+one\n 2\n")
    assert diff.apply(first, TEN) == b"one\n" + TEN[2:]
    assert "line 1 should be" in misfit(first, b"0\n" + TEN)


def test_a_hunk_without_trailing_context_fits_only_at_the_end() -> None:
    last = patch(b"@@ -9,2 +9,2 @@\n 9\n-10\n+ten\n")
    assert diff.apply(last, b"0\n" + TEN) == b"0\n" + TEN[:-3] + b"ten\n"
    assert r"line 10 should be '9\n', and is '10\n'" in misfit(last, TEN + b"11\n")


def test_hunks_may_not_overlap() -> None:
    twice = patch(FIVE + b"@@ -6,3 +6,3 @@\n 6\n-7\n+seven\n 8\n")
    assert misfit(twice, TEN) == "p.diff:8: f: hunk 2 does not fit: it overlaps the hunk before"


def test_a_header_far_beyond_the_file_is_quick() -> None:
    far = patch(FIVE.replace(b"-4,3 +4,3", b"-999999999,3 +999999999,3"))
    assert diff.apply(far, TEN) == TEN.replace(b"5", b"five")


def test_unified_shows_a_change() -> None:
    assert diff.unified(TEN, TEN, "f") == ""
    shown = diff.unified(b"1\n2\r\n\xff\x1b[2J\n", b"1\n2\n\xff\x1b[2J", "x y")
    assert shown == (
        "--- a/x y\n+++ b/x y\n@@ -1,3 +1,3 @@\n 1\n-2\\r\n-\\xff\\x1b[2J\n+2\n"
        "+\\xff\\x1b[2J\n\\ No newline at end of file\n"
    )


def test_unified_shows_absent_empty_and_binary_files() -> None:
    assert diff.unified(None, b"a\n", "f") == "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+a\n"
    assert diff.unified(b"a\n", None, "f") == "--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    assert diff.unified(None, b"", "f") == "--- /dev/null\n+++ b/f\n"
    assert diff.unified(b"\0" * 123, b"x" * 140, "f") == "f: binary, 123 -> 140 bytes\n"
    assert diff.unified(None, b"\0", "f\n") == "f\\n: binary, absent -> 1 bytes\n"


def test_what_unified_shows_of_plain_text_can_be_applied() -> None:
    before, after = TEN, TEN.replace(b"5", b"five").removesuffix(b"\n")
    (change,) = diff.parse(diff.unified(before, after, "f").encode())
    assert diff.apply(change, before) == after
