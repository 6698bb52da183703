"""Our reader and applier against the real `git diff` and `git apply`: same bytes or both refuse."""

import difflib
import itertools
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from playbooks import diff

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

GIT_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CEILING_DIRECTORIES": tempfile.gettempdir(),
}
ODD_LINES = [
    b"a",
    b"b",
    b"",
    b"a\r",
    b"a ",
    b"\ta",
    b"lone\rreturn",
    b"form\x0cfeed",
    b"next\x85line",
    b"\xff\xfe\x80",
    b"zero\x00byte",
    "line\u2028separator ü".encode(),
    b"-- a/f",
    b"++ b/f",
    b"@@ -1 +1 @@",
    b"diff --git a/f b/f",
    b"\\ No newline at end of file",
    b"-- ",
]

quickly = settings(
    max_examples=80,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def git(arguments: list[str], cwd: Path, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["git", *arguments],
        cwd=cwd,
        env=GIT_ENVIRONMENT,
        input=stdin,
        capture_output=True,
        check=False,
    )


def git_diff(before: bytes, after: bytes, context: int) -> bytes:
    with folder() as work:
        for side, content in (("a", before), ("b", after)):
            (work / side).mkdir()
            (work / side / "f").write_bytes(content)
        options = ["diff", "--no-index", "--no-prefix", "--text", f"-U{context}"]
        return git([*options, "a/f", "b/f"], work).stdout


def python_diff(before: bytes, after: bytes, context: int) -> bytes:
    sides = ([line + b"\n" for line in side.split(b"\n")] for side in (before, after))
    old, new = (
        [*lines[:-1], lines[-1][:-1]] if lines[-1] != b"\n" else lines[:-1] for lines in sides
    )
    lines = difflib.diff_bytes(difflib.unified_diff, old, new, b"a/f", b"b/f", n=context)
    marker = b"\n\\ No newline at end of file\n"
    return b"".join(line if line.endswith(b"\n") else line + marker for line in lines)


def git_apply(patch: bytes, content: bytes, *options: str) -> bytes | None:
    with folder() as work:
        (work / "f").write_bytes(content)
        done = git(["apply", *options, "-"], work, patch)
        return (work / "f").read_bytes() if done.returncode == 0 else None


def our_apply(patch: bytes, content: bytes) -> bytes | None:
    try:
        return diff.apply(diff.parse(patch)[0], content)
    except diff.DiffError:
        return None


def assert_agreement(patch: bytes, content: bytes) -> None:
    """Same bytes or both refuse; only hunks that land out of order are refused by us alone."""
    refused = ""
    try:
        ours = diff.apply(diff.parse(patch)[0], content)
    except diff.DiffError as error:
        ours, refused = None, str(error)
    if "above the hunk before" not in refused:
        assert ours == git_apply(patch, content), content


def joined(lines: list[bytes], newline_at_end: bool) -> bytes:
    text = b"".join(b"%b\n" % line for line in lines)
    return text if newline_at_end else text.removesuffix(b"\n")


def draw_edited(draw: st.DrawFn, lines: list[bytes], new: list[bytes]) -> list[bytes]:
    result = list(lines)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(result)))
        gone = draw(st.integers(0, 2))
        result[at : at + gone] = draw(st.lists(st.sampled_from(new), max_size=2))
    return result


@st.composite
def changes(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """A file of odd lines, before and after."""
    lines = draw(st.lists(st.sampled_from(ODD_LINES), max_size=12))
    before = joined(lines, draw(st.booleans()))
    after = joined(draw_edited(draw, lines, ODD_LINES), draw(st.booleans()))
    assume(before != after)
    return before, after


@st.composite
def moves(draw: st.DrawFn) -> tuple[bytes, bytes, bytes]:
    """A file before and after, and another base: few kinds of lines, so that many places fit."""
    repeated = st.sampled_from(ODD_LINES[: draw(st.integers(1, 2))])
    lines = draw(st.lists(repeated, min_size=4, max_size=16))
    changed = draw_edited(draw, lines, [b"a", b"b", b"new"])
    more = draw(st.lists(repeated, min_size=1, max_size=8))
    edited = draw_edited(draw, lines, [b"a", b"b", b"new"])
    base = draw(st.sampled_from([more + lines, lines + more, more + lines + more, edited]))
    assume(lines != changed)
    return joined(lines, True), joined(changed, draw(st.booleans())), joined(base, True)


Producer = Callable[[bytes, bytes, int], bytes]
producers = st.sampled_from([git_diff, python_diff])


@quickly
@given(changes(), producers, st.integers(1, 3))
def test_a_diff_makes_what_git_makes_and_its_reverse_puts_it_back(
    change: tuple[bytes, bytes], produce: Producer, context: int
) -> None:
    before, after = change
    patch = produce(before, after, context)
    assert our_apply(patch, before) == after == git_apply(patch, before)
    assert our_apply(produce(after, before, context), after) == before


@quickly
@given(moves(), producers, st.integers(1, 3))
def test_on_another_base_both_make_the_same_or_both_refuse(
    move: tuple[bytes, bytes, bytes], produce: Producer, context: int
) -> None:
    before, after, base = move
    patch = produce(before, after, context)
    assert our_apply(patch, before) == after
    assert_agreement(patch, base)


@quickly
@given(moves(), producers)
def test_a_diff_without_context_is_taken_only_where_git_makes_the_same(
    move: tuple[bytes, bytes, bytes], produce: Producer
) -> None:
    before, after, base = move
    patch = produce(before, after, 0)
    for content in (before, base):
        ours = our_apply(patch, content)
        if ours is not None:
            assert ours == git_apply(patch, content)
            assert ours == git_apply(patch, content, "--unidiff-zero")


ONE_HUNK = b"@@ -3,3 +3,3 @@\n a\n-a\n+c\n a\n"
TWO_HUNKS = b"@@ -2,3 +2,3 @@\n a\n-b\n+a\n a\n@@ -5,3 +5,3 @@\n a\n-a\n+c\n a\n"

GROWING = b"@@ -1,2 +1,4 @@\n a\n+x\n+y\n b\n@@ -4,3 +6,3 @@\n a\n-a\n+c\n a\n"


@pytest.mark.parametrize("hunks", [ONE_HUNK, TWO_HUNKS, GROWING], ids=["one", "two", "growing"])
def test_of_several_places_the_same_is_chosen(hunks: bytes) -> None:
    patch = b"--- a/f\n+++ b/f\n" + hunks
    for lines in itertools.product([b"a\n", b"b\n"], repeat=7):
        base = b"".join(lines)
        assert_agreement(patch, base)


def test_a_missing_last_newline_is_never_matched_by_a_line_that_has_one() -> None:
    patch = git_diff(b"1\n2\n3", b"1\nx\n3", 3)
    base = b"1\n2\n3\n4\n"
    assert git_apply(patch, base) == b"1\nx\n34\n", "git joins two lines here"
    assert our_apply(patch, base) is None


def test_hunks_that_would_land_out_of_order_are_refused() -> None:
    patch = (
        b"--- a/f\n+++ b/f\n@@ -5,3 +5,3 @@\n a\n-b\n+B\n c\n@@ -20,3 +20,3 @@\n x\n-y\n+Y\n z\n"
    )
    base = b"x\ny\nz\n1\na\nb\nc\n"
    assert git_apply(patch, base) == b"x\nY\nz\n1\na\nB\nc\n"
    with pytest.raises(diff.DiffError, match=r"diff:8: f: hunk 2 does not fit.* above the hunk"):
        diff.apply(diff.parse(patch)[0], base)


def write_tree(root: Path, files: dict[str, tuple[bytes, int]]) -> None:
    for name, (content, mode) in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)


