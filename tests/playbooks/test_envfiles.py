"""Editing env files: what changes, what stays, and what systemd and a shell read afterwards."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from playbooks.env.env_files import EnvFileError, edit, read

FILE = b"""# the engine
HOST=127.0.0.1

export PORT='30000'
; another comment
EXTRA = "a b"  'c' d # not a comment
HOST=0.0.0.0
"""

names = st.sampled_from(["A", "B", "_C1", "HOST", "LD_PRELOAD"])
values = st.text(st.characters(exclude_characters="\0\r\n", codec="utf-8"), max_size=12)
tricky_values = st.lists(
    st.sampled_from(
        ["'", '"', "\\", "$HOME", "`id`", "%h", " ", "\t", "#", "=", "ü", "\udcff", "x"]
    ),
    max_size=6,
).map("".join)
settings_of_names = st.dictionaries(names, values | tricky_values, max_size=4)
lines = st.sampled_from(
    [
        b"# comment",
        b"# comment \\",
        b"; comment",
        b"",
        b"  A = 1  ",
        b"A='x y' \"z\"",
        b"export B=2",
        b"B=two \\",
        b'_C1="multi\nline"',
        b"HOST=\\",
        b"not an assignment",
        b"my-name='a\nA=no'",
        b"=A=1",
        b"LD_PRELOAD=\xff\xfe",
    ]
)
files = st.tuples(
    st.lists(lines, max_size=8), st.sampled_from([b"\n", b"\r\n"]), st.booleans()
).map(lambda parts: parts[1].join(parts[0]) + (parts[1] if parts[2] else b""))


def test_a_file_is_read() -> None:
    assert read(FILE) == {"HOST": "0.0.0.0", "PORT": "30000", "EXTRA": "a bcd # not a comment"}


def test_a_changed_variable_stays_in_its_place_and_the_last_of_several_counts() -> None:
    changed = edit(FILE, {"PORT": "30001", "HOST": "::1", "EXTRA": "it's $5"}, [])
    expected = (
        FILE.replace(b"'30000'", b"30001")
        .replace(b"0.0.0.0", b"::1")
        .replace(b""" "a b"  'c' d # not a comment""", b'"it\'s \\$5"')
    )
    assert changed == expected


def test_new_variables_are_appended_and_unset_ones_are_gone_everywhere() -> None:
    changed = edit(FILE, {"NEW": "a b", "OLD": "1"}, ["HOST", "ABSENT"])
    kept = [line for line in FILE.splitlines(keepends=True) if not line.startswith(b"HOST")]
    assert changed == b"".join(kept) + b"NEW='a b'\nOLD=1\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, b"N=1\n"),
        (b"", b"N=1\n"),
        (b"A=1", b"A=1\nN=1\n"),
        (b"A=1\r\nB=2", b"A=1\r\nB=2\r\nN=1\r\n"),
        (b"A=b\\", b"A=b\\\n\nN=1\n"),
        (b"A=b\\\n", b"A=b\\\n\nN=1\n"),
        (b"# c\\\n", b"# c\\\n\nN=1\n"),
        (b"export N=0\n", b"export N=1\n"),
        (b"N=0", b"N=1"),
        (b'N="two\nlines"\nM=1\n', b"N=1\nM=1\n"),
        (b"N=one \\\n two\nM=1\n", b"N=1\nM=1\n"),
    ],
)
def test_the_edge_of_a_file(text: bytes | None, expected: bytes) -> None:
    assert edit(text, {"N": "1"}, []) == expected


def test_nothing_to_change_gives_the_same_bytes() -> None:
    assert edit(FILE, {"HOST": "0.0.0.0", "PORT": "30000"}, ["ABSENT"]) == FILE
    assert edit(None, {}, ["ABSENT"]) == b""


@pytest.mark.parametrize(
    ("change", "unset", "message"),
    [
        ({"A": "x\ny"}, [], r"A: its value holds '\n'"),
        ({"A": "x\r"}, [], r"A: its value holds '\r'"),
        ({"A": "\0"}, [], r"A: its value holds '\x00'"),
        ({"A": "\ud800"}, [], "A: its value holds half a surrogate pair"),
        ({"1A": "x"}, [], "'1A' is no variable name"),
        ({"A\n": "x"}, [], r"'A\n' is no variable name"),
        ({"Ä": "x"}, [], "'Ä' is no variable name"),
        ({}, [""], "'' is no variable name"),
        ({"A": "x"}, ["A"], "A is both set and unset"),
    ],
)
def test_what_no_line_can_hold_is_refused(
    change: dict[str, str], unset: list[str], message: str
) -> None:
    with pytest.raises(EnvFileError) as refused:
        edit(FILE, change, unset)
    assert str(refused.value).startswith(message)
    assert str(refused.value).isprintable()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"A=1\r\nB='x\nC=1\n", "line 2: the quote is never closed"),
        (b'A=1\n\nB="x\\"', "line 3: the quote is never closed"),
        (b"A='x' \"", "line 1: the quote is never closed"),
        (b"A=1\nB=\0\n", "line 2: a NUL byte"),
    ],
)
def test_a_broken_file_is_refused(text: bytes, message: str) -> None:
    for attempt in (read, lambda broken: edit(broken, {"Z": "1"}, [])):
        with pytest.raises(EnvFileError, match=message):
            attempt(text)


@settings(derandomize=True, deadline=None, max_examples=200)
@given(files, settings_of_names, st.sets(names, max_size=3))
@example(b"A=1\\", {"B": "2"}, set())
def test_an_edit_does_what_it_says_and_no_more(
    text: bytes, change: dict[str, str], unset: set[str]
) -> None:
    unset -= change.keys()
    before = read(text)
    after = edit(text, change, unset)
    expected = {name: value for name, value in before.items() if name not in unset} | change
    assert read(after) == expected
    if expected == before:
        assert after == text
    assert edit(after, change, unset) == after
    one_line = {name: value for name, value in before.items() if "\n" not in value}
    assert one_line.items() <= read(edit(after, one_line, [])).items()


@settings(derandomize=True, deadline=None, max_examples=200)
@given(st.lists(names | st.sampled_from(["# c", "", "no name"]), max_size=8), names)
def test_untouched_lines_stay_byte_for_byte(kinds: list[str], changed: str) -> None:
    old = [f"{kind}={number}\n" for number, kind in enumerate(kinds)]
    text = "".join(old).encode()
    new = edit(text, {changed: "new value"}, []).decode().splitlines(keepends=True)
    differing = [number for number, line in enumerate(old) if new[number] != line]
    assert len(differing) + len(new) - len(old) == 1
    assert all(kinds[number] == changed for number in differing)


def test_a_shell_reads_the_same_values(tmp_path: Path) -> None:
    wanted = {
        "PLAIN": "/opt/x:y@z%h,+-=1",
        "SPACES": "  two  words ",
        "QUOTE": "it's",
        "BOTH": 'it\'s "5$" `now` \\ \\n',
        "DOLLAR": "$HOME ${HOME} $(id)",
        "HASH": "#no comment",
        "EMPTY": "",
        "UNICODE": "grün \u2028",
        "TILDE": "~/x *",
    }
    (tmp_path / "env").write_bytes(edit(None, wanted, []))
    script = "set -a; . ./env; exec env -0"
    shell = subprocess.run(["sh", "-c", script], cwd=tmp_path, capture_output=True, check=True)
    seen = dict(line.split("=", 1) for line in shell.stdout.decode().rstrip("\0").split("\0"))
    assert {name: seen[name] for name in wanted} == wanted == read(edit(None, wanted, []))
