"""What an agent did by itself, once the lease of its operator was over, typed."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from playbooks.hosts.processes import Health, Started, Stopped


class LapseCycle(Struct, frozen=True):
    """A restart that it took, by service; `failed` says what kept it from a good end.

    `batch` is which one of a rollout it was, if any.
    """

    services: tuple[str, ...]
    requested_at: float
    stopped: Mapping[str, Stopped]
    started: Mapping[str, Started]
    healthy: Mapping[str, Health]
    batch: int | None
    failed: str


class Lapse(Struct, frozen=True):
    """The agent with the pid `agent` put back the changes of `run` by `who`, heard last at

    `heard_at`; `ended_at` is None where it did not get to its end. Seconds since the epoch.
    """

    agent: int
    run: str
    who: str
    heard_at: float
    began_at: float
    ended_at: float | None
    restored: tuple[str, ...]
    undone: tuple[str, ...]
    cycles: tuple[LapseCycle, ...]


def lapse_of(facts: Mapping[str, Any]) -> Lapse:
    """A lapse, from an agent's answer."""
    found = {**facts, "restored": tuple(facts["restored"]), "undone": tuple(facts["undone"])}
    return Lapse(**{**found, "cycles": tuple(map(_cycle, facts["cycles"]))})


def _cycle(facts: Mapping[str, Any]) -> LapseCycle:
    return LapseCycle(
        services=tuple(facts["services"]),
        requested_at=facts["requested_at"],
        stopped={name: Stopped(**one) for name, one in facts["stopped"].items()},
        started={name: Started(**one) for name, one in facts["started"].items()},
        healthy={name: Health(**one) for name, one in facts["healthy"].items()},
        batch=facts["batch"],
        failed=facts["failed"],
    )
