"""Drop-ins of systemd units: what is kept of a file, and what it then says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.agent.envfile import EnvFileError
from playbooks.env.dropins import edit, read, unset_names

THERE = b"""\
# ours
[Unit]
After=network.target

[Service]
Environment=A=1 "B=two words" \\
  C=3
; B is old
Environment='D=it\\'s'
UnsetEnvironment=U V
LimitNOFILE=1024
"""


def test_a_new_file_says_what_it_must() -> None:
    text = edit(None, {"A": 'x "y" 100% \\ $Z\nnext'}, ["B"])
    wanted = r"""[Service]
Environment="A=x \"y\" 100%% \\ $Z\nnext"
UnsetEnvironment=B
"""
    assert text == wanted.encode()


def test_all_else_stays() -> None:
    assert read(THERE) == {"A": "1", "B": "two words", "C": "3", "D": "it's"}
    assert unset_names(THERE) == {"U", "V"}
    assert edit(THERE, {"A": "1"}, ["U"]) == THERE
    changed = edit(THERE, {"B": "2", "U": "u"}, ["D"]).decode()
    assert changed == (
        "# ours\n[Unit]\nAfter=network.target\n\n[Service]\nEnvironment=A=1 C=3\n; B is old\n"
        "UnsetEnvironment=V\nLimitNOFILE=1024\n"
        'Environment="B=2"\nEnvironment="U=u"\nUnsetEnvironment=D\n'
    )


def test_a_section_is_begun_where_the_file_ends_in_another() -> None:
    text = b"[Service]\nEnvironment=A=1\n[Install]\nWantedBy=multi-user.target"
    assert edit(text, {"B": "2"}, ()) == text + b'\n[Service]\nEnvironment="B=2"\n'


def test_an_empty_assignment_forgets_what_came_before() -> None:
    assert read(b"[Service]\nEnvironment=A=1\nEnvironment=\nEnvironment=B=2\n") == {"B": "2"}
    assert read(b"[Unit]\nEnvironment=A=1\n") == {}


@pytest.mark.parametrize("value", ["a\0", "a\rb", "\x1b[0m", "\x7f", "\ud800", "\ufffe"])
def test_what_systemd_refuses_is_refused(value: str) -> None:
    with pytest.raises(EnvFileError, match="which systemd refuses"):
        edit(None, {"A": value}, ())


def test_an_open_quote_is_told() -> None:
    with pytest.raises(EnvFileError, match="a quote is never closed"):
        read(b'[Service]\nEnvironment="A=1\n')


@given(st.dictionaries(st.from_regex("[A-Z_]{1,4}", fullmatch=True), st.text(max_size=20)))
def test_what_was_set_is_read(values: dict[str, str]) -> None:
    try:
        text = edit(THERE, values, ())
    except EnvFileError:
        return
    assert {name: read(text)[name] for name in values} == values
    assert edit(text, values, ()) == text
    bare = edit(text, {}, values)
    assert not values.keys() & read(bare).keys()
