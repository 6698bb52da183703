"""The batches in which a rollout is taken back."""

from collections.abc import Iterable, Sequence

from campaign.engine.cycle import ill_since
from campaign.engine.hosts import Hosts
from playbooks.hosts.host import Host
from playbooks.rollout import Batches, left_of
from playbooks.system import Service


def batches_back(
    planned: Iterable[Sequence[str]], services: Sequence[Service], hosts: Hosts
) -> Batches:
    """Those of the `planned` batches that `services` are in; one with an ill service goes first.

    Where a rollout stopped at a replica that did not come up, no other may go down before it.
    Errors: HostLost, HostError.
    """
    by_name = {one.name: one for one in services}

    def are_well(batch: Sequence[str]) -> bool:
        return all(is_well(by_name[name], hosts[by_name[name].host]) for name in batch)

    return tuple(sorted(left_of(planned, list(by_name)), key=are_well))


def is_well(service: Service, host: Host) -> bool:
    """Whether it runs and answers; its manager may have started it anew only just now."""
    return ill_since(service, host) is None
