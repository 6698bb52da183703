"""The reader of env files against the state machine that systemd.exec(5) describes."""

import ast
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import playbooks
from playbooks.agent.envfile import EnvFileError, parse, scan

NEWLINES, BLANKS = "\r\n", " \t"


class Machine:
    """Reads one character after another; a value ends at a newline outside of quotes."""

    def __init__(self) -> None:
        self.state = "before key"
        self.key = self.value = self.pending = ""
        self.found: dict[str, str] = {}

    def read(self, text: str) -> dict[str, str]:
        for character in text:
            getattr(self, "in_" + self.state.replace(" ", "_"))(character)
        if self.state in ("single", "double", "double escape"):
            raise EnvFileError(self.state)
        if self.state in ("before value", "value", "value escape"):
            self.end()
        return self.found

    def end(self) -> None:
        name = self.key.rstrip(BLANKS)
        name = name.split(None, 1)[1] if name.startswith(("export ", "export\t")) else name
        if name.isidentifier() and name.isascii():
            self.found[name] = self.value
        self.key = self.value = self.pending = ""
        self.state = "before key"

    def in_before_key(self, character: str) -> None:
        if character in "#;":
            self.state = "comment"
        elif character not in NEWLINES + BLANKS:
            self.state, self.key = "key", character

    def in_comment(self, character: str) -> None:
        if character in NEWLINES:
            self.state = "before key"

    def in_key(self, character: str) -> None:
        if character in NEWLINES:
            self.state, self.key = "before key", ""
        elif character == "=":
            self.state = "before value"
        else:
            self.key += character

    def in_before_value(self, character: str) -> None:
        starts = {"'": "single", '"': "double", "\\": "value escape"}
        if character in NEWLINES:
            self.end()
        elif character in starts:
            self.state = starts[character]
        elif character not in BLANKS:
            self.state = "value"
            self.value += character

    def in_value(self, character: str) -> None:
        if character in NEWLINES:
            self.end()
        elif character == "\\":
            self.value, self.pending = self.value + self.pending, ""
            self.state = "value escape"
        elif character in BLANKS:
            self.pending += character
        else:
            self.value, self.pending = self.value + self.pending + character, ""

    def in_value_escape(self, character: str) -> None:
        self.state = "value"
        self.value += "" if character in NEWLINES else character

    def in_single(self, character: str) -> None:
        if character == "'":
            self.state = "before value"
        else:
            self.value += character

    def in_double(self, character: str) -> None:
        if character == '"':
            self.state = "before value"
        elif character == "\\":
            self.state = "double escape"
        else:
            self.value += character

    def in_double_escape(self, character: str) -> None:
        self.state = "double"
        if character in '"\\`$':
            self.value += character
        elif character != "\n":
            self.value += "\\" + character


NAMES_AND_SIGNS = ["A", "b_1", "export ", "x", "ü", "-", "#", ";", "$", "`", "=", "=", "="]
QUOTES_AND_BLANKS = ["'", '"', "\\", " ", "\t", "\n", "\n", "\r", "\r\n"]
tokens = st.sampled_from(NAMES_AND_SIGNS + QUOTES_AND_BLANKS)


@settings(derandomize=True, deadline=None, max_examples=600)
@given(st.lists(tokens, max_size=25).map("".join))
def test_any_text_means_what_the_state_machine_says(text: str) -> None:
    try:
        expected = Machine().read(text)
    except EnvFileError:
        with pytest.raises(EnvFileError, match="never closed"):
            parse(text.encode())
    else:
        assert parse(text.encode()) == expected


def test_spans_cover_whole_lines() -> None:
    data = b"# c\n  A = 'x'  \r\nB=\"two\nlines\"\nC=end"
    spans = [data[found.start : found.end] for found in scan(data)]
    assert spans == [b"  A = 'x'  \r\n", b'B="two\nlines"\n', b"C=end"]
    written = [data[found.value_start : found.value_end] for found in scan(data)]
    assert written == [b" 'x'  ", b'"two\nlines"', b"end"]


def test_bytes_that_are_not_utf_8_survive() -> None:
    assert parse(b"A=\xff\xfe")["A"].encode("utf-8", "surrogateescape") == b"\xff\xfe"


def test_a_large_file_is_read_in_linear_time() -> None:
    hostile = b"A=" + b" " * 300_000 + b"x" + b" " * 300_000 + b"\\\n" + b"=" * 300_000
    started = time.process_time()
    parse(hostile)
    assert time.process_time() - started < 2


def test_the_module_needs_nothing_but_python_3_8() -> None:
    source = Path(playbooks.__file__).parent / "agent" / "envfile.py"
    ast.parse(source.read_text(encoding="utf-8"), feature_version=(3, 8))
    code = f"import sys; sys.path.insert(0, {str(source.parent)!r}); import envfile"
    subprocess.run([sys.executable, "-I", "-S", "-c", code], check=True)
