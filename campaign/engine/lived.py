"""A restart cycle as the system lived it: what went down, for how long, and what that cost."""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from campaign.engine import outage
from campaign.engine.outage import Capacity, Span
from playbooks.hosts.processes import Health, Started, Stopped
from playbooks.system import Service

Chains = tuple[tuple[Service, ...], ...]
"""Services in parts that do not wait for each other, in start order within each."""


class CycleFailed(Exception):  # noqa: N818 - it says what happened
    """The system did not come up; `cycle` is what was lived until then."""

    def __init__(self, what: str, cycle: "Lived") -> None:
        super().__init__(what)
        self.cycle = cycle


class Lived(Struct):
    """A cycle as the system lived it; None where it did not get so far.

    `chains`: the services in parts that go through it at once, in start order within each.
    `batches` are the chains of each batch of a rollout, and `parts` the batches as they were
    lived. `ill` has since when services were down that were so as it began, `failing` when the
    availability probes failed that were asked, by their services.
    """

    services: tuple[str, ...]
    chains: Chains
    requested_at: float
    down_at: float
    ended_at: float | None = None
    stopped: dict[str, Stopped] = field(default_factory=dict)
    started: dict[str, Started] = field(default_factory=dict)
    healthy: dict[str, Health] = field(default_factory=dict)
    batches: tuple[Chains, ...] = ()
    parts: list["Lived"] = field(default_factory=list)
    ill: dict[str, float] = field(default_factory=dict)
    failing: dict[str, tuple[Span, ...]] = field(default_factory=dict)

    @property
    def killed(self) -> list[str]:
        return [name for name, stopped in self.stopped.items() if stopped.killed]

    @property
    def gone_at(self) -> float | None:
        return max((one.gone_at for one in self.stopped.values()), default=None)

    @property
    def started_at(self) -> float | None:
        return min((one.started_at for one in self.started.values()), default=None)

    @property
    def healthy_at(self) -> float | None:
        if self.healthy.keys() != {*self.services}:
            return None
        return max((one.healthy_at for one in self.healthy.values()), default=None)

    @property
    def downtime_s(self) -> float:
        """How long a service was down: by its availability probe, else none of its replicas up."""
        down, spans = self._down(), list[Span]()
        for shared, replicas in self._replicas().items():
            asked = self.failing.get(shared)
            spans += outage.of_service(replicas, down) if asked is None else asked
        return outage.length(spans)

    @property
    def capacity(self) -> Capacity | None:
        """What was lost of services that have replicas; None where none of them has."""
        down = self._down()
        among = [one for one in self._replicas().values() if len(one) > 1]
        if not among:
            return None
        spans = (down[name] for replicas in among for name in replicas if name in down)
        return Capacity(sum(map(len, among)), sum(end - start for start, end in spans))

    @property
    def batch(self) -> int:
        """How many replicas of a service went down at a time, at most; 0: all at once."""
        shared = [[one.shared for chain in batch for one in chain] for batch in self.batches]
        return max((names.count(name) for names in shared for name in names), default=0)

    def _replicas(self) -> dict[str, tuple[str, ...]]:
        """Of each service all its replicas, those too that are not in the cycle."""
        known = {one.name: one for chain in self.chains for one in chain}
        found = {one.shared: one.replicas or (one.name,) for one in known.values()}
        return found or {name: (name,) for name in self.services}

    def _down(self) -> dict[str, Span]:
        """When each service was down; of a batch that was not reached, those that were already."""
        last = self.ended_at or self.down_at
        if self.parts:
            found = {name: span for part in self.parts for name, span in part._down().items()}
            ends = {name: found[name][1] if name in found else last for name in self.ill}
            return {**found, **{name: (self.ill[name], end) for name, end in ends.items()}}
        ends = {name: one.healthy_at for name, one in self.healthy.items()}
        ends = {name: max(ends.get(name, last), self.down_at) for name in self.services}
        return {name: (self.down_at, end) for name, end in ends.items()}

    @property
    def drain_s(self) -> float:
        return self._summed(lambda one: _span(one.requested_at, one.gone_at))

    @property
    def down_s(self) -> float:
        return self._summed(lambda one: _span(one.gone_at, one.started_at))

    @property
    def warmup_s(self) -> float:
        return self._summed(lambda one: _span(one.started_at, one.healthy_at))

    def _summed(self, seconds: Callable[["Lived"], float]) -> float:
        return sum(seconds(one) for one in (self.parts if self.batches else [self]))

    def told(self) -> str:
        """Its parts in one line."""
        text = f"{len(self.batches)} batches, " if self.batches else ""
        text += f"down {self.downtime_s:.1f} s"
        text += f" by the availability of {' and '.join(self.failing)}" if self.failing else ""
        text += f": drain {self.drain_s:.1f}, down {self.down_s:.1f}, warm-up {self.warmup_s:.1f}"
        if lost := self.capacity:
            text += f"; {lost.lost_s:.1f} s of capacity lost, {lost.replicas} replicas"
        return f"{text}; killed: {', '.join(self.killed)}" if self.killed else text


def _span(start: float | None, end: float | None) -> float:
    return max(end - start, 0.0) if start is not None and end is not None else 0.0


def joined(cycles: Sequence[Lived]) -> Lived:
    """Cycles that were gone through at once, as the one that the system lived."""
    if len(cycles) == 1:
        return cycles[0]
    return Lived(
        services=tuple(name for one in cycles for name in one.services),
        chains=tuple(chain for one in cycles for chain in one.chains),
        requested_at=min(one.requested_at for one in cycles),
        down_at=min(one.down_at for one in cycles),
        ended_at=max((one.ended_at for one in cycles if one.ended_at is not None), default=None),
        stopped={name: at for one in cycles for name, at in one.stopped.items()},
        started={name: at for one in cycles for name, at in one.started.items()},
        healthy={name: at for one in cycles for name, at in one.healthy.items()},
        batches=tuple(batch for one in cycles for batch in one.batches),
        parts=[part for one in cycles for part in one.parts or [one]],
        ill={name: at for one in cycles for name, at in one.ill.items()},
        failing={name: spans for one in cycles for name, spans in one.failing.items()},
    )
