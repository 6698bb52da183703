"""Values of variables as people are shown them: one line each, and no two alike."""

import subprocess

from hypothesis import given
from hypothesis import strategies as st

from playbooks.env.values import told
from playbooks.redact import MARK, Redactor

ODD = ["", " ", "unset", "'", "$'a'", "a\nb", "a\\nb", "\t", "it's\n", '"', "é\n", "\udcff\x1b[0m"]


def test_plain_ones_are_shown_as_they_are() -> None:
    for value in ("0", "a b", "C:\\new", '{"a": 1}', "it's", "größe"):
        assert told(value) == value
    assert [told(one) for one in (None, "unset", "", "a\nb", "a\\nb")] == [
        "unset", "'unset'", "''", "$'a\\nb'", "a\\nb",
    ]  # fmt: skip


@given(st.lists(st.text(st.characters(codec="utf-8"))))
def test_no_two_are_shown_alike_and_none_drives_a_terminal(values: list[str]) -> None:
    values += ODD
    assert len({told(one) for one in values}) == len({*values})
    assert all(told(one).isprintable() for one in values)


def test_what_is_quoted_is_what_a_shell_takes() -> None:
    quoted = [one for one in ODD if told(one) != one]
    script = "".join(f"printf '%s\\0' {told(one)}\n" for one in quoted)
    said = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    assert said.decode("utf-8", "surrogateescape").split("\0")[:-1] == quoted


def test_a_secret_in_one_is_redacted() -> None:
    secret = "-----BEGIN 'KEY' \"A\\B\"-----\nMIIE\n"
    assert Redactor({"KEY": secret}).text(told(f"before {secret}after")) == f"$'before {MARK}after'"
