"""A host: all that can be asked of the agent there, typed."""

from types import TracebackType
from typing import Any, Self

from msgspec import Struct

from playbooks.hosts.connection import Channel, Connection
from playbooks.hosts.files import Change, FileVerbs
from playbooks.hosts.processes import ProcessVerbs
from playbooks.hosts.stack import StackVerbs
from playbooks.hosts.survey import SurveyVerbs
from playbooks.hosts.testimony import TestimonyVerbs
from playbooks.system import LEASE_S

__all__ = ["Change", "Greeting", "Host", "Outstanding"]

BEATS = 5
"""How often an agent hears of its operator, at least, in the time that its lease lasts."""

_BEAT_EVERY_S = 15.0


class Outstanding(Struct, frozen=True):
    """How much an earlier run left to put back (`entries`, `commands`) or to restart (`traces`).

    `kept` counts the runs that keep changes on purpose, and `undecided` those of them that were
    interrupted on the way there or back.
    """

    entries: int
    commands: int
    traces: int
    restarting: int
    run: str
    who: str
    kept: int
    undecided: int

    def __bool__(self) -> bool:
        left = self.entries or self.commands or self.traces or self.restarting or self.undecided
        return bool(left)


class Greeting(Struct, frozen=True):
    """What the agent said of itself and its host.

    `clock` is in seconds since the epoch, `boot_clock` since boot `boot_id`; `reaped` are the
    processes of a dead agent that taking the lock ended; `lapsed_agents` the pids of agents whose
    lease was over, and who put the host back by themselves.
    """

    version: int
    python: str
    hostname: str
    pid: int
    boot_id: str
    clock: float
    boot_clock: float
    reaped: tuple[int, ...]
    outstanding: Outstanding
    lapsed_agents: tuple[int, ...]
    durable_calls: int


class Host(FileVerbs, StackVerbs, ProcessVerbs, SurveyVerbs, TestimonyVerbs):
    """An open connection to a host's agent. Its methods may be called from any thread."""

    def __init__(self, connection: Connection, who: str, greeting: Greeting) -> None:
        self.connection = connection
        self.who = who
        self.greeting = greeting

    @classmethod
    def open(
        cls,
        channel: Channel,
        *,
        lock: bool,
        who: str,
        run: str,
        name: str = "",
        lease_s: float = LEASE_S,
        takes_over: bool = False,
    ) -> Self:
        """Greets the agent behind `channel`; with `lock`, holds the host until closed.

        `name` is what the host is called where its agent is lost. Where we are not heard for
        `lease_s`, or gone that long, the agent puts the host back by itself. With `takes_over`
        one that waits for another operator makes way.

        HostError kinds: "locked" (detail: who, pid, since, run of the holder), "no-journal",
        "journal-damaged", "journal-newer". The channel is closed where this fails.
        """
        connection = Connection(channel, name)
        try:
            header, _ = connection.call(
                "hello", lock=lock, who=who, run=run, lease_s=lease_s, takes_over=takes_over
            )
        except BaseException:
            connection.close()
            raise
        if lock:
            connection.keep_alive(min(lease_s / BEATS, _BEAT_EVERY_S))
        return cls(connection, who, _greeting(header))

    @property
    def lost(self) -> bool:
        """Whether the agent is gone: every call raises HostLost from now on."""
        return self.connection.lost

    def clock(self) -> float:
        """The host's time, in seconds since the epoch."""
        return float(self.connection.call("clock")[0]["clock"])

    def boot_clock(self) -> float:
        """Seconds since the host's boot, as journal entries count them."""
        return float(self.connection.call("clock")[0]["boot_clock"])

    def close(self) -> None:
        """Ends the agent and what it spawned; services go on. May be called twice."""
        self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _greeting(header: dict[str, Any]) -> Greeting:
    facts = {name: header[name] for name in Greeting.__struct_fields__}
    facts.update(reaped=tuple(header["reaped"]), outstanding=Outstanding(**header["outstanding"]))
    facts.update(lapsed_agents=tuple(header["lapsed_agents"]))
    return Greeting(**facts)
