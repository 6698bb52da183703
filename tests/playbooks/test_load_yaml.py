"""Files that are no good YAML: each gets a clear line, at its place."""

import os
from pathlib import Path

import pytest
from load_workspace import said

from playbooks.language.load import LoadError, load_hypotheses
from playbooks.language.marks import MAX_BYTES, Mark, read
from playbooks.language.problems import Problem

VALID = "hypotheses:\n  mtp: {claim: it is so}\n"


def problems(tmp_path: Path, content: str | bytes) -> list[str]:
    path = tmp_path / "h.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(LoadError) as caught:
        load_hypotheses(path)
    return said(caught.value)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param("", "1:1: the file is empty", id="empty"),
        pytest.param("# only this\n", "1:1: the file is empty", id="comment"),
        pytest.param("---\n", "1:1: the file is empty", id="marker"),
        pytest.param(
            "hypotheses:\n\tmtp: {claim: a}\n",
            "2:1: a tab cannot indent YAML: use spaces",
            id="tab",
        ),
        pytest.param(
            "hypotheses:\n  mtp:\n  \tclaim: a\n",
            "3:3: a tab cannot indent YAML: use spaces",
            id="tab-after-spaces",
        ),
        pytest.param(
            VALID + "  mtp: {claim: again}\n",
            "3:3: key 'mtp' is written twice (first in line 2)",
            id="duplicate",
        ),
        pytest.param(
            "hypotheses:\n  mtp: {claim: a: b}\n",
            "2:17: a ':' is out of place: quote the text that holds it, or check the indentation",
            id="colon",
        ),
        pytest.param(
            "hypotheses: [a\n",
            "2:1: not valid YAML: expected ',' or ']', but got '<stream end>' "
            "(while parsing a flow sequence)",
            id="unclosed",
        ),
        pytest.param(
            VALID + "---\n" + VALID, "3:1: a second YAML document: write one a file", id="second"
        ),
        pytest.param(
            "hypotheses:\n  mtp: &a {claim: x}\n  idx: *a\n",
            "3:8: alias *a is refused: write its value here",
            id="alias",
        ),
        pytest.param(
            "hypotheses:\n  mtp: {claim: !!str x}\n",
            "2:16: a tag (!name) is refused: write the value alone",
            id="tag",
        ),
        pytest.param(
            "hypotheses:\n  mtp: {claim: }\n",
            "2:9: no value here: give one (in quotes where it is text) or leave it out",
            id="null",
        ),
        pytest.param(
            "hypotheses:\n  mtp: {claim: {{ x }}}\n",
            '2:16: a template must stand in quotes: "{{ name }}"',
            id="unquoted-template",
        ),
        pytest.param("? [a]\n: b\n", "1:1: a key must be plain text", id="complex-key"),
        pytest.param(
            b"hypotheses:\n  mtp: {claim: caf\xe9}\n",
            "2:19: not UTF-8: byte 0xe9 at offset 30: save the file as UTF-8",
            id="latin-1",
        ),
        pytest.param(
            b"\xef\xbb\xbf# caf\xe9\n",
            "1:6: not UTF-8: byte 0xe9 at offset 8: save the file as UTF-8",
            id="latin-1-after-bom",
        ),
        pytest.param(
            "hypotheses:\n  m\x1b: 1\n", "2:4: character U+001B is not allowed: remove it", id="esc"
        ),
        pytest.param(
            'hypotheses:\n  mtp: {claim: "a\\0b"}\n',
            "2:16: text with a NUL or half a surrogate pair: remove it",
            id="nul",
        ),
        pytest.param(
            'hypotheses:\n  mtp: {claim: "\\ud800"}\n',
            "2:16: text with a NUL or half a surrogate pair: remove it",
            id="surrogate",
        ),
        pytest.param(
            'hypotheses:\n  mtp: {claim: "\\UFFFFFFFF"}\n',
            "2:19: not valid YAML: a character is written here that does not exist",
            id="no-character",
        ),
        pytest.param("[" * 100, "1:41: not valid YAML: nested deeper than 40 levels", id="deep"),
        pytest.param("just text\n", "1:1: expected a mapping, not 'just text'", id="text"),
        pytest.param("- a\n", "1:1: expected a mapping, not a list", id="list"),
    ],
)
def test_one_clear_line(tmp_path: Path, content: str | bytes, expected: str) -> None:
    found = problems(tmp_path, content)
    assert expected in found
    if not expected.endswith(('in quotes: "{{ name }}"', "plain text")):
        assert found == [expected]


