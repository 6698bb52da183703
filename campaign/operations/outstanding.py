"""outstanding: what is left to put back, as the hosts' own journals have it."""

import shlex
from collections.abc import Iterator

from campaign.engine.hosts import Hosts
from campaign.errors import CampaignError
from campaign.operations.plan import open_hosts
from campaign.workspace import Workspace
from playbooks.hosts.connection import HostError
from playbooks.hosts.files import Journal


def outstanding(workspace: Workspace) -> tuple[str, ...]:
    """One line for each thing that is yet to be put back; a host that does not answer is one.

    Asks the hosts and changes nothing. Errors: LoadError.
    """
    with open_hosts(workspace, workspace.load_system(secrets=False), "status") as hosts:
        return tuple(line for name in hosts.names() for line in _of(name, hosts))


def _of(name: str, hosts: Hosts) -> Iterator[str]:
    try:
        yield from (f"{name}: {line}" for line in _lines(hosts.peek(name).journal()))
    except (HostError, CampaignError) as error:
        yield f"{name}: {error}"


def _lines(journal: Journal) -> Iterator[str]:
    for entry in journal.entries:
        yield f"{entry.path} is not as it was"
    for command in journal.commands:
        yield f"to be undone: {shlex.join(command.undo)}"
    for service in journal.restarting:
        yield f"{service} is to be restarted"
    for service in journal.reloaded:
        yield f"{service} is to read its files again"
