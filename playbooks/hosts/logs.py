"""The log of a service, streamed from its host."""

from collections.abc import Iterator

from msgspec import Struct, to_builtins

from playbooks.hosts.connection import Connection
from playbooks.hosts.specs import ServiceSpec

Cursor = int | str
"""A place in a service's log: an offset in that of an embedded one, else its manager's cursor."""


class Lost(Struct, frozen=True):
    """What a log no longer had; false for nothing.

    `gap` means that it is not known how much rotated away, and `damaged` that its files are, so
    that it is not known what they held.
    """

    bytes: int = 0
    messages: int = 0
    gap: bool = False
    dropped: int = 0
    damaged: bool = False

    def __bool__(self) -> bool:
        return self.count > 0

    def __add__(self, other: "Lost") -> "Lost":
        return Lost(
            self.bytes + other.bytes,
            self.messages + other.messages,
            self.gap or other.gap,
            self.dropped + other.dropped,
            self.damaged or other.damaged,
        )

    @property
    def count(self) -> int:
        """At least how many bytes, messages or checkpoints were lost."""
        return self.bytes + self.messages + self.gap + self.dropped + self.damaged

    def __str__(self) -> str:
        said = [f"{self.bytes} bytes lost to rotation"] if self.bytes else []
        said += [f"{self.messages} messages suppressed by journald"] if self.messages else []
        said += ["its beginning rotated away"] if self.gap else []
        said += ["some of it is in damaged files"] if self.damaged else []
        said += [f"{self.dropped} checkpoints dropped by the probe"] if self.dropped else []
        return ", ".join(said)


class LogStream:
    """The whole lines of a log from a cursor up to its end when this was made, in chunks.

    Iterate once; then `next_cursor` is where to go on, `lost` says what was no longer there, and
    `truncated` that `max_bytes` left lines out.
    """

    def __init__(
        self,
        connection: Connection,
        spec: ServiceSpec,
        cursor: Cursor,
        grep: str | None = None,
        max_bytes: int | None = None,
    ) -> None:
        self._connection, self._spec, self._grep = connection, spec, grep
        self._left = max_bytes
        self.next_cursor: Cursor = cursor
        self.lost, self.truncated = Lost(), False

    def __iter__(self) -> Iterator[bytes]:
        end, done = None, False
        while not done and not self.truncated:
            facts, data = self._connection.call(
                "service_log",
                spec=to_builtins(self._spec),
                cursor=self.next_cursor,
                end=end,
                grep=self._grep,
                max_bytes=self._left,
            )
            end, done, self.next_cursor = facts["end"], facts["done"], facts["cursor"]
            self.lost += Lost(
                facts["lost_bytes"],
                facts["lost_messages"],
                facts["gap"],
                damaged=facts["damaged"],
            )
            self.truncated = facts["truncated"]
            if self._left is not None:
                self._left -= len(data)
            if data:
                yield data