def test_an_alias_bomb_is_refused_at_once(tmp_path: Path) -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for before, name in zip("abcdefgh", "bcdefghi", strict=True):
        lines.append(f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]")
    found = problems(tmp_path, "\n".join(lines))
    assert "2:8: alias *a is refused: write its value here" in found


def test_problems_of_yaml_and_of_shape_are_reported_together(tmp_path: Path) -> None:
    found = problems(tmp_path, VALID + "  mtp: {claim: b}\n  idx: {clam: c, prior: 2}\n")
    assert found == [
        "3:3: key 'mtp' is written twice (first in line 2)",
        "4:3: missing key 'claim': A falsifiable claim about the cause.",
        "4:9: unknown key 'clam' (did you mean 'claim'?)",
        "4:25: expected a number below 1, not the number 2",
    ]


def test_a_byte_order_mark_is_no_problem(tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + VALID.encode())
    assert load_hypotheses(path)[0].claim == "it is so"


def test_carriage_returns_do_not_move_the_place(tmp_path: Path) -> None:
    found = problems(tmp_path, "hypotheses:\r\n  mtp: {claim: a, x: 1}\r\n")
    assert found[0].startswith("2:19: unknown key 'x'")


def whole(path: Path) -> str:
    with pytest.raises(LoadError) as caught:
        load_hypotheses(path)
    return str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none.yaml"
    assert whole(path) == f"{path}: there is no such file"


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert whole(tmp_path) == f"{tmp_path}: is not a regular file: name a YAML file"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    assert whole(path) == f"{path}: is not a regular file: name a YAML file"


def test_a_name_that_cannot_be_opened_is_said_with_the_reason(tmp_path: Path) -> None:
    assert "cannot be read: File name too long" in whole(tmp_path / ("x" * 300))
    assert "cannot be read: embedded null byte" in whole(tmp_path / "a\0b")


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "h.yaml"
    path.write_bytes(b"#" * (MAX_BYTES + 1))
    assert "is larger than 1 MiB" in whole(path)


def test_a_problem_shows_its_line_and_a_caret() -> None:
    problem = Problem("p.yaml", 3, 5, "unknown key 'x'", "  - x: 1")
    assert str(problem) == "p.yaml:3:5: unknown key 'x'\n    - x: 1\n      ^"


def test_the_caret_stands_right_behind_tabs_and_wide_characters() -> None:
    assert str(Problem("p", 1, 2, "w", "\tx")).splitlines()[1:] == ["          x", " " * 10 + "^"]
    assert str(Problem("p", 1, 3, "w", "変異x")).splitlines()[1:] == ["  変異x", "      ^"]


def test_a_long_line_is_cut_around_the_place() -> None:
    lines = str(Problem("p", 1, 5001, "w", "a" * 5000 + "b" * 5000)).splitlines()
    assert max(map(len, lines)) < 300
    assert lines[1][lines[2].index("^")] == "b"


def test_a_file_that_is_read_again_is_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "twice.yaml"
    path.write_text("a: &x 1\n", encoding="utf-8")
    first = read(path)
    first.refuse(Mark(1, 1), "not this")
    assert read(path).problems == []
    path.write_text("b: 2\nb: 3\n", encoding="utf-8")
    again = [read(path), read(path)]
    assert [one.root.get("b").scalar for one in again] == [2, 2]
    assert [len(one.problems) for one in again] == [1, 1]
