"""report: the campaign as data, with what could be run next, for a format to tell."""

import socket
from collections.abc import Iterator

from msgspec.structs import replace

from campaign.errors import CampaignError
from campaign.ledger.reads import Ledger
from campaign.operations.declared import declared
from campaign.report.content import MOST_RUNS, Report, collect
from campaign.report.disguise import Disguise, rewritten
from campaign.report.outlook import Outlook, Proposal
from campaign.report.scope import Scope
from campaign.workspace import Workspace

MOST_WEIGHED = 400
"""With more runs than this, weighing them all takes longer than a report may: `next` does it."""
PROPOSALS = 5
"""As many proposals are told at most."""


def report(
    workspace: Workspace, scope: Scope, *, most: int | None = MOST_RUNS, hide_hosts: bool = False
) -> Report:
    """What there is to say about the runs of `scope`, the newest `most` of them told whole.

    Errors: CampaignError (REFUSED without a ledger, USAGE for a run or a hypothesis that there is
    not); LoadError where hosts are to be hidden and campaign.yaml does not say which there are.
    """
    with Ledger.open(workspace.ledger) as ledger:
        found = collect(ledger, scope, _outlook(workspace, ledger), most)
        if not ledger.run_count() and (said := declared(workspace)) is not None:
            found = replace(found, campaign=said.name, symptom=said.symptom)
    return rewritten(found, Disguise(_hosts(workspace))) if hide_hosts else found


def _outlook(workspace: Workspace, ledger: Ledger) -> Outlook:
    """What `next` says; where it cannot say anything, why."""
    if ledger.run_count() > MOST_WEIGHED:
        return Outlook(notes=("the campaign is long: `campaign next` weighs it whole",))
    if not any(run.status == "completed" for run in ledger.runs()):
        return Outlook()
    from playbooks.language.problems import LoadError

    try:
        return _advised(workspace)
    except LoadError as error:
        first = str(error).splitlines()[0].removeprefix(f"{workspace.root}/")
        return Outlook(notes=(f"what to run next is not known: {first}; see `campaign check`",))
    except CampaignError as error:
        return Outlook(notes=(f"what to run next is not known: {error}",))


def _advised(workspace: Workspace) -> Outlook:
    from campaign.operations.advise import advise

    advice = advise(workspace)
    return Outlook(
        restarts=advice.restarts,
        parts=advice.parts,
        none=advice.none,
        epochs=advice.epochs,
        proposals=tuple(
            Proposal(
                one.name,
                one.toggles,
                one.trials,
                one.price.seconds,
                one.price.money,
                one.price.guessed,
                one.bits,
            )
            for one in advice.options[:PROPOSALS]
        ),
        notes=advice.notes,
    )


def _hosts(workspace: Workspace) -> Iterator[str]:
    """What this machine and the hosts of campaign.yaml are called; not the names of local ones."""
    own = socket.gethostname()
    yield from (own, own.partition(".")[0])
    for host in workspace.load_system(secrets=False).hosts.values():
        if host.ssh is not None:
            yield from (host.name, host.ssh.name, host.ssh.name.partition(".")[0])
