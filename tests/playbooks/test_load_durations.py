"""Durations and sizes: what is read, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playbooks.language.durations import seconds, size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("300s", 300),
        ("200ms", 0.2),
        ("15m", 900),
        ("2h", 7200),
        ("1m30s", 90),
        ("1h1m1s1ms", 3661.001),
        ("1.5s", 1.5),
        ("0s", 0),
    ],
)
def test_durations_are_read(text: str, expected: float) -> None:
    assert seconds(text) == pytest.approx(expected)


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-5s", "30s1m", "1s2s", "5d", "٣s", "1:30"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a duration with its unit"):
        seconds(text)


@given(*[st.integers(min_value=0, max_value=10**4)] * 4)
def test_a_duration_is_the_sum_of_its_parts(h: int, m: int, s: int, ms: int) -> None:
    expected = ((h * 60 + m) * 60 + s) * 1000 + ms
    assert round(seconds(f"{h}h{m}m{s}s{ms}ms") * 1000) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10MB", 10_000_000), ("64MiB", 2**26), ("512KB", 512_000), ("7", 7), ("7B", 7), ("0", 0)],
)
def test_sizes_are_read(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["", "MB", "10 MB", "10mb", "-1", "1.5GB", "10M"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="expected a size such as 10MB"):
        size(text)


@given(st.integers(min_value=0, max_value=10**14))
def test_a_size_in_bytes_is_its_number(amount: int) -> None:
    assert size(f"{amount}B") == size(f"{amount}") == amount
