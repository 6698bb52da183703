"""What restarts together, in which order, and in which batches."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from playbooks.system import AT, System

Batches = tuple[tuple[str, ...], ...]
"""Names of services that restart together, batch after batch; none: all at once."""


def expand(system: System, services: Iterable[str]) -> tuple[str, ...]:
    """`services` and all that restart with them, in the order in which they start."""
    return with_groups(services, tuple(system.services), system.restart_groups)


def with_groups(
    services: Iterable[str], order: Sequence[str], groups: Iterable[Sequence[str]]
) -> tuple[str, ...]:
    """`services` with the rest of their groups; groups first, in their own order, then `order`."""
    wanted = set(services)
    found: list[str] = []
    for group in groups:
        if wanted & set(group):
            found.extend(name for name in group if name not in found)
    found.extend(name for name in order if name in wanted and name not in found)
    return tuple(found)


def batches(services: Sequence[str], groups: Iterable[Sequence[str]], size: int) -> Batches:
    """`services`, in start order, by `size` replicas of a service at a time; 0: none.

    What restarts together is in one batch. One service comes after the other.
    """
    if not size:
        return ()
    found: list[tuple[str, ...]] = []
    for of_one in _by_service(units(services, groups)):
        for at in range(0, len(of_one), size):
            found.append(tuple(name for unit in of_one[at : at + size] for name in unit))
    return tuple(found)


def units(services: Sequence[str], groups: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """`services` in parts: those of one restart group, in order, or one alone."""
    owner = {name: tuple(group) for group in groups for name in group}
    parts: dict[tuple[str, ...], list[str]] = {}
    for name in services:
        parts.setdefault(owner.get(name, (name,)), []).append(name)
    return [tuple(part) for part in parts.values()]


def _by_service(parts: Iterable[tuple[str, ...]]) -> Iterator[list[tuple[str, ...]]]:
    """The parts that are replicas of each other together."""
    alike: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for part in parts:
        alike.setdefault(tuple(name.partition(AT)[0] for name in part), []).append(part)
    yield from alike.values()


def twins(unit: Sequence[str]) -> tuple[str, ...]:
    """Replicas of one service among those that restart together; none where there are no two."""
    shared = [name.partition(AT)[0] for name in unit]
    return tuple(
        name for name, of in zip(unit, shared, strict=True) if AT in name and shared.count(of) > 1
    )


def shares(
    services: Sequence[str], planned: Batches, replicas: Mapping[str, Sequence[str]]
) -> tuple[float, float]:
    """How much of the time that a start takes a restart is down, and loses of its capacity.

    Down: all of it or, where each batch leaves a replica of its services up, nothing. Lost: by the
    share of the replicas that restart; `replicas` are all there are, by the name they share.
    """
    steps = planned or (tuple(services),)
    down = not all(_leaves_one(batch, replicas) for batch in steps)
    several = {shared: all_ for shared, all_ in replicas.items() if len(all_) > 1}
    touched = {name.partition(AT)[0] for name in services} & several.keys()
    there = sum(len(several[shared]) for shared in touched)
    lost = sum(name.partition(AT)[0] in touched for name in services)
    return float(down), lost / there if there else 0.0


def _leaves_one(batch: Sequence[str], replicas: Mapping[str, Sequence[str]]) -> bool:
    """Whether each service of a batch has another replica that stays up."""
    known = (replicas.get(name.partition(AT)[0], (name,)) for name in batch)
    return all(set(one) - {*batch} for one in known)


def left_of(planned: Iterable[Sequence[str]], services: Sequence[str]) -> Batches:
    """The batches that `services` go in where `planned` were the batches of a rollout.

    Those of no batch go first. None where nothing has to wait for another.
    """
    known = [tuple(one) for one in planned]
    placed = {name for batch in known for name in batch}
    first = tuple(name for name in services if name not in placed)
    rest = (tuple(name for name in services if name in batch) for batch in known)
    found = tuple(batch for batch in (first, *rest) if batch)
    return found if len(found) > 1 else ()
