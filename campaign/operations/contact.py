"""contact: what became of runs that lost their operator, as the hosts have it."""

from contextlib import suppress
from functools import partial

from msgspec import Struct

from campaign.engine.booking import Books
from campaign.engine.hosts import Hosts
from campaign.engine.lapses import HostLapse
from campaign.engine.together import by_name
from campaign.errors import CampaignError
from campaign.ledger.recorder import Recorder
from campaign.operations.plan import open_hosts
from campaign.operations.recover import note_lapses
from campaign.workspace import Workspace
from playbooks.hosts.connection import HostError, HostLost
from playbooks.hosts.stack import KeptRun
from playbooks.hosts.survey import Holder
from playbooks.language.problems import LoadError


class Contact(Struct, frozen=True):
    """A host as it was found. `holder` works on it (None: nobody), `error` is why it is silent.

    `stack` is what runs keep changed there.
    """

    host: str
    holder: Holder | None = None
    outstanding: bool = False
    lapses: tuple[HostLapse, ...] = ()
    error: str = ""
    stack: tuple[KeptRun, ...] = ()


def contact(workspace: Workspace) -> tuple[Contact, ...]:
    """Asks every host; where one has put itself back, the ledger learns of it, and from then on

    it is told no more. One that is at it yet is told of again.

    Nothing comes of a campaign.yaml that is not valid.
    """
    try:
        system = workspace.load_system(secrets=False)
    except LoadError:
        return ()
    with open_hosts(workspace, system, "status") as hosts:
        asked = {name: partial(_ask, name, hosts) for name in hosts.names()}
        found = tuple(by_name(asked).values())
    lapses = [one.lapse for contacted in found for one in contacted.lapses]
    if lapses and all(one.ended_at is not None for one in lapses):
        with (
            suppress(CampaignError),  # somebody works there, or does not answer any more
            open_hosts(workspace, system, "status") as hosts,
            Recorder.open(workspace.ledger, create=False) as recorder,
        ):
            hosts.hold()
            note_lapses(hosts, Books(recorder, system.cost))
    return found


def _ask(name: str, hosts: Hosts) -> Contact:
    try:
        host = hosts.peek(name)
        journal, holder, stack = host.journal(), host.survey().holder, host.stack()
    except (CampaignError, HostError, HostLost) as error:
        return Contact(name, error=str(error).removeprefix(f"host {name}: "))
    lapses = tuple(HostLapse(name, one) for one in journal.lapses)
    return Contact(name, holder, journal.outstanding, lapses, stack=stack)
