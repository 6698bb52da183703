"""What is done when a run fails, and whom to tell how one ended."""

from msgspec import Struct


class Capture(Struct, frozen=True):
    """A command that keeps evidence of a failure: what it prints is an artifact.

    `$MAINPID` in its environment is the main process of `service`, where that is given.
    """

    name: str
    do: tuple[str, ...]
    on: str
    cwd: str
    service: str | None = None
    timeout_s: float = 60.0


class OnFailure(Struct, frozen=True):
    """What is done before a failed run is put back: captures, logs, and a time to look around."""

    capture: tuple[Capture, ...] = ()
    collect: tuple[str, ...] = ()
    hold_s: float = 0.0


class Notice(Struct, frozen=True):
    """Whom to tell how a run ended, by `command` or at `url`, where `when` has how it did."""

    command: tuple[str, ...] = ()
    url: str = ""
    when: frozenset[str] = frozenset({"finished", "failed", "aborted", "dirty"})
