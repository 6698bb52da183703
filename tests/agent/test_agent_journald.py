"""The order of a journal's messages, whatever the clock says; the rest is tested on real ones."""

import pytest

from playbooks.agent.journald import is_after

EARLY, LATE = "t=66177a7417dc9", "t=66177a9b00000"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"s=a;i=9;b=c;m=10;{LATE};x=1", f"s=a;i=10;b=c;m=20;{EARLY};x=2"),
        (f"s=a;i=9;b=c;m=10;{LATE};x=1", f"s=d;i=1;b=c;m=20;{EARLY};x=2"),
        (f"s=a;i=9;b=c;m=20;{EARLY};x=1", f"s=d;i=1;b=e;m=10;{LATE};x=2"),
        ("", f"s=a;i=1;b=c;m=1;{EARLY};x=1"),
    ],
    ids=["by number", "by the time since boot", "by the clock", "after nothing"],
)
def test_a_message_comes_after_another(before: str, after: str) -> None:
    assert is_after(after, before)
    assert not is_after(before, after)
    assert not is_after(after, after)