def read_tree(root: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(root)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in root.rglob("*")
        if path.is_file()
    }


BEFORE = {
    "kept.py": (b"same\n", 0o644),
    "changed.py": (b"1\n2\n3\n", 0o644),
    "deep/folder/gone.py": (b"old\nlines", 0o644),
    "gone_empty": (b"", 0o644),
    "run.sh": (b"#!/bin/sh\n", 0o644),
    "with space b/and more": (b"x\r\ny\r\n", 0o755),
}
AFTER = {
    "kept.py": (b"same\n", 0o644),
    "changed.py": (b"1\nzwei\n3\n", 0o755),
    "run.sh": (b"#!/bin/sh\n", 0o755),
    "with space b/and more": (b"x\r\nz\r\n", 0o755),
    "new/made.sh": (b"#!/bin/sh\ntrue\n", 0o755),
    "new/empty": (b"", 0o644),
    'odd "quote"\tü\n\\ back': (b"no newline", 0o644),
}


def our_tree(patch: bytes, before: dict[str, tuple[bytes, int]]) -> dict[str, tuple[bytes, int]]:
    tree = dict(before)
    for file in diff.parse(patch):
        content, mode = tree.pop(file.path, (None, 0o644))
        result = diff.apply(file, content)
        if result is not None:
            tree[file.path] = (result, file.mode or mode)
    return tree


def test_a_tree_becomes_what_git_makes(tmp_path: Path) -> None:
    write_tree(tmp_path / "a", BEFORE)
    write_tree(tmp_path / "b", AFTER)
    options = ["diff", "--no-index", "--no-prefix", "--no-renames"]
    patch = git([*options, "a", "b"], tmp_path).stdout
    write_tree(tmp_path / "work", BEFORE)
    assert git(["apply", "-"], tmp_path / "work", patch).returncode == 0
    assert our_tree(patch, BEFORE) == AFTER == read_tree(tmp_path / "work")


def test_a_tree_becomes_what_diff_of_two_folders_says(tmp_path: Path) -> None:
    write_tree(tmp_path / "a", BEFORE)
    write_tree(tmp_path / "b", AFTER)
    patch = subprocess.run(
        ["diff", "-ruN", "a", "b"], cwd=tmp_path, stdout=subprocess.PIPE, check=False
    ).stdout
    made = {name: content for name, (content, _) in our_tree(patch, BEFORE).items()}
    empty = {"gone_empty": b"", "new/empty": b""}
    assert made | empty == {name: content for name, (content, _) in AFTER.items()} | empty


def test_a_formatted_commit_is_read(tmp_path: Path) -> None:
    git(["init", "--quiet"], tmp_path)
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    (tmp_path / "f").write_bytes(b"1\n2\n")
    git(["add", "f"], tmp_path)
    git([*identity, "commit", "--quiet", "-m", "first"], tmp_path)
    for text in (b"1\n3\n", b"1\n4\n"):
        (tmp_path / "f").write_bytes(text)
        git([*identity, "commit", "--quiet", "-am", "change\n\n- a list\n+ of two\n"], tmp_path)
    patch = git(["format-patch", "-1", "--stdout"], tmp_path).stdout
    assert our_apply(patch, b"1\n3\n") == b"1\n4\n"
    shown = git(["show", "HEAD"], tmp_path).stdout
    assert our_apply(shown, b"1\n3\n") == b"1\n4\n"
    both = git(["format-patch", "-2", "--stdout"], tmp_path).stdout
    with pytest.raises(diff.DiffError, match="f was changed above already"):
        diff.parse(both)
