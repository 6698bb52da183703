"""No secret passes, however the output is cut into chunks."""

import json
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from playbooks.redact import MARK, Redactor

SECRETS = ["hush-hush", "hush-hush-hush", 'quote"d\\secret', "größer-als-acht"]
PIECES = st.sampled_from(
    [*SECRETS, *(one[:5] for one in SECRETS), *(one[3:] for one in SECRETS), "\n", "plain", "h"]
)


@settings(deadline=None, derandomize=True, max_examples=150)
@given(st.lists(PIECES, max_size=12), st.lists(st.integers(0, 60), max_size=8))
@example(["hush-hush-hush"], [9])
def test_any_chunks_give_what_the_whole_text_gives(pieces: list[str], cuts: list[int]) -> None:
    redactor = Redactor({str(at): value for at, value in enumerate(SECRETS)})
    text = "".join(pieces)
    data, stream, passed = text.encode(), redactor.stream(), b""
    edges = [0, *sorted(cuts), len(data)]
    for start, end in pairwise(edges):
        passed += stream.feed(data[start : max(start, end)])
    passed += stream.finish()
    assert passed.decode() == redactor.text(text)
    assert not any(secret in passed.decode() for secret in SECRETS)


@pytest.mark.parametrize("secret", SECRETS)
def test_inside_json_too(secret: str) -> None:
    redactor = Redactor({"A": secret})
    assert redactor.text(json.dumps({"key": secret})) == json.dumps({"key": MARK})


def test_without_secrets_everything_passes_at_once() -> None:
    stream = Redactor({}).stream()
    assert (stream.feed(b"all of it"), stream.finish()) == (b"all of it", b"")
