"""What a restart cycle took: of one service, of replicas at once and in batches, by a probe."""

import pytest

from campaign.engine.lived import Lived
from campaign.engine.outage import Capacity, common, length
from playbooks.hosts.processes import Health
from playbooks.system import ProcessSpec, Service

NAMES = ("api@a", "api@b", "api@c")


def replica(name: str) -> Service:
    return Service(name, name[-1], ProcessSpec(("x",), "/"), replicas=NAMES)


def lived(names: tuple[str, ...], down_at: float, *healthy: float) -> Lived:
    services = [replica(name) if "@" in name else plain(name) for name in names]
    made = Lived(names, tuple((one,) for one in services), down_at, down_at)
    made.healthy = {name: Health(at, at, 1) for name, at in zip(names, healthy, strict=False)}
    return made


def plain(name: str) -> Service:
    return Service(name, "a", ProcessSpec(("x",), "/"))


def rolled(*parts: Lived) -> Lived:
    """A rollout of all replicas, whose batches were lived so."""
    whole = lived(NAMES, parts[0].down_at)
    whole.batches = tuple(one.chains for one in parts)
    whole.parts = list(parts)
    for one in parts:
        whole.healthy.update(one.healthy)
    return whole


def test_spans() -> None:
    assert length([(5.0, 7.0), (0.0, 2.0), (1.0, 3.0), (6.0, 6.5)]) == 5.0
    assert common([(0.0, 4.0), (1.0, 6.0), (3.0, 5.0)]) == ((3.0, 4.0),)
    assert common([(0.0, 1.0), (1.0, 2.0)]) == ()


def test_services_without_replicas_are_down_until_the_last_is_healthy() -> None:
    found = lived(("db", "web"), 100.0, 104.0, 110.0)
    assert (found.downtime_s, found.capacity) == (10.0, None)


def test_all_replicas_at_once_are_down_until_the_first_is_healthy() -> None:
    found = lived(NAMES, 100.0, 104.0, 110.0, 106.0)
    assert found.downtime_s == 4.0
    assert found.capacity == Capacity(3, 20.0)
    assert found.capacity.lost_s == pytest.approx(20 / 3)


def test_a_part_of_the_replicas_takes_nothing_down() -> None:
    found = lived(NAMES[:2], 100.0, 104.0, 110.0)
    assert (found.downtime_s, found.capacity) == (0.0, Capacity(3, 14.0))


def test_batches_cost_capacity_alone() -> None:
    two = lived(NAMES[:2], 100.0, 104.0, 105.0), lived(NAMES[2:], 106.0, 109.0)
    found = rolled(*two)
    assert (found.downtime_s, found.capacity, found.batch) == (0.0, Capacity(3, 12.0), 2)
    assert found.warmup_s == 0.0
    assert found.told().startswith("2 batches, down 0.0 s: ")
    assert found.told().endswith("; 4.0 s of capacity lost, 3 replicas")


def test_a_batch_that_was_not_reached_was_not_down() -> None:
    failed = lived(NAMES[:1], 100.0)
    failed.ended_at = 107.0
    found = rolled(failed)
    found.ended_at = 107.0
    assert (found.downtime_s, found.capacity) == (0.0, Capacity(3, 7.0))


def test_replicas_that_were_down_before_are_so_until_their_turn_is_over() -> None:
    found = rolled(lived(NAMES[:2], 101.0, 104.0, 105.0), lived(NAMES[2:], 106.0, 109.0))
    found.ill = {NAMES[0]: 100.0, NAMES[2]: 99.0}
    assert (found.downtime_s, found.capacity) == (3.0, Capacity(3, 4.0 + 4.0 + 10.0))
    found.ill[NAMES[1]] = 100.0
    assert (found.downtime_s, found.capacity) == (4.0, Capacity(3, 4.0 + 5.0 + 10.0))


def test_one_that_was_down_and_not_reached_still_is() -> None:
    found = rolled(lived(NAMES[:1], 100.0))
    found.parts[0].ended_at = found.ended_at = 107.0
    found.ill = {NAMES[1]: 99.0, NAMES[2]: 99.0}
    assert (found.downtime_s, found.capacity) == (7.0, Capacity(3, 7.0 + 8.0 + 8.0))


def test_a_probe_tells_what_replicas_do_not() -> None:
    found = rolled(lived(NAMES[:2], 100.0, 104.0, 105.0), lived(NAMES[2:], 106.0, 109.0))
    found.failing["api"] = ((101.0, 102.5), (107.0, 107.5))
    assert found.downtime_s == 2.0
    found.failing["api"] = ()
    assert found.downtime_s == 0.0
    assert "by the availability of api" in found.told()
