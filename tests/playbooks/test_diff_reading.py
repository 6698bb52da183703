"""What the reader of diffs takes, and what it refuses with one clear line."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playbooks import diff

HUNK = "@@ -1,2 +1,2 @@\n a\n-b\n+c\n"
PLAIN = f"--- a/f\n+++ b/f\n{HUNK}"
MARKER = "\\ No newline at end of file\n"


def git(names: str, *headers: str, body: str = "") -> str:
    return "".join(f"{line}\n" for line in (f"diff --git {names}", *headers)) + body


def refusal(text: str | bytes, strip: int = 1) -> str:
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.raises(diff.DiffError) as refused:
        diff.parse(data, strip=strip, name="p.diff")
    message = str(refused.value)
    assert message.isprintable()
    return message


def one(text: str, strip: int = 1) -> diff.FilePatch:
    (patch,) = diff.parse(text.encode(), strip=strip, name="p.diff")
    return patch


NO_FILE = "p.diff: no --- and +++ lines: give a unified diff"
NO_NAMES = "this hunk belongs to no file"
UNCOUNTED = "no hunk counts this line"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", NO_FILE),
        ("hello\nworld\n", NO_FILE),
        (bytes(range(256)), NO_FILE),
        (PLAIN.encode("utf-16"), NO_FILE),
        ("--- a/f\n+++ b/f\n", "p.diff:3: the diff ends where a hunk should be"),
        ("--- a/f\n+++ b/f\ntext\n", "p.diff:3: a hunk should be here"),
        ("--- a/f\n+++ b/f\n@@ -0,0 +0,0 @@\n", "p.diff:3: a hunk should be here"),
        (HUNK, f"p.diff:1: {NO_NAMES}"),
        (f"-- a/f\n+++ b/f\n{HUNK}{PLAIN}", f"p.diff:3: {NO_NAMES}"),
        (f"{PLAIN}\n{HUNK}", f"p.diff:8: {NO_NAMES}"),
        (PLAIN.replace("+1,2", "+1,1"), f"p.diff:6: {UNCOUNTED}"),
        (PLAIN + "+d\n", f"p.diff:7: {UNCOUNTED}"),
        (PLAIN + HUNK[1:], f"p.diff:7: {UNCOUNTED}"),
        (PLAIN + "-- \n", f"p.diff:7: {UNCOUNTED}"),
        (PLAIN + "\n" + MARKER, f"p.diff:8: {UNCOUNTED}"),
        (PLAIN.replace("-1,2", "-1,5"), "p.diff:6: hunk is shorter than expected"),
        (PLAIN.replace("-1,2 +1,2", "-1,1 +1,2"), "p.diff:5: hunk is longer than expected"),
        (PLAIN[:-3], "p.diff:5: hunk is shorter than expected"),
        (PLAIN.replace("-1,2", "-x"), "p.diff:3: not a hunk header"),
        (PLAIN.replace("-1,2", "-" + "9" * 5000), "p.diff:3: not a hunk header"),
        ("--- a/f\n+++ b/f\n@@ -1 +1 @@\n a\n", "p.diff:3: the hunk changes nothing"),
        (PLAIN.replace(" a\n", f" a\n{MARKER}"), "p.diff:3: a line without newline"),
        (PLAIN.replace(" a\n", f"{MARKER} a\n"), "p.diff:3: a line without newline"),
        ("--- a/f\n+++ b/f\n@@ -5,0 +6 @@\n+b\n", "p.diff:3: the hunk has no context lines"),
    ],
)
def test_what_is_no_exact_diff_is_refused(text: str | bytes, message: str) -> None:
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("diff --cc f\n--- a/f\n+++ b/f\n@@@ -1 -1 +1 @@@\n", "p.diff:1: a combined diff"),
        (git("a/f b/f", "index 1..2 100644", "GIT binary patch"), "p.diff:3: a binary patch"),
        (git("a/f b/f", "Binary files a/f and b/f differ"), "p.diff:2: a binary file"),
        (f"Binary files a/x and b/x differ\n{PLAIN}", "p.diff:1: a binary file"),
        (f"{PLAIN}Only in b: new\n", "p.diff:7: a file of one side is left out"),
        (git("a/f b/g", "similarity index 90%", "rename from f"), "p.diff:3: a rename: split it"),
        (git("a/f b/g", "similarity index 90%", "copy from f"), "p.diff:3: a copy"),
        (git("a/l b/l", "new file mode 120000"), "p.diff:1: a symbolic link"),
        (git("a/l b/l", "index 1234..5678 120000", body=PLAIN), "p.diff:1: a symbolic link"),
        (git("a/l b/l", "deleted file mode 160000"), "p.diff:1: a submodule"),
        (git("a/f b/f", "old mode 100644", "new mode 7"), "p.diff:1: a file of mode 7"),
        (git("a/f b/f", "index 1..2"), "p.diff:1: f is not changed"),
        (git("a/x y b/z", "old mode 100644"), "p.diff:1: one file name is needed"),
        (git("a/f b/f", "new file mode 100644", body=PLAIN), "p.diff:1: its header and its ---"),
        (git("a/g b/g", "index 1..2", body=PLAIN), "p.diff:1: one file name is needed"),
        (git("a/f b/f", body=HUNK), "p.diff:2: unexpected hunk found"),
    ],
)
def test_what_is_no_change_of_a_regular_file_is_refused(text: str, message: str) -> None:
    assert refusal(text).startswith(message)


@pytest.mark.parametrize(
    ("old", "new", "strip", "message"),
    [
        ("a/../f", "b/../f", 1, "a/../f leaves its root"),
        ("../f", "../f", 1, "../f leaves its root"),
        ("/etc/f", "/etc/f", 1, "/etc/f leaves its root"),
        ("f", "f", 1, "f names no file with strip 1"),
        ("a/f", "b/f", 2, "a/f names no file with strip 2"),
        ("a/f/", "b/f/", 1, "a/f/ names no file with strip 1"),
        ("a/./", "b/.", 1, "a/./ names no file"),
        ('"a/\\000"', '"b/\\000"', 1, "a/\\x00 holds a NUL byte"),
        ("a/f", "b/g", 1, "one file name is needed, found f and g"),
        ('"a/\\033\\n"', "b/g", 1, "one file name is needed, found \\x1b\\n and g"),
        ("a/f", "b/f", 0, "one file name is needed, found a/f and b/f"),
        ("/dev/null", "/dev/null", 1, "one file name is needed, found none"),
        ("/dev/null", "b/f", 1, "new file f has old lines"),
        ("a/f", "/dev/null", 1, "deleted file f keeps lines"),
    ],
)
def test_bad_names_are_refused(old: str, new: str, strip: int, message: str) -> None:
    text = f"--- {old}\n+++ {new}\n{HUNK}"
    assert refusal(text, strip).startswith(f"p.diff:1: {message}")


def test_a_file_named_twice_is_refused() -> None:
    again = PLAIN.replace("/f", "/./f")
    assert refusal(PLAIN + again).startswith("p.diff:7: f was changed above already")


@pytest.mark.parametrize(
    ("old", "new", "strip", "path"),
    [
        ("a/f", "b/f", 1, "f"),
        ("i/deep/f", "w/deep/f", 1, "deep/f"),
        ("a/f", "a/f", 0, "a/f"),
        ("x/y/z/f", "u/v/w/f", 3, "f"),
        ("a//b/./f", "b/b/f", 1, "b/f"),
        ("a/with space\t", "b/with space\t", 1, "with space"),
        ("a/f\t2024-05-01 10:00:00.5 +0200", "b/f\t2024-05-01 10:00:01", 1, "f"),
        ('"a/\\303\\274\\t\\"\\\\"', '"b/\\303\\274\\t\\"\\\\"', 1, 'ü\t"\\'),
        ('"a/\\377"', '"b/\\377"', 1, "\udcff"),
        ("a/ü", "b/ü", 1, "ü"),
    ],
)
def test_names(old: str, new: str, strip: int, path: str) -> None:
    patch = one(f"--- {old}\n+++ {new}\n{HUNK}", strip)
    assert (patch.old, patch.new, patch.path) == (path, path, path)


@pytest.mark.parametrize(
    ("names", "path"),
    [
        ("a/f b/f", "f"),
        ("a/x y b/x y", "x y"),
        ("a/x b/x b/x b/x", "x b/x"),
        ('"a/\\303\\274" "b/\\303\\274"', "ü"),
    ],
)
def test_names_of_a_git_header_alone(names: str, path: str) -> None:
    patch = one(git(names, "old mode 100644", "new mode 100755"))
    assert (patch.path, patch.mode, patch.hunks) == (path, 0o755, ())


def test_modes() -> None:
    added = "--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"
    assert one(git("a/f b/f", "new file mode 100755", body=added)).mode == 0o755
    assert one(git("a/f b/f", "new file mode 100644", body=added)).mode == 0o644
    assert one(git("a/f b/f", "index 12..34 100755", body=PLAIN)).mode is None
    assert one(PLAIN).mode is None


def test_new_and_deleted_files() -> None:
    empty = one(git("a/f b/f", "new file mode 100644", "index 0000000..e69de29"))
    assert (empty.old, empty.new, empty.hunks) == (None, "f", ())
    gone = one(git("a/f b/f", "deleted file mode 100644", "index e69de29..0000000"))
    assert (gone.old, gone.new) == ("f", None)
    epoch = "1969-12-31 19:00:00.000000000 -0500"
    added = one(f"--- a/f\t{epoch}\n+++ b/f\t2024-05-01 10:00:00 +0000\n@@ -0,0 +1 @@\n+x\n")
    assert (added.old, added.new) == (None, "f")
    not_epoch = "1970-01-01 00:00:00 +0100"
    kept = one(f"--- a/f\t{not_epoch}\n+++ b/f\n@@ -1 +1 @@\n-x\n+y\n")
    assert (kept.old, kept.new) == ("f", "f")


def test_lines_that_look_like_headers_belong_to_their_hunk() -> None:
    body = "@@ -1,4 +1,4 @@ section\n a\n--- x\n+++ y\n b\n-@@ -1 +1 @@\n+\\ No newline\n"
    patch = one(f"--- a/f\n+++ b/f\n{body}")
    (hunk,) = patch.hunks
    assert hunk.old == (b"a\n", b"-- x\n", b"b\n", b"@@ -1 +1 @@\n")
    assert hunk.new == (b"a\n", b"++ y\n", b"b\n", b"\\ No newline\n")
    assert (hunk.line, hunk.leading, hunk.trailing) == (3, 1, 0)


def test_text_around_the_files_is_passed_over() -> None:
    mail = "From 0123456789 Mon Sep 17\nSubject: x\n\n- item\n---\n f | 2 +-\n\n"
    other = PLAIN.replace("/f", "/g")
    text = f"{mail}{PLAIN}\nIndex: g\n=====\ndiff -u a/g b/g\n{other}-- \n2.39.5\n\n"
    patches = diff.parse(text.encode())
    assert [(patch.path, patch.line) for patch in patches] == [("f", 8), ("g", 18)]


def test_a_diff_may_lack_its_last_newline_and_the_blank_of_an_empty_context_line() -> None:
    text = "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n\n-b\n+c"
    assert diff.apply(one(text), b"a\n\nb\n") == b"a\n\nc\n"


def test_a_diff_with_dos_line_ends_fits_a_file_with_dos_line_ends() -> None:
    patch = one(git("a/f b/f", "index 12..34 100644", body=PLAIN).replace("\n", "\r\n"))
    assert diff.apply(patch, b"a\r\nb\r\n") == b"a\r\nc\r\n"


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *PLAIN.encode().splitlines(keepends=True),
                b"diff --git a/f b/f\n",
                b"new file mode 100755\n",
                b"deleted file mode 100644\n",
                b"old mode 100644\n",
                b"--- /dev/null\n",
                b"+++ /dev/null\n",
                b"@@ -0,0 +1 @@\n",
                b"@@ -1 +0,0 @@\n",
                MARKER.encode(),
                b"\n",
                b"-- \n2.39\n",
                b"From 0123456789\n",
                b"\xff\x00\r",
            ]
        ),
        max_size=12,
    )
)
def test_any_shuffle_of_lines_is_read_or_refused_in_one_line(lines: list[bytes]) -> None:
    try:
        patches = diff.parse(b"".join(lines))
    except diff.DiffError as error:
        message = str(error)
    else:
        assert patches
        message = ""
    assert message.isprintable()
